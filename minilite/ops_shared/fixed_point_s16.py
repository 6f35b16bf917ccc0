"""gemmlowp's logistic and tanh for 16-bit fixed point: exp by a Taylor series and products per bit, division by
Newton's method."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.fixed_point import rounding_divide_by_pot

_EXPONENTIALS = {-2: 25520, -1: 19875, 0: 12055, 1: 4435, 2: 600, 3: 11, 4: 0}
"""exp(-2**exponent) in Q0.15."""
_ONE, _MOST, _LEAST = 32767, 32767, -32768
_ONE_Q2 = 1 << 13


def _wrapped(x: Array) -> Array:
    return x.astype(np.int16).astype(np.int64)


def multiply_q15(a: Array, b: Array | int) -> Array:
    """round(a * b / 2**15), ties upwards; -1 * -1 saturates."""
    return np.asarray(np.minimum((a * np.int64(b) + (1 << 14)) >> 15, _MOST))


def _shifted_left(x: Array, exponent: int) -> Array:
    return np.asarray(np.clip(x << exponent, _LEAST, _MOST))


def _exp_near_zero(a: Array) -> Array:
    """exp(a) of Q0.15 in [-1/4, 0): a Taylor series around -1/8."""
    x = a + (1 << 12)
    x2 = multiply_q15(x, x)
    x3, x4 = multiply_q15(x2, x), multiply_q15(x2, x2)
    cubic = multiply_q15(rounding_divide_by_pot(x4, 2).astype(np.int64) + x3, 10923) + x2
    series = x + rounding_divide_by_pot(cubic, 1).astype(np.int64)
    return np.asarray(np.clip(28918 + multiply_q15(np.asarray(28918), series), _LEAST, _MOST))


def _exp_of_negative(a: Array, integer_bits: int) -> Array:
    """exp(a), Q0.15, for a <= 0 with `integer_bits` integer bits."""
    quarter = 1 << (13 - integer_bits)
    near = (a & (quarter - 1)) - quarter
    result, rest = _exp_near_zero(_shifted_left(near, integer_bits)), near - a
    for exponent, factor in _EXPONENTIALS.items():
        if integer_bits > exponent:
            bit = 1 << (15 - integer_bits + exponent)
            result = np.where(rest & bit, multiply_q15(result, factor), result)
    if integer_bits > 5:
        result = np.where(a < -(1 << (20 - integer_bits)), 0, result)
    return np.where(a == 0, _ONE, result)


def _newton(a: Array) -> Array:
    """2 / (1 + a) in Q2.13, for a of Q0.15 in [0, 1]."""
    half = (a + _ONE + 1) >> 1
    x = 23130 + multiply_q15(half, -15420)
    for _ in range(3):
        error = _ONE_Q2 - multiply_q15(half, x)
        x = _wrapped(x + _shifted_left(multiply_q15(x, error), 2))
    return x


def logistic_s16(a: Array) -> Array:
    """1 / (1 + exp(-a)) in Q0.15, a in Q3.12."""
    wide = a.astype(np.int64)
    y = _shifted_left(_newton(_exp_of_negative(-np.abs(wide), 3)), 1)
    return np.where(wide == 0, 1 << 14, np.where(wide > 0, y, _ONE - y)).astype(np.int16)


def tanh_s16(a: Array, integer_bits: int) -> Array:
    """tanh(a) in Q0.15, a with 0 to 6 integer bits."""
    wide = a.astype(np.int64)
    y = _shifted_left(_newton(_exp_of_negative(-np.abs(wide), integer_bits + 1)) - _ONE_Q2, 2)
    return np.where(wide == 0, 0, np.where(wide < 0, -y, y)).astype(np.int16)
