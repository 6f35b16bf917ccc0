"""The element types of the format: their codes, their numpy types, and their sizes in bytes."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np


class TensorType(enum.IntEnum):
    """An element type, with the code the file format (and the C core) gives it."""

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
        """How rows of operators, tables of kernels and C symbols spell the type: f32, s8, b8, string."""
        return _SUFFIXES[self]


_SUFFIXES: dict[TensorType, str] = {
    TensorType.FLOAT32: "f32",
    TensorType.FLOAT16: "f16",
    TensorType.INT32: "s32",
    TensorType.UINT8: "u8",
    TensorType.INT64: "s64",
    TensorType.STRING: "string",
    TensorType.BOOL: "b8",
    TensorType.INT16: "s16",
    TensorType.COMPLEX64: "c64",
    TensorType.INT8: "s8",
    TensorType.FLOAT64: "f64",
    TensorType.COMPLEX128: "c128",
    TensorType.UINT64: "u64",
    TensorType.RESOURCE: "resource",
    TensorType.VARIANT: "variant",
    TensorType.UINT32: "u32",
    TensorType.UINT16: "u16",
    TensorType.INT4: "s4",
    TensorType.BFLOAT16: "bf16",
    TensorType.INT2: "s2",
    TensorType.UINT4: "u4",
    TensorType.FLOAT8_E4M3FN: "f8e4m3",
    TensorType.FLOAT8_E5M2: "f8e5m2",
}

_NUMPY: dict[TensorType, type[Any]] = {
    TensorType.FLOAT32: np.float32,
    TensorType.FLOAT16: np.float16,
    TensorType.INT32: np.int32,
    TensorType.UINT8: np.uint8,
    TensorType.INT64: np.int64,
    TensorType.STRING: np.bytes_,
    TensorType.BOOL: np.bool_,
    TensorType.INT16: np.int16,
    TensorType.COMPLEX64: np.complex64,
    TensorType.INT8: np.int8,
    TensorType.FLOAT64: np.float64,
    TensorType.COMPLEX128: np.complex128,
    TensorType.UINT64: np.uint64,
    TensorType.RESOURCE: np.int32,
    TensorType.UINT32: np.uint32,
    TensorType.BFLOAT16: np.uint16,
    TensorType.UINT16: np.uint16,
    TensorType.INT4: np.int8,
    TensorType.INT2: np.int8,
}


def numpy_type(kind: TensorType) -> type[Any]:
    """The numpy scalar class of an element type's values: int8 or uint8 for packed ones, uint16 for the bits of BFLOAT16."""
    return _NUMPY.get(kind, np.uint8)


def element_bits(kind: TensorType) -> int:
    """Bits per element; 0 for STRING and VARIANT, whose elements have no fixed size."""
    return _BITS[kind]


_BITS: dict[TensorType, int] = {
    **{kind: np.dtype(scalar).itemsize * 8 for kind, scalar in _NUMPY.items()},
    TensorType.STRING: 0,
    TensorType.VARIANT: 0,
    TensorType.INT4: 4,
    TensorType.UINT4: 4,
    TensorType.INT2: 2,
    TensorType.FLOAT8_E4M3FN: 8,
    TensorType.FLOAT8_E5M2: 8,
}
