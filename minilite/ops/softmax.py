"""SOFTMAX: exp(beta * x) over its sum, along the last dimension."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.checks import tensor_scale
from minilite.ops_shared.fixed_point import (
    quantize_multiplier,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
)
from minilite.ops_shared.operator import Kernel, Operator, OpNode

_BYTES = (TensorType.INT8, TensorType.UINT8)


def lower_softmax(node: OpNode) -> Kernel:
    """float32; int8 and uint8 as quantized numbers, to outputs of 1/256."""
    source, output = node.input(0), node.outputs[0]
    if source is None:
        raise node.refuse("takes one input")
    if source.type != output.type:
        raise node.refuse(f"input type {source.type.name} differs from output type {output.type.name}")
    if source.type == TensorType.FLOAT32:
        return Kernel("softmax_f32", beta=_beta(node))
    if source.type not in _BYTES:
        raise node.refuse(f"type {source.type.name} is not supported")
    scale, zero_point = output.quantization.scale, output.quantization.zero_point
    lowest = -128 if source.type == TensorType.INT8 else 0
    if abs(scale - 1 / 256) > 1e-3 / 256 or zero_point != lowest:
        raise node.refuse(f"output scale {scale} and zero point {zero_point} must be 1/256 and {lowest}")
    return Kernel("softmax_q8", exp_table=_exp_table(node), flip=-lowest)


def reference_softmax(node: OpNode, x: Array) -> Array:
    """Float: in float64. 8 bits: TFLite's reference kernel, in fixed point; it aborts where a sum is 512 or more, and
    every y rounds to 0."""
    if x.size == 0:
        return x.copy()
    if x.dtype == np.float32:
        with np.errstate(all="ignore"):
            wide = x.astype(np.float64)
            exps = np.exp((wide - np.fmax.reduce(wide, axis=-1, keepdims=True)) * _beta(node))
            return np.asarray((exps / exps.sum(axis=-1, keepdims=True)).astype(np.float32))
    wide = x.astype(np.int64)
    exps = _exp_table(node)[wide.max(axis=-1, keepdims=True) - wide]
    info = np.iinfo(x.dtype)
    total = rounding_divide_by_pot(exps, 12).astype(np.int64).sum(axis=-1, keepdims=True)
    headroom = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)  # leading zero bits of the Q12.19 sum
    shift = 12 - headroom + 31 - 8
    fits = shift <= 31
    scale = _one_over_one_plus(np.where(fits, (total << np.maximum(headroom, 0)) - (1 << 31), 0))
    y = rounding_divide_by_pot(saturating_rounding_doubling_high_mul(exps, scale), np.minimum(shift, 31))
    steps: Array = np.where(fits, y, 0).astype(np.int64) + info.min
    return np.minimum(steps, info.max).astype(x.dtype)


def _beta(node: OpNode) -> float:
    return float(np.float32(node.options.get("beta", 1.0)))


def _exp_table(node: OpNode) -> Array:
    """exp(-i * scale * beta) for i in 0...255 in Q0.31, as gemmlowp computes it from Q5.26; 0 where TFLite skips."""
    source = node.inputs[0]
    assert source is not None
    real = _beta(node) * tensor_scale(node, source) * (1 << 26)
    if real <= 1.0:
        raise node.refuse(f"beta times input scale is {real / (1 << 26)}, too small for 26 fractional bits")
    mantissa, shift = quantize_multiplier(min(real, (1 << 31) - 1.0))
    radius = math.floor(31 * (1 << 26) / (1 << shift))
    difference = -np.arange(256, dtype=np.int64)
    kept = difference >= -radius
    raw = saturating_rounding_doubling_high_mul((np.where(kept, difference, 0) << shift).astype(np.int32), mantissa)
    return np.where(kept, _exp_on_negative_values(raw), 0).astype(np.int32)


_EXP_OF_BIT = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""exp(-2**k) in Q0.31 for k = -2...4."""


def _exp_on_negative_values(a: Array) -> Array:
    """gemmlowp's exp_on_negative_values from Q5.26 to Q0.31: a polynomial on [-1/4, 0), then one factor per bit above."""
    a = a.astype(np.int64)
    quarter = 1 << 24
    remainder_of_quarter = (a & (quarter - 1)) - quarter
    result = _exp_below_quarter(remainder_of_quarter << 5)
    above = remainder_of_quarter - a
    for bit, factor in enumerate(_EXP_OF_BIT):
        scaled = saturating_rounding_doubling_high_mul(result, factor)
        result = np.where(above & (1 << (24 + bit)), scaled, result)
    return np.where(a == 0, (1 << 31) - 1, result)


def _exp_below_quarter(a: Array) -> Array:
    """exp on [-1/4, 0) in Q0.31: the Taylor series around -1/8 to the fourth power."""
    multiply = saturating_rounding_doubling_high_mul
    x = a + (1 << 28)
    x2 = multiply(x, x)
    x3, x4 = multiply(x2, x), multiply(x2, x2)
    high_terms = multiply(rounding_divide_by_pot(x4, 2) + x3, 715827883) + x2
    exp_minus_eighth = 1895147668
    return exp_minus_eighth + multiply(x + rounding_divide_by_pot(high_terms, 1), exp_minus_eighth)


def _one_over_one_plus(x: Array) -> Array:
    """gemmlowp's one_over_one_plus_x_for_x_in_0_1 in Q0.31: three Newton steps in Q2.29."""
    multiply = saturating_rounding_doubling_high_mul
    half_denominator = (x + (1 << 31)) >> 1
    r = 1515870810 + multiply(half_denominator, -1010580540).astype(np.int64)
    for _ in range(3):
        error = (1 << 29) - multiply(half_denominator, r).astype(np.int64)
        r = r + _saturating_shift_left(multiply(error, r).astype(np.int64), 2)
    return _saturating_shift_left(r, 1)


def _saturating_shift_left(x: Array, exponent: int) -> Array:
    return np.asarray(np.clip(x << exponent, -(1 << 31), (1 << 31) - 1))


OPERATORS = (
    Operator(
        "SOFTMAX", range(1, 5), lower=lower_softmax, reference=reference_softmax, in_place=(0,), tflite_shares=True
    ),
)
