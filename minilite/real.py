"""Real numbers and the integers that stand for them, by a tensor's own scale and zero point."""

from __future__ import annotations

from typing import Any

import numpy as np

from minilite.errors import InputError
from minilite.format.dtypes import TensorType
from minilite.format.model import Array, Tensor
from minilite.format.values import array_type, integer_limits

_INTEGERS = (TensorType.INT8, TensorType.UINT8, TensorType.INT16, TensorType.INT4)


def quantized(tensor: Tensor, value: Any) -> Array:
    """The array that the tensor takes for real numbers: rounded to nearest, cut to its range; as it is where no scale says more.

    Raises: InputError where every channel has a scale of its own.
    """
    array = np.asarray(value)
    scales = tensor.quantization.scales
    if tensor.type not in _INTEGERS or not scales:
        wanted = array_type(tensor.type)
        return array if array.dtype == wanted or array.dtype.kind not in "fiu" else array.astype(wanted)
    if len(scales) > 1:
        message = f"input '{tensor.name}' has {len(scales)} scales, one a channel: real numbers need one"
        raise InputError(message, tensors=[tensor.name])
    low, high = integer_limits(tensor.type)
    steps = np.round(array.astype(np.float64) / tensor.quantization.scale) + tensor.quantization.zero_point
    return np.clip(steps, low, high).astype(array_type(tensor.type))


def real(tensor: Tensor, array: Array) -> Array:
    """The real numbers that a tensor's values stand for, as float32; values that stand for themselves as they are."""
    scales = np.array(tensor.quantization.scales, np.float32)
    if tensor.type not in (*_INTEGERS, TensorType.INT32) or not len(scales):
        return array
    zero_points = np.array(tensor.quantization.zero_points, np.int64)
    if len(scales) > 1:
        shape = [1] * array.ndim
        shape[tensor.quantization.quantized_dimension] = -1
        scales, zero_points = scales.reshape(shape), zero_points.reshape(shape)
    return ((array.astype(np.int64) - zero_points) * scales).astype(np.float32)
