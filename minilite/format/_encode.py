"""Encodes arrays as the bytes of constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.format.dtypes import TensorType, element_bits, numpy_type
from minilite.format.packed import pack

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_ALIASES = (
    TensorType.RESOURCE, TensorType.VARIANT, TensorType.BFLOAT16, TensorType.FLOAT8_E4M3FN, TensorType.FLOAT8_E5M2,
)  # fmt: skip
_TYPE_OF = {
    np.dtype(numpy_type(kind)): kind
    for kind in TensorType
    if element_bits(kind) == 8 * np.dtype(numpy_type(kind)).itemsize and kind not in _ALIASES
}


def type_of(dtype: np.dtype[Any]) -> TensorType:
    """The element type whose numpy type is `dtype`."""
    if dtype not in _TYPE_OF:
        message = f"no element type holds {dtype}, expected one of {', '.join(map(str, _TYPE_OF))}"
        raise ValueError(message)
    return _TYPE_OF[dtype]


def as_array(values: ArrayLike) -> NDArray[Any]:
    """An array; Python floats as float32 and ints as int32, which is what models use."""
    array = np.asarray(values)
    if not isinstance(values, np.ndarray | np.generic):
        array = array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype))
    return array


def encode(values: NDArray[Any], kind: TensorType, raw: bool) -> NDArray[Any]:
    """The data of a constant of type `kind` with one value per element; `raw` values are stored as their bytes."""
    dtype, bits = np.dtype(numpy_type(kind)), element_bits(kind)
    if raw:
        return np.frombuffer(values.tobytes(), np.uint8)
    if bits == 8 * dtype.itemsize and (kind != TensorType.BFLOAT16 or values.dtype.itemsize == 2):
        return np.array(values if kind != TensorType.BFLOAT16 else values.view(dtype), dtype, order="C")
    if bits in (2, 4):
        return pack(values, kind)
    if bits == 8 * values.dtype.itemsize:
        return np.frombuffer(values.tobytes(), np.uint8)
    message = f"{values.dtype} values do not make a constant of {kind.name}"
    raise ValueError(message)
