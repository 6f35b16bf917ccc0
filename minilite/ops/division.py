"""DIV, FLOOR_DIV, FLOOR_MOD: quotients and remainders with numpy's broadcasting."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.fixed_point import (
    activation_range,
    one_over_one_plus,
    quantize_multiplier,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
)
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.options import ACTIVATION_LIMITS, activation
from minilite.ops_shared.tensors import input_of

_QUANTIZED = (TensorType.INT8, TensorType.UINT8, TensorType.INT16)


def _check_divisor(divisor: Array, zero: int = 0) -> None:
    if (divisor == zero).any():
        raise ValueError(f"division by 0: element {int(np.argmax(divisor.reshape(-1) == zero))} of the divisor")


@reference(
    "DIV",
    rounding={
        "f32": "one rounding, clamp; infinities stay",
        "s32": "towards zero, clamp; a divisor of 0 is refused",
        "s8 u8 s16": (
            "`1 / (b - zp_b)` in Q0.31 by three Newton steps, times `a - zp_a` at full width and the mantissa "
            "of `scale_a / (scale_b * scale_y)` (float32), each rounded; one shift, ties away from zero"
        ),
    },
)
def div(node: OpNode, a: Array, b: Array) -> Array:
    """y = clamp(a / b), integers rounded towards zero; only floats may be divided by 0."""
    low, high = ACTIVATION_LIMITS[activation(node)]
    if a.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.clip(a / b, np.float32(low), np.float32(high))
    if node.outputs[0].type in _QUANTIZED:
        _check_divisor(b, input_of(node, 1).quantization.zero_point)
        return _quantized_div(node, a, b)
    _check_divisor(b)
    x, y = a.astype(np.int64), b.astype(np.int64)
    towards_zero = (np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))).astype(np.int32)
    return np.asarray(np.clip(towards_zero, max(low, -(1 << 31)), min(high, (1 << 31) - 1)).astype(np.int32))


def _quantized_div(node: OpNode, a: Array, b: Array) -> Array:
    """TFLite's DivElementwise: a at full width times 1 / b in Q0.31, by the multiplier, then one shift."""
    tensors = (input_of(node, 0), input_of(node, 1), node.outputs[0])
    x_scale, y_scale, z_scale = (np.float32(tensor.quantization.scale) for tensor in tensors)
    mantissa, shift = quantize_multiplier(float(x_scale / (y_scale * z_scale)))
    over, under = (
        x.astype(np.int64) - tensor.quantization.zero_point for x, tensor in zip((a, b), tensors, strict=False)
    )
    over, under = np.broadcast_arrays(over * np.sign(under), np.abs(under))
    bits = np.frexp(under.astype(np.float64))[1].astype(np.int64)
    inverse = one_over_one_plus((under << (32 - bits)) - (1 << 31))
    size = np.where(over < 0, ~over, over)
    headroom = 31 - np.frexp(size.astype(np.float64))[1].astype(np.int64)
    multiply = saturating_rounding_doubling_high_mul
    y = multiply(multiply(over << headroom, inverse), mantissa).astype(np.int64)
    left = shift - (bits - 1) - headroom
    right = np.where(left < -31, 0, rounding_divide_by_pot(y, np.clip(-left, 0, 31)))
    y = np.where(left > 0, y << np.clip(left, 0, 31), right) + tensors[2].quantization.zero_point
    return np.asarray(np.clip(y, *activation_range(tensors[2], activation(node))).astype(a.dtype))


@reference(
    "FLOOR_DIV",
    rounding={
        "f32": "the quotient in float64",
        "s8 s16 s32": "exact; wraps",
        "": "a divisor of 0 is refused",
    },
)
def floor_div(node: OpNode, a: Array, b: Array) -> Array:  # noqa: ARG001
    """y = floor(a / b), for floats in float64; integers without regard to scales; the divisor is never 0."""
    _check_divisor(b)
    if a.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.asarray(np.floor(a.astype(np.float64) / b.astype(np.float64)).astype(a.dtype))
    return np.asarray((a.astype(np.int64) // b.astype(np.int64)).astype(a.dtype))


@reference(
    "FLOOR_MOD",
    rounding={
        "f32": "fmod, one sum",
        "s8 s16 s32 s64": "exact; a divisor of 0 is refused",
    },
)
def floor_mod(node: OpNode, a: Array, b: Array) -> Array:  # noqa: ARG001
    """y = a - b * floor(a / b), with b's sign; for floats by fmod."""
    if a.dtype.kind != "f":
        _check_divisor(b)
    with np.errstate(all="ignore"):
        r = np.fmod(a, np.where(b == -1, 1, b).astype(b.dtype) if a.dtype.kind == "i" else b)
        return np.asarray(np.where((r != 0) & ((b < 0) != (r < 0)), r + b, r))
