"""Requantization in integers, in numpy: the arithmetic that quantized operators share.

A real multiplier m is carried as (mantissa, shift): m ~ mantissa * 2**(shift - 31). Each rule gives the same bits as
the TFLite function that it names; csrc/math/fixed_point.h has the same rules in C.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array, Tensor
from minilite.ops_shared.operator import OpNode
from minilite.ops_shared.options import ACTIVATION_LIMITS
from minilite.ops_shared.tensors import input_of


def quantize_multiplier(real: float) -> tuple[int, int]:
    """(mantissa, shift) of a real multiplier: TFLite's QuantizeMultiplier. Beyond 2**30, where TFLite's shift is
    undefined, it saturates; NaN becomes 0."""
    if real == 0.0 or math.isnan(real):
        return 0, 0
    if real < 0.0:
        mantissa, shift = quantize_multiplier(-real)
        return -mantissa, shift
    if math.isinf(real):
        return (1 << 31) - 1, 30
    fraction, shift = math.frexp(real)
    mantissa = math.floor(fraction * (1 << 31) + 0.5)  # exact: the product has at most 53 bits
    if mantissa == 1 << 31:
        mantissa, shift = mantissa // 2, shift + 1
    if shift > 30:
        return (1 << 31) - 1, 30
    return (0, 0) if shift < -31 else (mantissa, shift)


def quantize_multipliers(reals: Array) -> tuple[Array, Array]:
    """`quantize_multiplier` of each: int32 mantissas and shifts."""
    fractions, shifts = np.frexp(np.asarray(reals, np.float64))
    mantissas = np.floor(fractions * (1 << 31) + 0.5).astype(np.int64)
    full = mantissas == 1 << 31
    mantissas, shifts = np.where(full, mantissas // 2, mantissas), shifts + full
    over, under = shifts > 30, shifts < -31
    mantissas = np.where(over, (1 << 31) - 1, np.where(under, 0, mantissas))
    return mantissas.astype(np.int32), np.where(over, 30, np.where(under, 0, shifts)).astype(np.int32)


def saturating_rounding_doubling_high_mul(a: Array, b: Array | int) -> Array:
    """round(a * b / 2**31), ties upwards, of int32 values with b >= 0: gemmlowp's function of that name."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    return ((product + (1 << 30)) >> 31).astype(np.int32)


def rounding_divide_by_pot(x: Array, exponent: Array | int) -> Array:
    """round(x / 2**exponent), ties away from zero: gemmlowp's function of that name."""
    wide, power = np.asarray(x, np.int64), np.asarray(exponent, np.int64)
    mask = (np.int64(1) << power) - 1
    return ((wide >> power) + ((wide & mask) > (mask >> 1) + (wide < 0))).astype(np.int32)


def multiply_by_quantized_multiplier(x: Array, mantissa: Array | int, shift: Array | int) -> Array:
    """x * mantissa * 2**(shift - 31) in TFLite's double rounding; int32 in and out, the left shift wraps."""
    shifts = np.asarray(shift, np.int64)
    left = (np.asarray(x, np.int64) << np.maximum(shifts, 0)).astype(np.int32)
    return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(left, mantissa), np.maximum(-shifts, 0))


def multiply_by_quantized_multiplier_s64(x: Array, mantissa: Array | int, shift: Array | int) -> Array:
    """TFLite's MultiplyByQuantizedMultiplier for int64 accumulators: a mantissa of 16 bits, one rounding, ties
    upwards."""
    mantissas = np.asarray(mantissa, np.int64)
    reduced = np.where(mantissas < 0x7FFF0000, (mantissas + (1 << 15)) >> 16, 0x7FFF)
    total = 15 - np.asarray(shift, np.int64)
    return ((np.asarray(x, np.int64) * reduced + (np.int64(1) << (total - 1))) >> total).astype(np.int32)


def one_over_one_plus(x: Array) -> Array:
    """gemmlowp's one_over_one_plus_x_for_x_in_0_1 in Q0.31: three Newton steps in Q2.29."""
    multiply = saturating_rounding_doubling_high_mul
    half_denominator = (x + (1 << 31)) >> 1
    r = 1515870810 + multiply(half_denominator, -1010580540).astype(np.int64)
    for _ in range(3):
        error = (1 << 29) - multiply(half_denominator, r).astype(np.int64)
        r = r + saturating_shift_left(multiply(error, r).astype(np.int64), 2)
    return saturating_shift_left(r, 1)


