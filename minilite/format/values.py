"""Values of tensors that numpy cannot view in place: strings, and elements of less than a byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minilite import errors
from minilite.format.dtypes import ENCODED, TensorType, element_bits, numpy_type
from minilite.format.packed import unpack
from minilite.format.strings import decode_strings

if TYPE_CHECKING:
    from minilite.format.model import Array, Tensor


def decoded(raw: Any, kind: TensorType, shape: tuple[int, ...]) -> Array:
    """An owned array of the values in the bytes of a tensor of an ENCODED type. Raises: ValueError for invalid
    strings."""
    if kind == TensorType.STRING:
        return decode_strings(raw, shape)

    return unpack(np.frombuffer(raw, np.uint8), kind, shape)


def constant_values(tensor: Tensor) -> Array:
    """An owned array of a constant's values; for sparse ones, their bytes. Raises: ModelFormatError for invalid
    strings."""
    assert tensor.data is not None
    if tensor.type not in ENCODED or tensor.sparsity is not None:
        return tensor.data.copy()
    try:
        return decoded(tensor.data, tensor.type, tensor.shape)
    except ValueError as error:
        message = f"tensor {tensor.index} ('{tensor.name}'), a constant: {error}"
        raise errors.ModelFormatError(message, tensors=[tensor.name]) from None


def integer_limits(kind: TensorType) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    bits = element_bits(kind)
    signed = np.dtype(numpy_type(kind)).kind == "i"
    return (-1 << bits - 1, (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def range_fault(values: Array, kind: TensorType) -> str:
    """The reason why values do not fit into a packed type; empty if they do."""
    least, most = integer_limits(kind)
    wrong = values[(values < least) | (values > most)]
    return f"Values for {kind.name} input must be between {least} and {most}, got {wrong[0]}" if wrong.size else ""
