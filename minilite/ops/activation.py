"""RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1, LEAKY_RELU, LOGISTIC, TANH, ELU, HARD_SWISH, GELU: elementwise
activations."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.bfloat16 import through_f32
from minilite.ops_shared.fixed_point import (
    quantize_multiplier,
    quantized_clamp,
    rescale,
    rounding_divide_by_pot,
    scale_ratio,
)
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.real_table import by_real
from minilite.ops_shared.tensors import input_of

_LIMITS = {
    "RELU": (0.0, math.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}


@reference(
    "RELU",
    "RELU6",
    "RELU_N1_TO_1",
    "RELU_0_TO_1",
    rounding={
        "f32": "exact; NaN stays",
        "s8 u8 s16": "`x - zp_x`, double rounding by `scale_x / scale_y` (float32), quantized clamp; 8 bits: a table",
    },
)
def relu(node: OpNode, x: Array) -> Array:
    """y = min(max(x, minimum), maximum); quantized types requantize (double rounding) and clamp in the output's
    scale."""
    low, high = _LIMITS[node.op]
    if x.dtype == np.float32:
        return np.asarray(np.clip(x, np.float32(low), np.float32(high)))
    return rescale(node, x, scale_ratio(node), quantized_clamp(node.outputs[0], low, high))


@reference(
    "LEAKY_RELU",
    rounding={
        "s8 u8 s16": "as RELU, but below the zero point by `scale_x * alpha / scale_y`; 8 bits: a table",
    },
)
def leaky_relu(node: OpNode, x: Array) -> Array:
    """y = x where x > 0, else alpha * x. Quantized: a multiplier for each case, with double rounding; alpha's sign is
    applied afterwards."""
    alpha = node.options["alpha"]
    if x.dtype == np.float32:
        return np.where(x > 0, x, np.float32(alpha) * x)
    above, below = (rescale(node, x, scale_ratio(node, abs(factor)), falls=factor < 0) for factor in (1.0, alpha))
    return np.where(x >= input_of(node).quantization.zero_point, above, below)


@reference(
    "LOGISTIC",
    rounding={
        "f32": "within 4 ULP of float64, 0 where that is subnormal; LiteRT's reference is off by up to 2e-8 for x < -9 "
        "(it takes exp(x))",
        "f16 bf16": "as f32, rounded once",
        "s8 u8": "table: `half away(sigmoid(scale (x - zp)) / scale_y) + zp_y` through float32; output scale 1/256",
        "s16": "256 values of `65536 sigmoid(i / 24)` and lines between them; output scale 1/32768",
    },
)
@through_f32
def logistic(node: OpNode, x: Array) -> Array:
    """y = 1 / (1 + exp(-x)); 8 bits through float32; 16 bits by lines between 256 values."""
    if x.dtype.kind == "f":
        return np.asarray((1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32).astype(x.dtype))
    if x.dtype == np.int16:
        return _logistic_s16(x, input_of(node).quantization.scale)
    return by_real(node, x, lambda real: 1 / (1 + np.exp(-real).astype(np.float32)))


def _sigmoids(x: Array, scale: float) -> tuple[Array, Array]:
    """|x| in steps of 1 / (3 * 4096) with x's sign, and 256 values of 65536 * sigmoid, 512 such steps apart.

    Each is raised by half of the error that the line to the next one has in its middle; the last is the highest.
    """
    multiplier, shift = scale * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        multiplier, shift = multiplier * 2.0, shift + 1
    here, middle, after = (65536 / (1 + np.exp(-(np.arange(256) + step) / 24)) for step in (0, 0.5, 1))
    table = np.floor(here + (middle - (here + after) / 2) / 2 + 0.5).astype(np.int64)
    table[255] = 65535
    return (x.astype(np.int64) * int(min(multiplier, 32767)) + ((1 << shift) >> 1)) >> shift, table


def _logistic_s16(x: Array, scale: float) -> Array:
    """TFLite's 16-bit Logistic: lines between sigmoids."""
    scaled, table = _sigmoids(x, scale)
    size = np.abs(scaled)
    at = np.minimum(size >> 9, 254)
    y = np.where(size < 255 << 9, (table[at] << 9) + (size & 511) * (table[at + 1] - table[at]), 0x7FFF << 10)
    return np.asarray((np.where(scaled >= 0, y + 512, (1 << 25) - y + 511) >> 10).astype(np.int16))


def _tanh_s16(x: Array, scale: float) -> Array:
    """TFLite's 16-bit Tanh: 2 sigmoid(2 x) - 1 on the same lines."""
    scaled, table = _sigmoids(x, scale)
    size = np.abs(scaled)
    at = np.minimum(size >> 8, 254)
    y = np.where(size < 255 << 8, (table[at] << 8) + (size & 255) * (table[at + 1] - table[at]), 0xFFFF << 8) - (
        1 << 23
    )
    return np.asarray((np.where(scaled >= 0, y + 128, 127 - y) >> 8).astype(np.int16))


