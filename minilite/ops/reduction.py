"""MEAN: over any set of dimensions."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.checks import quantized_or_bare
from minilite.ops_shared.fixed_point import (
    input_of,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    scale_ratio,
)
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def reference_mean(node: OpNode, x: Array, axes: Array) -> Array:
    """The sum over the axes by their count; of no elements NaN or 0. Integers divide towards 0, quantized ones as TFLite."""
    over = tuple({int(axis) % x.ndim for axis in axes.ravel()}) if x.ndim else ()
    keep = bool(node.options["keep_dims"])
    count = int(np.prod([x.shape[axis] for axis in over], dtype=np.int64))
    if x.dtype == np.float32:
        total = x.astype(np.float64).sum(axis=over, keepdims=keep)
        return np.asarray((total / np.float64(count)).astype(np.float32))
    total = np.asarray(x.astype(np.int64).sum(axis=over, keepdims=keep))
    if count == 0:
        return np.zeros(total.shape, x.dtype)
    if node.outputs[0].type in (TensorType.INT32, TensorType.INT64):
        return np.asarray((np.sign(total) * (np.abs(total) // count)).astype(x.dtype))
    whole, shift = quantize_multiplier(scale_ratio(node, precision=np.float64))
    bits = min(count.bit_length() - 1, 32, 31 + shift)
    centered = (total - input_of(node).quantization.zero_point * count).astype(np.int32)
    scaled = multiply_by_quantized_multiplier(centered, (whole << bits) // count, shift - bits).astype(np.int64)
    info = np.iinfo(x.dtype)
    return np.asarray(np.clip(scaled + node.outputs[0].quantization.zero_point, info.min, info.max).astype(x.dtype))


OPERATORS = (
    Operator(
        "MEAN",
        range(1, 4),
        takes="x axes -> y",
        types=each("T s32 -> T", "f32 s8 u8 s16 s32 s64"),
        params={"keep_dims": "keep_dims"},
        reference=reference_mean,
        check=quantized_or_bare,
        rule={
            "f32": "float32 sums, 8 side by side along a reduced last dimension; one division. Within 16 eps of the mean of "
            "`abs(x)` on the tested sizes",
            "s32 s64": "int64 sum (wraps), divided towards zero",
            "s8 u8 s16": "int32 sum - `zp_x * count`, double rounding by `mantissa * 2^k / count` (truncated; "
            "k = floor(log2 count)), `+ zp_y`: QuantizedMeanOrSum",
        },
    ),
)
