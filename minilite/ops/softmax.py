"""SOFTMAX: exp(beta * x) over its sum, along the last dimension; LOG_SOFTMAX: the logarithm of that."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Array
from minilite.ops_shared import fixed_point
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.tensors import input_of


def _multiplier(node: OpNode) -> float:
    """The multiplier that converts steps of 8-bit input to Q5.26."""
    return _beta(node) * input_of(node).quantization.scale * (1 << 26)


def _beta(node: OpNode) -> float:
    return float(np.float32(node.options["beta"]))


@reference(
    "SOFTMAX",
    rounding={
        "f32": "exp within 2 ULP of the rounded `(x - max) * beta`; a sum in lanes; one product with its inverse",
        "f16": "in f32, rounded once",
        "s8 u8": (
            "`exp(-difference)` by gemmlowp's `exp_on_negative_values` (Q5.26 to Q0.31): a table; the sum in "
            "Q12.19; its reciprocal by three Newton steps in Q2.29; product and shift each rounded. Output "
            "scale 1/256, to s16 1/65536"
        ),
        "s16": (
            "exp over [-10, 0] and 1 / (1 + x) over [0, 1] each by 512 lines; the sum in Q16.15. Output scale 1/32768"
        ),
    },
)
def softmax(node: OpNode, x: Array) -> Array:
    """Float: in float64, except that values overflow as in float32. Integers: TFLite's reference kernels, in fixed
    point."""
    if x.size == 0:
        return np.zeros(x.shape, numpy_type(node.outputs[0].type))
    if x.dtype.kind == "f":
        wide = x.astype(np.float64)
        exps = np.exp((wide - np.fmax.reduce(wide, axis=-1, keepdims=True)) * _beta(node)).astype(np.float32)
        total = exps.sum(axis=-1, keepdims=True, dtype=np.float64).astype(np.float32)
        return np.asarray((exps / total).astype(x.dtype))
    return _softmax_s16(node, x) if x.dtype == np.int16 else _softmax_bytes(node, x)


# 8 bits ---------------------------------------------------------------------------------------------------------------


def _softmax_bytes(node: OpNode, x: Array) -> Array:
    """TFLite aborts if a sum is 512 or more; here every y rounds to 0 then."""
    wide = x.astype(np.int64)
    exps = _exp_table(node)[wide.max(axis=-1, keepdims=True) - wide]
    bits, info = (16, np.iinfo(np.int16)) if node.outputs[0].type == TensorType.INT16 else (8, np.iinfo(x.dtype))
    total = fixed_point.rounding_divide_by_pot(exps, 12).astype(np.int64).sum(axis=-1, keepdims=True)
    headroom = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)  # leading zero bits of the Q12.19 sum
    shift = 12 - headroom + 31 - bits
    fits = total < 512 << 19
    scale = fixed_point.one_over_one_plus(np.where(fits, (total << np.maximum(headroom, 0)) - (1 << 31), 0))
    y = fixed_point.rounding_divide_by_pot(
        fixed_point.saturating_rounding_doubling_high_mul(exps, scale), np.where(fits, shift, 0)
    )
    steps: Array = np.where(fits, y, 0).astype(np.int64) + info.min
    return np.asarray(np.minimum(steps, info.max).astype(info.dtype))


def _exp_table(node: OpNode) -> Array:
    """exp(-i * scale * beta) for i in 0...255 in Q0.31, as gemmlowp computes it from Q5.26; 0 where TFLite skips."""
    raw, kept, _ = _steps(_multiplier(node))
    return np.where(kept, _exp_on_negative_values(raw), 0).astype(np.int32)


def _steps(multiplier: float) -> tuple[Array, Array, float]:
    """-i times the multiplier to Q5.26 for those i in 0...255 that TFLite does not skip; and the rounded multiplier."""
    mantissa, shift = fixed_point.quantize_multiplier(min(multiplier, (1 << 31) - 1.0))
    radius = math.floor(31 * (1 << 26) / (1 << shift))
    difference = -np.arange(256, dtype=np.int64)
    kept = difference >= -radius
    raw = fixed_point.saturating_rounding_doubling_high_mul(
        (np.where(kept, difference, 0) << shift).astype(np.int32), mantissa
    )
    return raw, kept, math.ldexp(mantissa, shift - 31)


_EXP_OF_BIT = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""exp(-2**k) in Q0.31 for k = -2...4."""


