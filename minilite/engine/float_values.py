"""Converts between floats and quantized inputs and outputs, by the tensor's scale and zero point."""

from __future__ import annotations

from typing import Any

import numpy as np

from minilite.engine import mismatch
from minilite.format.dtypes import TensorType, public_type
from minilite.format.model import Array, Tensor
from minilite.ops_shared.bfloat16 import narrowed
from minilite.ops_shared.float_values import float_values, quantized_values

_INTEGERS = (TensorType.INT8, TensorType.UINT8, TensorType.INT16, TensorType.INT4)


def quantized(tensor: Tensor, value: Any) -> Array:
    """Real numbers quantized for the tensor: rounded to nearest, clamped to its range; unchanged if it has no scale."""
    array = mismatch.numbers_or_strings(tensor, value)
    if tensor.type in _INTEGERS and tensor.quantization.scales:
        return quantized_values(tensor, array.astype(np.float32))
    wanted = public_type(tensor.type)
    if tensor.type == TensorType.BFLOAT16 and wanted.kind == "u":
        return narrowed(array.astype(np.float32)) if array.dtype.kind == "f" else array
    return array if array.dtype == wanted or array.dtype.kind not in "fiu" else array.astype(wanted)


def floats(tensor: Tensor, array: Array) -> Array:
    """The real numbers that a quantized tensor's values mean, as float32; other values unchanged."""
    stands = tensor.type in (*_INTEGERS, TensorType.INT32) and tensor.quantization.scales
    return float_values(tensor, array) if stands else array
