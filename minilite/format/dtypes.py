"""The element types of the format: their codes, their numpy types, and their sizes in bytes."""

from __future__ import annotations

import functools
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class TensorType(IntEnum):
    """An element type, by its code in the file format and in the C core."""

    FLOAT32 = 0
    FLOAT16 = 1
    INT32 = 2
    UINT8 = 3
    INT64 = 4
    STRING = 5
    BOOL = 6
    INT16 = 7
    COMPLEX64 = 8
    INT8 = 9
    FLOAT64 = 10
    COMPLEX128 = 11
    UINT64 = 12
    RESOURCE = 13
    VARIANT = 14
    UINT32 = 15
    UINT16 = 16
    INT4 = 17
    BFLOAT16 = 18
    INT2 = 19
    UINT4 = 20

    FLOAT8_E4M3FN = 21
    FLOAT8_E5M2 = 22

    @property
    def suffix(self) -> str:
        """The short name in rows of operators, tables of kernels and C symbols: f32, s8, b8, string."""
        return str(_SUFFIXES[self])


_ROWS: tuple[tuple[str, type[Any], int], ...] = (
    ("f32", np.float32, 32),
    ("f16", np.float16, 16),
    ("s32", np.int32, 32),
    ("u8", np.uint8, 8),
    ("s64", np.int64, 64),
    ("string", np.bytes_, 0),
    ("b8", np.bool_, 8),
    ("s16", np.int16, 16),
    ("c64", np.complex64, 64),
    ("s8", np.int8, 8),
    ("f64", np.float64, 64),
    ("c128", np.complex128, 128),
    ("u64", np.uint64, 64),
    ("resource", np.int32, 32),
    ("variant", np.uint8, 0),
    ("u32", np.uint32, 32),
    ("u16", np.uint16, 16),
    ("s4", np.int8, 4),
    ("bf16", np.uint16, 16),
    ("s2", np.int8, 2),
    ("u4", np.uint8, 4),
    ("f8e4m3", np.uint8, 8),
    ("f8e5m2", np.uint8, 8),
)
"""The suffix, numpy scalar class and bits per element of each code."""
_SUFFIXES, _NUMPY, _BITS = zip(*_ROWS, strict=True)


def numpy_type(kind: TensorType) -> type[Any]:
    """The numpy scalar class of an element type's values: int8 or uint8 for packed ones, uint16 for the bits of
    BFLOAT16."""
    found: type[Any] = _NUMPY[kind]
    return found


def element_bits(kind: TensorType) -> int:
    """Bits per element; 0 for STRING and VARIANT, whose elements have no fixed size."""
    return int(_BITS[kind])


PACKED = frozenset({TensorType.INT4, TensorType.UINT4, TensorType.INT2})
"""The types whose elements are packed, several per byte."""
ENCODED = PACKED | {TensorType.STRING}
"""The types whose arrays have other bytes than their tensors."""


def array_type(kind: TensorType) -> np.dtype[Any]:
    """The dtype of the arrays that hold a tensor's values: object, of bytes, for strings."""
    return np.dtype(object) if kind == TensorType.STRING else np.dtype(numpy_type(kind))


def public_type(kind: TensorType) -> np.dtype[Any]:
    """The dtype of the arrays that callers get: that of `array_type`, but ml_dtypes' bfloat16 where that package is
    installed."""
    return _bfloat16() if kind == TensorType.BFLOAT16 else array_type(kind)


@functools.cache
def _bfloat16() -> np.dtype[Any]:
    try:
        from ml_dtypes import bfloat16
    except ImportError:
        return array_type(TensorType.BFLOAT16)
    found: np.dtype[Any] = np.dtype(bfloat16)
    return found


def public_bits(array: NDArray[Any], kind: TensorType) -> NDArray[Any]:
    """An array of the bits of BFLOAT16 as callers get it; other arrays as they are."""
    return array.view(public_type(kind)) if kind == TensorType.BFLOAT16 and array.dtype == np.uint16 else array
