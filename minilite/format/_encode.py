"""Encodes arrays as the bytes of constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.errors import InputError, shown
from minilite.format.dtypes import TensorType, element_bits, numpy_type
from minilite.format.packed import pack
from minilite.format.values import range_fault

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
        raise InputError(message)
    return _TYPE_OF[dtype]


def as_array(values: ArrayLike) -> NDArray[Any]:
    """An array; Python floats as float32 and ints as int32, which is what models use. Raises: InputError."""
    array = np.asarray(values)
    if isinstance(values, np.ndarray | np.generic):
        return array
    return fitting(array, np.dtype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype)))


def fitting(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The array in another type, if that holds its numbers: integers have to stay the same, floats have to stay finite
    if they are. Raises: InputError, which names the first that does not."""
    if array.dtype == dtype or "V" in array.dtype.kind + dtype.kind:
        return np.array(array, dtype, order="C")
    with np.errstate(over="ignore", invalid="ignore"):
        made = np.array(array, dtype, order="C")
        wrong = made != array if dtype.kind in "iu" else np.isinf(made) & np.isfinite(array)
    if wrong.any():
        message = f"{shown(array[wrong][0].item())} at {tuple(map(int, np.argwhere(wrong)[0]))} does not fit {dtype}"
        raise InputError(message)
    return made


def encode(values: NDArray[Any], kind: TensorType, raw: bool) -> NDArray[Any]:
    """The data of a constant of type `kind` with one value per element; `raw` values are stored as their bytes."""
    dtype, bits = np.dtype(numpy_type(kind)), element_bits(kind)
    if raw:
        return np.frombuffer(values.tobytes(), np.uint8)
    if bits == 8 * dtype.itemsize and (kind != TensorType.BFLOAT16 or values.dtype.itemsize == 2):
        return fitting(values if kind != TensorType.BFLOAT16 else values.view(dtype), dtype)
    if bits in (2, 4):
        if fault := range_fault(values, kind):
            raise InputError(fault)
        return pack(values, kind)
    if bits == 8 * values.dtype.itemsize:
        return np.frombuffer(values.tobytes(), np.uint8)
    message = f"{values.dtype} values do not make a constant of {kind.name}"
    raise InputError(message)