def _exp_on_negative_values(a: Array) -> Array:
    """gemmlowp's exp_on_negative_values from Q5.26 to Q0.31: a polynomial on [-1/4, 0), then one factor per bit
    above."""
    a = a.astype(np.int64)
    quarter = 1 << 24
    remainder_of_quarter = (a & (quarter - 1)) - quarter
    result = _exp_below_quarter(remainder_of_quarter << 5)
    above = remainder_of_quarter - a
    for bit, factor in enumerate(_EXP_OF_BIT):
        scaled = fixed_point.saturating_rounding_doubling_high_mul(result, factor)
        result = np.where(above & (1 << (24 + bit)), scaled, result)
    return np.where(a == 0, (1 << 31) - 1, result)


def _exp_below_quarter(a: Array) -> Array:
    """exp on [-1/4, 0) in Q0.31: the Taylor series around -1/8 to the fourth power."""
    multiply = fixed_point.saturating_rounding_doubling_high_mul
    x = a + (1 << 28)
    x2 = multiply(x, x)
    x3, x4 = multiply(x2, x), multiply(x2, x2)
    high_terms = multiply(fixed_point.rounding_divide_by_pot(x4, 2) + x3, 715827883) + x2
    exp_minus_eighth = 1895147668
    return exp_minus_eighth + multiply(x + fixed_point.rounding_divide_by_pot(high_terms, 1), exp_minus_eighth)


# 16 bits --------------------------------------------------------------------------------------------------------------


def _softmax_s16(node: OpNode, x: Array) -> Array:
    """exp in Q0.15 by lines over [-10, 0], its sum in Q16.15, the reciprocal of the sum's leading bits by lines."""
    mantissa, shift = fixed_point.quantize_multiplier(
        input_of(node).quantization.scale * _beta(node) / (10.0 / 65535.0)
    )
    difference = x.astype(np.int32) - x.max(axis=-1, keepdims=True)
    scaled = fixed_point.multiply_by_quantized_multiplier(difference, mantissa, shift).astype(np.int64)
    exps = _on_lines(np.exp, -10.0, 0.0, scaled + 32767)
    total = exps.sum(axis=-1, keepdims=True)
    bits = np.frexp(np.maximum(total, 1).astype(np.float64))[1].astype(np.int64)
    leading = (total << np.maximum(31 - bits, 0)) >> np.maximum(bits - 31, 0)
    fraction = ((leading + (1 << 13)) >> 14) - (1 << 15) - (1 << 16)
    inverse = _on_lines(lambda v: 1 / (1 + v), 0.0, 1.0, fraction)
    half = (1 << (bits - 1)) >> 1
    return np.asarray(np.clip((exps * inverse + half) >> (bits - 1), 0, 32767).astype(np.int16))


def _on_lines(function: Callable[[Array], Array], low: float, high: float, x: Array) -> Array:
    """A function over [low, high] in Q0.15, to which the range of int16 is mapped: 512 lines between values, each moved
    by half of the error that its line would have in the middle."""
    width = (high - low) / 512
    at = low + np.arange(513) * width
    values = function(at) * 32768
    here, middle = fixed_point.round_half_away(values), function(at[:-1] + width / 2) * 32768
    missed = fixed_point.round_half_away((values[1:] + here[:-1]) / 2) - fixed_point.round_half_away(middle)
    ends = np.append(here[:-1] - fixed_point.round_half_away(missed / 2), here[-1:])
    table = np.clip(ends, -32768, 32767).astype(np.int64)
    inside = np.clip(x, -32768, 32767) + 32768
    base = table[inside >> 7]
    return np.asarray(base + (((table[(inside >> 7) + 1] - base) * (inside & 127) + 64) >> 7))


