"""Elements of less than a byte: several to a byte, the first in its lowest bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from minilite._core import lib

Array = Any

_BITS: dict[int, int] = {lib.ML_S4: 4, lib.ML_U4: 4, lib.ML_S2: 2}
_UNSIGNED = (lib.ML_U4,)


def is_packed(kind: int) -> bool:
    """Whether elements of a type are smaller than a byte."""
    return kind in _BITS


def unpack(data: Array, kind: int, shape: tuple[int, ...]) -> Array:
    """The elements in `data`, a flat array of uint8, as int8 of that shape."""
    bits = _BITS[kind]
    fields = data[:, np.newaxis] >> np.arange(0, 8, bits, dtype=np.uint8) & ((1 << bits) - 1)
    half = 0 if kind in _UNSIGNED else 1 << (bits - 1)
    elements = ((fields ^ half).astype(np.int8) - np.int8(half)).ravel()
    return elements[: int(np.prod(shape, dtype=np.int64))].reshape(shape)


def pack(elements: Array, kind: int) -> Array:
    """The bytes of elements, integers of any type; of larger ones the low bits."""
    bits = _BITS[kind]
    per_byte = 8 // bits
    fields = np.zeros(-(-elements.size // per_byte) * per_byte, np.uint8)
    fields[: elements.size] = elements.ravel().astype(np.uint8) & ((1 << bits) - 1)
    shifted = fields.reshape(-1, per_byte) << np.arange(0, 8, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(shifted, axis=1)
