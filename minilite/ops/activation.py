"""RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1, LEAKY_RELU, LOGISTIC: elementwise activations."""

from __future__ import annotations

import functools
import math

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.checks import check_output, quantized, quantized_or_bare
from minilite.ops_shared.fixed_point import dequantize, input_of, quantize, quantized_clamp, rescale, scale_ratio
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each

_LIMITS = {
    "RELU": (0.0, math.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}


def reference_relu(node: OpNode, x: Array) -> Array:
    """y = min(max(x, minimum), maximum); quantized types requantize (double rounding) and clamp in the output's scale."""
    low, high = _LIMITS[node.op]
    if x.dtype == np.float32:
        return np.asarray(np.clip(x, np.float32(low), np.float32(high)))
    return rescale(node, x, scale_ratio(node), quantized_clamp(node.outputs[0], low, high))


def reference_leaky_relu(node: OpNode, x: Array) -> Array:
    """y = x where x > 0, else alpha * x; quantized: a multiplier for either, with double rounding."""
    alpha = node.options["alpha"]
    if x.dtype == np.float32:
        return np.where(x > 0, x, np.float32(alpha) * x)
    above, below = (rescale(node, x, scale_ratio(node, factor)) for factor in (1.0, alpha))
    return np.where(x >= input_of(node).quantization.zero_point, above, below)


def _check_logistic(node: OpNode) -> None:
    quantized(node)
    x, y = input_of(node), node.outputs[0]
    if y.type == TensorType.INT16:
        check_output(node, 1 / 32768, 0)
        if x.quantization.zero_point:
            raise node.refuse(f"input zero point {x.quantization.zero_point} must be 0")
    elif y.type in (TensorType.INT8, TensorType.UINT8):
        check_output(node, 1 / 256, -128 if y.type == TensorType.INT8 else 0)


def reference_logistic(node: OpNode, x: Array) -> Array:
    """y = 1 / (1 + exp(-x)); 8 bits through float32; 16 bits by lines between 256 values."""
    if x.dtype.kind == "f":
        return np.asarray((1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32).astype(x.dtype))
    if x.dtype == np.int16:
        return _logistic_s16(x, input_of(node).quantization.scale)
    real = dequantize(x, input_of(node)).astype(np.float64)
    return quantize(1 / (1 + np.exp(-real).astype(np.float32)), node.outputs[0])


def _logistic_s16(x: Array, scale: float) -> Array:
    """TFLite's 16-bit Logistic: |x| in steps of 1 / (3 * 4096), lines between 256 values of 65536 * sigmoid, 512 steps
    apart; each is raised by half of what the line to the next one lacks in its middle."""
    multiplier, shift = scale * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        multiplier, shift = multiplier * 2.0, shift + 1
    here, middle, after = (65536 / (1 + np.exp(-(np.arange(256) + step) / 24)) for step in (0, 0.5, 1))
    table = np.floor(here + (middle - (here + after) / 2) / 2 + 0.5).astype(np.int64)
    scaled = (x.astype(np.int64) * int(min(multiplier, 32767)) + ((1 << shift) >> 1)) >> shift
    size = np.abs(scaled)
    at = np.minimum(size >> 9, 254)
    y = np.where(size < 255 << 9, (table[at] << 9) + (size & 511) * (table[at + 1] - table[at]), 0x7FFF << 10)
    return np.asarray((np.where(scaled >= 0, y + 512, (1 << 25) - y + 511) >> 10).astype(np.int16))


_unary = functools.partial(Operator, in_place=(0,), takes="x -> y")
_piecewise = functools.partial(_unary, types=each("T -> T", "f32 s8 u8 s16"), check=quantized_or_bare)
_relu = functools.partial(
    _piecewise,
    reference=reference_relu,
    params={"minimum": lambda node: _LIMITS[node.op][0], "maximum": lambda node: _LIMITS[node.op][1]},
    kernel="relu",
    rule={
        "f32": "exact; NaN stays",
        "s8 u8 s16": "`x - zp_x`, double rounding by `scale_x / scale_y` (float32), quantized clamp; 8 bits: a table",
    },
)
_LEAKY = {"s8 u8 s16": "as RELU, but below the zero point by `scale_x * alpha / scale_y`; 8 bits: a table"}
OPERATORS = (
    _relu("RELU", range(1, 4)),
    _relu("RELU6", range(1, 4)),
    _relu("RELU_N1_TO_1", range(1, 2)),
    _relu("RELU_0_TO_1", range(1, 2)),
    _piecewise("LEAKY_RELU", range(1, 3), reference=reference_leaky_relu, params={"alpha": "alpha"}, rule=_LEAKY),
    _unary(
        "LOGISTIC",
        range(1, 4),
        reference=reference_logistic,
        types=each("T -> T", "f32 f16 s8 u8 s16"),
        check=_check_logistic,
        rule={
            "f32": "within 4 ULP of float64; LiteRT's reference is off by up to 2e-8 for x < -9 (it takes exp(x))",
            "f16": "as f32, rounded once",
            "s8 u8": "table: `half away(sigmoid(scale (x - zp)) / scale_y) + zp_y` through float32; output scale 1/256",
            "s16": "256 values of `65536 sigmoid(i / 24)` and lines between them; output scale 1/32768",
        },
    ),
)
