"""Converts between floats and integers by a tensor's scales and zero points: one, or one per channel."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import array_type
from minilite.format.model import Array, Tensor
from minilite.format.values import integer_limits
from minilite.ops_shared.fixed_point import round_half_away


def quantized_values(tensor: Tensor, real: Array) -> Array:
    """round(real / scale) + zero_point of float32, ties away from zero, saturating, NaN to the lowest: QUANTIZE's
    rule."""
    low, high = integer_limits(tensor.type)
    scales, zero_points = _by_channel(tensor, real.ndim)
    steps = round_half_away(real / scales).astype(np.float64)
    steps = np.where(np.isnan(steps), -np.inf, steps)
    return np.asarray(np.clip(steps + zero_points, low, high).astype(array_type(tensor.type))).reshape(real.shape)


def float_values(tensor: Tensor, x: Array) -> Array:
    """scale * (x - zero_point) in float32: DEQUANTIZE's rule."""
    scales, zero_points = _by_channel(tensor, x.ndim)
    return np.asarray(scales * (x.astype(np.int32) - zero_points).astype(np.float32)).reshape(x.shape)


def _by_channel(tensor: Tensor, rank: int) -> tuple[Array, Array]:
    """Scales and zero points, in a shape that broadcasts against the tensor's."""
    q = tensor.quantization
    along = [1] * rank
    if q.per_channel:
        along[q.quantized_dimension] = -1
    zero_points = np.array(q.zero_points or (0,), np.int32)
    return np.array(q.scales, np.float32).reshape(along), zero_points.reshape(
        along if zero_points.size > 1 else [1] * rank
    )