@reference(
    "TANH",
    rounding={
        "f32": "within 6 ULP",
        "f16": "within 3 ULP in float32, rounded once",
        "s8 u8": "table: `half away(tanh(scale (x - zp)) / scale_y) + zp_y` through float32",
        "s16": "2 sigmoid(2 x) - 1 on LOGISTIC's lines; output scale 1/32768",
    },
)
@through_f32
def tanh(node: OpNode, x: Array) -> Array:
    """y = tanh(x); 8 bits through float32; 16 bits by lines between 256 values."""
    if x.dtype.kind == "f":
        return np.asarray(np.tanh(x.astype(np.float64)).astype(np.float32).astype(x.dtype))
    if x.dtype == np.int16:
        return _tanh_s16(x, input_of(node).quantization.scale)
    return by_real(node, x, np.tanh)


def _elu(x: Array) -> Array:
    return np.where(x < 0, np.expm1(np.minimum(x, 0)), x)


@reference(
    "ELU",
    rounding={
        "f32": "within 2 ULP",
        "s8": "table, through float32 (oracle: LiteRT's optimized kernel)",
    },
)
def elu(node: OpNode, x: Array) -> Array:
    """y = x, below 0 exp(x) - 1; 8 bits through float32."""
    if x.dtype.kind == "f":
        return np.asarray(_elu(x.astype(np.float64)).astype(x.dtype))
    return by_real(node, x, _elu)


def _hard_swish_multipliers(node: OpNode) -> tuple[tuple[int, int], tuple[int, int]]:
    """(mantissa of 16 bits, shift) from 128th parts of an input step to output steps, and to the gate's 3 / 32768."""
    fine = np.float32(1 / 128) * np.float32(input_of(node).quantization.scale)

    def short(real: float) -> tuple[int, int]:
        mantissa, shift = quantize_multiplier(real)
        return (32767 if mantissa >= (1 << 31) - 1 - (1 << 15) else (mantissa + (1 << 15)) >> 16), shift

    y_scale = np.float32(node.outputs[0].quantization.scale)
    return short(float(fine / y_scale)), short(float(fine / np.float32(3 / 32768)))


@reference(
    "HARD_SWISH",
    rounding={
        "f32": "`x * gate / 6`, each rounded",
        "s8 u8": "`(x - zp) * 128` by a multiplier of 16 bits, times a gate in Q0.15 (truncated), shifted (ties away from "
        "zero): a table",
    },
)
def hard_swish(node: OpNode, x: Array) -> Array:
    """y = x * min(max(x + 3, 0), 6) / 6; 8 bits in TFLite's fixed point of 16 bits."""
    if x.dtype.kind == "f":
        with np.errstate(all="ignore"):
            gate = np.fmin(np.fmax(x + np.float32(3), np.float32(0)), np.float32(6))
            return np.asarray(x * gate / np.float32(6))
    (mantissa, shift), (gate_mantissa, gate_shift) = _hard_swish_multipliers(node)
    fine = (x.astype(np.int64) - input_of(node).quantization.zero_point) * 128
    up = max(gate_shift, 0)
    gate = _s16(fine * (1 << min(up - 1, 30))) if up else fine
    gate = (gate * gate_mantissa + (1 << 14)) >> 15
    gate = _s16(gate * 2) if up else rounding_divide_by_pot(gate, -gate_shift).astype(np.int64)
    product = ((gate + (1 << 15)) >> 1) * ((fine * mantissa + (1 << 14)) >> 15)
    y = rounding_divide_by_pot(np.sign(product) * (np.abs(product) >> 15), -shift)
    info = np.iinfo(x.dtype)
    return np.asarray(np.clip(y + node.outputs[0].quantization.zero_point, info.min, info.max).astype(x.dtype))


def _s16(x: Array) -> Array:
    return np.clip(x, -32768, 32767)


@reference(
    "GELU",
    rounding={
        "f32": "by erf or tanh, as the option says; within 6 ULP of `x / 2`, and the negative tail within 4e-5 of itself",
        "f16": "through float32, rounded once",
        "s8 u8": "table, through float32",
        "s16": "512 lines over all of int16, computed in float32",
    },
)
def gelu(node: OpNode, x: Array) -> Array:
    """y = x / 2 * erfc(-x / sqrt(2)), or with 1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)); integers through float32."""
    function = _gelu_tanh if node.options["approximate"] else _gelu_erfc
    if x.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.asarray(function(x.astype(np.float32)).astype(x.dtype))
    return by_real(node, x, lambda real: function(real.astype(np.float32)))


def _gelu_tanh(x: Array) -> Array:
    """Computes in float32, except for tanh."""
    inner = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)
    return np.float32(0.5) * x * (np.float32(1) + np.tanh(inner.astype(np.float64)).astype(np.float32))


def _gelu_erfc(x: Array) -> Array:
    """Computes in float32, except for erfc."""
    argument = x * np.float32(-math.sqrt(0.5))
    erfc = np.array([math.erfc(value) for value in argument.reshape(-1)], np.float64).reshape(x.shape)
    return np.float32(0.5) * x * erfc.astype(np.float32)
