"""Packs and unpacks elements of less than a byte: several per byte, the first in the lowest bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.format.dtypes import element_bits, numpy_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minilite.format.dtypes import TensorType


def pack(values: NDArray[Any], kind: TensorType) -> NDArray[np.uint8]:
    """Packs one value per element; bits beyond the element's are dropped, and unused bits of the last byte are 0."""
    bits = element_bits(kind)
    flat = values.astype(np.int64).ravel() & ((1 << bits) - 1)
    flat = np.concatenate([flat, np.zeros(-len(flat) * bits % 8 // bits, np.int64)]).reshape(-1, 8 // bits)
    packed: NDArray[np.uint8] = (flat << np.arange(0, 8, bits)).sum(axis=1).astype(np.uint8)
    return packed


def unpack(data: NDArray[np.uint8], kind: TensorType, shape: Sequence[int]) -> NDArray[Any]:
    """The values in packed bytes, with that shape: uint8 for UINT4, int8 for signed types."""
    bits, dtype = element_bits(kind), np.dtype(numpy_type(kind))
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    high = (data.reshape(-1, 1) >> shifts << np.uint8(8 - bits)).astype(np.uint8).view(dtype)  # in the highest bits
    values: NDArray[Any] = (high >> np.array(8 - bits, dtype)).reshape(-1)[: int(np.prod(shape))].reshape(shape)
    return values