# LOG_SOFTMAX ----------------------------------------------------------------------------------------------------------


@reference(
    "LOG_SOFTMAX",
    rounding={
        "f32": "`x - max - log(sum)`, exp and log each within 2 ULP",
        "s8 u8": (
            "`exp(-difference)` in Q12.19 as SOFTMAX, the sum's logarithm by gemmlowp's "
            "`log_x_for_x_greater_than_or_equal_to_1` (to Q5.26). Output scale 1/16"
        ),
    },
)
def log_softmax(node: OpNode, x: Array) -> Array:
    """Float: in float64, except that values overflow as in float32. Integers: TFLite's reference kernel, in fixed
    point."""
    if x.size == 0:
        return np.zeros(x.shape, x.dtype)
    if x.dtype != np.float32:
        return _log_softmax_bytes(node, x)
    wide, lowest = x.astype(np.float64), np.finfo(np.float32).min
    high = np.fmax(np.fmax.reduce(wide, axis=-1, keepdims=True), lowest)
    total = np.exp(wide - high).astype(np.float32).sum(axis=-1, keepdims=True, dtype=np.float64)
    return np.asarray((wide - high - np.log(total.astype(np.float32).astype(np.float64))).astype(np.float32))


def _log_softmax_bytes(node: OpNode, x: Array) -> Array:
    """Sums in Q12.19, saturated; their logarithms in Q5.26; steps below its range are skipped."""
    raw, kept, multiplier = _steps(input_of(node).quantization.scale * (1 << 26))
    info, wide = np.iinfo(x.dtype), x.astype(np.int64)
    below = wide.max(axis=-1, keepdims=True) - wide
    exps = np.where(kept, fixed_point.rounding_divide_by_pot(_exp_on_negative_values(raw), 12), 0).astype(np.int64)
    total = np.minimum(exps[below].sum(axis=-1, keepdims=True), (1 << 31) - 1)
    log_total = _log_above_one(total)
    least = fixed_point.multiply_by_quantized_multiplier(
        log_total - (1 << 31), *fixed_point.quantize_multiplier(1 / multiplier)
    )
    steps = fixed_point.rounding_divide_by_pot(raw[below] - log_total, 22).astype(np.int64) + info.max
    y = np.where(kept[below] & (-below > least), np.clip(steps, info.min, info.max), info.min)
    return np.asarray(y.astype(x.dtype))


def _log_above_one(x: Array) -> Array:
    """gemmlowp's log_x_for_x_greater_than_or_equal_to_1, from Q12.19 to Q5.26."""
    multiply, fourth_root, root = fixed_point.saturating_rounding_doubling_high_mul, 1805811301, 1518500250
    zeros, scaled = 32 - _bits(x), multiply(x, root)
    other = 31 - _bits(scaled)
    limit = (1 << 31) - 1
    first = np.minimum(multiply((x << (zeros - 1)), root).astype(np.int64) << 1, limit)
    r = np.minimum(first, np.minimum(x << other, limit))
    power = np.maximum((12 - zeros << 25) + (1 << 23), (12 - other << 25) - (1 << 23))
    p, q = (r + fourth_root + 1) // 2, 2 * (r - fourth_root)
    square = multiply(q, q).astype(np.int64)
    above = multiply(q, r).astype(np.int64) + multiply(multiply(q, square), 117049297)
    below = multiply(p, 1057819769 + q + multiply(square, 127690142)).astype(np.int64) + multiply(q, 638450708)
    log_r = multiply(fixed_point.rounding_divide_by_pot(above, 6), fixed_point.one_over_one_plus(below))
    return fixed_point.saturating_shift_left(multiply(power, 1488522236).astype(np.int64) + log_r, 1)


def _bits(x: Array) -> Array:
    """The number of bits of a positive number."""
    return np.frexp(x.astype(np.float64))[1].astype(np.int64)