def saturating_shift_left(x: Array, exponent: int) -> Array:
    """x * 2**exponent within int32: gemmlowp's SaturatingRoundingMultiplyByPOT."""
    return np.asarray(np.clip(x << exponent, -(1 << 31), (1 << 31) - 1))


def inverse_sqrt(x: int) -> tuple[int, int]:
    """(mantissa, shift) of 1 / sqrt(x), x >= 0, where 0 counts as 1: TFLite's GetInvSqrtQuantizedMultiplierExp."""
    if x <= 1:
        return (1 << 31) - 1, 0
    right = 11
    while x >= 1 << 29:
        x, right = x // 4, right + 1
    pairs = (31 - x.bit_length()) // 2 - 1
    right -= pairs
    multiply = saturating_rounding_doubling_high_mul
    half = rounding_divide_by_pot(np.asarray((x << 2 * pairs) >> 1), 1)
    y = np.asarray(1 << 28, np.int64)
    for _ in range(5):
        cube = saturating_shift_left(multiply(multiply(y, y), y).astype(np.int64), 6)
        y = saturating_shift_left(multiply(y, 3 << 27).astype(np.int64) - multiply(half, cube), 3)
    mantissa = int(multiply(y, 1518500250))
    return (mantissa << -right, 0) if right < 0 else (mantissa, -right)


def round_half_away(x: Array) -> Array:
    """TfLiteRound: to the nearest integer, ties away from zero (numpy rounds them to even)."""
    below_half = np.nextafter(x.dtype.type(0.5), x.dtype.type(0))
    rounded: Array = np.trunc(x + np.copysign(below_half, x))
    return rounded


def activation_range(output: Tensor, activation: str) -> tuple[int, int]:
    """The integers to which a quantized output is clamped. Raises: KeyError if `activation` is not a clamp."""
    return quantized_clamp(output, *ACTIVATION_LIMITS[activation])


def quantized_clamp(output: Tensor, low: float, high: float) -> tuple[int, int]:
    """Two reals quantized and clamped to the type's range: TFLite's CalculateActivationRangeQuantized.

    Infinite limits, and all limits without a scale, become the ends of the type's range."""
    info = np.iinfo(numpy_type(output.type))
    if not output.quantization.scale:
        return int(info.min), int(info.max)
    return (
        max(int(info.min), _quantize(low, output)) if math.isfinite(low) else int(info.min),
        min(int(info.max), _quantize(high, output)) if math.isfinite(high) else int(info.max),
    )


def _quantize(real: float, tensor: Tensor) -> int:
    """zero_point + round(real / scale), computed in float32 like TFLite."""
    ratio = np.float32(real) / np.float32(tensor.quantization.scale)
    return tensor.quantization.zero_point + int(round_half_away(np.asarray(ratio)))


def scale_ratio(node: OpNode, factor: float = 1.0, precision: type[Any] = np.float32) -> float:
    """Scale of input 0 * factor / scale of output 0; NaN without scales."""
    x, y = (precision(tensor.quantization.scale) for tensor in (input_of(node), node.outputs[0]))
    with np.errstate(all="ignore"):
        return float(x * precision(factor) / y)


def rescale(
    node: OpNode, x: Array, multiplier: float, limits: tuple[int, int] | None = None, *, falls: bool = False
) -> Array:
    """Values of input 0 in the output's scale: zero_point + (x - input zero point) * multiplier with double rounding,
    negated if `falls`, clamped to limits or to the output's type."""
    output = node.outputs[0]
    shifted = (x.astype(np.int64) - input_of(node).quantization.zero_point).astype(np.int32)
    scaled = multiply_by_quantized_multiplier(shifted, *quantize_multiplier(multiplier)).astype(np.int64)
    low, high = limits or quantized_clamp(output, -math.inf, math.inf)
    return np.asarray(
        np.clip((-scaled if falls else scaled) + output.quantization.zero_point, low, high).astype(
            numpy_type(output.type)
        )
    )


def quantize(real: Array, output: Tensor) -> Array:
    """zero_point + round(real / scale), ties away from zero, of float32 by the reciprocal scale, saturating."""
    q, info = output.quantization, np.iinfo(numpy_type(output.type))
    steps = round_half_away(real * (np.float32(1) / np.float32(q.scale))) + np.float32(q.zero_point)
    return np.asarray(np.clip(steps, info.min, info.max).astype(info.dtype))


def dequantize(x: Array, source: Tensor) -> Array:
    """scale * (x - zero_point) in float32."""
    q = source.quantization
    return np.asarray(np.float32(q.scale) * (x.astype(np.int32) - np.int32(q.zero_point)).astype(np.float32))
