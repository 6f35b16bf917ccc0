"""MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ANY, REDUCE_ALL: over any set of dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.fixed_point import (
    multiply_by_quantized_multiplier,
    multiply_by_quantized_multiplier_s64,
    quantize_multiplier,
    round_half_away,
    scale_ratio,
)
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.tensors import QUANTIZED, input_of


def _over(x: Array, axes: Array) -> tuple[int, ...]:
    return tuple({int(axis) % x.ndim for axis in axes.ravel()}) if x.ndim else ()


@reference(
    "MEAN",
    rounding={
        "f32": (
            "float32 sums, in lanes along a reduced last dimension; one division. Within 16 eps of the mean of "
            "`abs(x)` on the tested sizes"
        ),
        "s32 s64": "int64 sum (wraps), divided towards zero",
        "s8 u8 s16": (
            "int32 sum - `zp_x * count`, double rounding by `mantissa * 2^k / count` (truncated; k = "
            "floor(log2 count)), `+ zp_y`: QuantizedMeanOrSum"
        ),
    },
)
def mean(node: OpNode, x: Array, axes: Array) -> Array:
    """The sum over the axes divided by the count; without elements NaN or 0. Integers are rounded towards 0, quantized
    ones like TFLite."""
    over, keep = _over(x, axes), bool(node.options["keep_dims"])
    count = int(np.prod([x.shape[axis] for axis in over], dtype=np.int64))
    if x.dtype == np.float32:
        total = x.astype(np.float64).sum(axis=over, keepdims=keep)
        return np.asarray((total / np.float64(count)).astype(np.float32))
    total = np.asarray(x.astype(np.int64).sum(axis=over, keepdims=keep))
    if count == 0:
        return np.zeros(total.shape, x.dtype)
    if node.outputs[0].type in (TensorType.INT32, TensorType.INT64):
        return np.asarray((total // count + ((total < 0) & (total % count != 0))).astype(x.dtype))
    whole, shift = quantize_multiplier(scale_ratio(node, precision=np.float64))
    bits = min(count.bit_length() - 1, 32, 31 + shift)
    centered = (total - input_of(node).quantization.zero_point * count).astype(np.int32)
    scaled = multiply_by_quantized_multiplier(centered, (whole << bits) // count, shift - bits).astype(np.int64)
    info = np.iinfo(x.dtype)
    return np.asarray(np.clip(scaled + node.outputs[0].quantization.zero_point, info.min, info.max).astype(x.dtype))


@reference(
    "SUM",
    rounding={
        "f32": "as MEAN's sums",
        "s32 s64": "wraps",
        "s8 u8 s16": (
            "`half away(sum * scale + (-zp_x * scale) * count) + zp_y` in float32, scale = `scale_x / scale_y` "
            "(oracle: LiteRT's optimized kernel; its reference one uses a multiplier that is not set)"
        ),
    },
)
def sum_values(node: OpNode, x: Array, axes: Array) -> Array:
    """The sum over the axes, wrapping; quantized integers are requantized, as by TFLite."""
    over, keep = _over(x, axes), bool(node.options["keep_dims"])
    if x.dtype == np.bool_:
        return np.asarray(x.any(axis=over, keepdims=keep))
    if x.dtype == np.float32:
        return np.asarray(x.astype(np.float64).sum(axis=over, keepdims=keep).astype(np.float32))
    total = np.asarray(x.astype(np.int64).sum(axis=over, keepdims=keep))
    before, after = input_of(node).quantization, node.outputs[0].quantization
    if input_of(node).type not in QUANTIZED:
        return total.astype(x.dtype)
    count = int(np.prod([x.shape[axis] for axis in over], dtype=np.int64))
    scale = np.float32(scale_ratio(node)) if after.scale else np.float32(0)
    bias = np.float32(-before.zero_point) * scale * np.float32(count)
    steps = round_half_away(total.astype(np.int32).astype(np.float32) * scale + bias) + np.float32(after.zero_point)
    info = np.iinfo(x.dtype)
    return np.asarray(np.clip(steps, info.min, info.max).astype(x.dtype))


def _start(node: OpNode, x: Array) -> Any:
    """The initial value of REDUCE_MAX and REDUCE_MIN: the other end of the type."""
    if x.dtype == np.bool_:
        return node.op == "REDUCE_MIN"
    info: Any = np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
    return info.min if node.op == "REDUCE_MAX" else info.max


@reference(
    "REDUCE_MAX",
    "REDUCE_MIN",
    rounding={
        "f32": "NaN is passed over",
    },
)
def limit(node: OpNode, x: Array, axes: Array) -> Array:
    """The largest or smallest element; without elements the other end of the type; NaN is skipped."""
    function: Any = np.fmax if node.op == "REDUCE_MAX" else np.fmin
    keep = bool(node.options["keep_dims"])
    return np.asarray(function.reduce(x, axis=_over(x, axes), keepdims=keep, initial=_start(node, x)), x.dtype)


@reference(
    "REDUCE_PROD",
    rounding={
        "s32 s64": "wraps",
        "s8 s16": (
            "factor by factor `x - zp_x`, each product scaled by `scale_x / scale_y^(1 / count)` (16 bits of "
            "it), so the last; without scales wraps"
        ),
    },
)
def prod(node: OpNode, x: Array, axes: Array) -> Array:
    """The product over the axes, of integers wrapping; quantized ones are scaled factor by factor, as by TFLite."""
    if input_of(node).type in QUANTIZED and input_of(node).quantization.scale:
        return _quantized_prod(node, x, _over(x, axes))
    wide = x.astype(np.float64) if x.dtype == np.float32 else x
    return np.asarray(wide.prod(axis=_over(x, axes), keepdims=bool(node.options["keep_dims"])).astype(x.dtype))


def _quantized_prod(node: OpNode, x: Array, over: tuple[int, ...]) -> Array:
    """Multiplies in the order of the elements; 1 without elements."""
    before, after = input_of(node).quantization, node.outputs[0].quantization
    kept = [axis for axis in range(x.ndim) if axis not in over]
    outer = tuple(x.shape[axis] for axis in kept)
    count = math.prod(x.shape[axis] for axis in over)
    factors = x.transpose(*kept, *sorted(over)).reshape(*outer, count).astype(np.int64) - before.zero_point
    if count:
        mantissa, shift = quantize_multiplier(before.scale / after.scale ** (1 / count))
        total = factors[..., 0]
        for k in range(1, count):
            total = multiply_by_quantized_multiplier_s64(total * factors[..., k], mantissa, shift).astype(np.int64)
        total = multiply_by_quantized_multiplier_s64(total, mantissa, shift).astype(np.int64)
    else:
        one = round_half_away(np.asarray(np.float32(1) / np.float32(after.scale)))
        total = np.full(outer, one).astype(np.int64)
    info = np.iinfo(x.dtype)
    y = np.clip(total + after.zero_point, info.min, info.max).astype(x.dtype)
    keep = [1 if axis in over else size for axis, size in enumerate(x.shape)] if node.options["keep_dims"] else outer
    return np.asarray(y.reshape(keep))


@reference("REDUCE_ANY", "REDUCE_ALL")
def logical(node: OpNode, x: Array, axes: Array) -> Array:
    """True if any, or every, element is true."""
    function = np.any if node.op == "REDUCE_ANY" else np.all
    return np.asarray(function(x, axis=_over(x, axes), keepdims=bool(node.options["keep_dims"])))
