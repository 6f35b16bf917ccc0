"""L2_NORMALIZATION and odml.rms_norm along the last dimension, LOCAL_RESPONSE_NORMALIZATION along the channels."""

from __future__ import annotations

import numpy as np

from minilite.format.flexbuffer import scalars
from minilite.format.model import Array
from minilite.ops_shared.fixed_point import (
    multiply_by_quantized_multiplier,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
)
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.options import ACTIVATION_LIMITS, activation
from minilite.ops_shared.tensors import input_of


def _saturating_shift(x: Array, exponent: int) -> Array:
    info = np.iinfo(np.int32)
    return np.asarray(np.clip(x.astype(np.int64) << exponent, info.min, info.max).astype(np.int32))


def _inverse_root(total: int) -> tuple[int, int]:
    """(mantissa, shift) of 1 / sqrt(total): TFLite's GetInvSqrtQuantizedMultiplierExp."""
    if total <= 1:
        return (1 << 31) - 1, 0
    right = 11
    while total >= 1 << 29:
        total, right = total // 4, right + 1
    pairs = (32 - total.bit_length() - 1) // 2 - 1
    right, total = right - pairs, total << 2 * pairs
    high = saturating_rounding_doubling_high_mul
    half, three_halves = rounding_divide_by_pot(np.asarray(total >> 1), 1), np.asarray(3 << 27)
    x = np.asarray(1 << 28, np.int32)
    for _ in range(5):
        cube = _saturating_shift(high(high(x, x), x), 6)
        x = _saturating_shift(high(three_halves, x).astype(np.int64) - high(half, cube), 3)
    mantissa = int(high(x, 1518500250))
    return (mantissa << -right, 0) if right < 0 else (mantissa, -right)


@reference(
    "L2_NORMALIZATION",
    rounding={
        "f32": "float32 sum of squares, square root, division",
        "s8 u8": "int32 sum of squares, its reciprocal square root by five Newton steps in fixed point, double rounding",
    },
)
def l2(node: OpNode, x: Array) -> Array:
    """x / sqrt(sum of x^2) along the last dimension, the root at least 1e-6."""
    if x.dtype == np.float32:
        root = np.sqrt((x.astype(np.float64) ** 2).sum(axis=-1, keepdims=True).astype(np.float32))
        low, high = ACTIVATION_LIMITS[activation(node)]
        return np.asarray((x / np.maximum(root, 1e-6)).astype(np.float32)).clip(np.float32(low), np.float32(high))
    if x.size == 0:
        return x.copy()
    centered = x.astype(np.int64).reshape(-1, x.shape[-1]) - input_of(node).quantization.zero_point
    y = np.empty(centered.shape, np.int64)
    wide = x.dtype == np.uint8
    for i, row in enumerate(centered):
        mantissa, shift = _inverse_root(int((row * row).sum().astype(np.int32)))
        factor, more = (128, 0) if wide else (1, 7)
        y[i] = multiply_by_quantized_multiplier((row * factor).astype(np.int32), mantissa, shift + more)
    info = np.iinfo(x.dtype)
    return np.asarray(np.clip(y + 128 * wide, info.min, info.max).astype(x.dtype).reshape(x.shape))


@reference(
    "LOCAL_RESPONSE_NORMALIZATION",
    rounding={
        "": "float32 sums over `radius` channels on either side, as LiteRT's optimized kernels; BUILTIN_REF leaves out the last one",
    },
)
def response(node: OpNode, x: Array) -> Array:
    """x * (bias + alpha * sum of x^2 over channels from radius before to radius after) ^ -beta."""
    o = node.options
    squares, depth = x.astype(np.float64) ** 2, x.shape[-1]
    sums = np.zeros(x.shape)
    for i in range(depth):
        sums[..., i] = squares[..., max(0, i - o["radius"]) : max(0, i + o["radius"] + 1)].sum(axis=-1)
    return np.asarray((x * (o["bias"] + o["alpha"] * sums) ** -float(o["beta"])).astype(np.float32))


@reference(
    "odml.rms_norm",
    rounding={"": "the sum of squares within n / 8 eps; one rounding for the root, its reciprocal and each product"},
    options=scalars,
)
def rms_norm(node: OpNode, x: Array, gamma: Array | None = None) -> Array:
    """x / sqrt(mean of x^2 + epsilon) by rows, times a factor per channel."""
    wide = x.astype(np.float64)
    y = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + float(np.float32(node.options["epsilon"])))
    return np.asarray(y if gamma is None else y * gamma, np.float32)
