"""FULLY_CONNECTED: the input as rows of `depth` values, times weights of (outputs, depth)."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared import fixed_point, weighted
from minilite.ops_shared.blockwise import block_size, scale_of_elements
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "FULLY_CONNECTED",
    rounding={
        "f32": (
            "dot products within 8 eps of the sum of |x w|; with integer weights each row quantized by itself; "
            "weights in blocks as floats (no oracle: XNNPACK quantizes rows)"
        ),
        "s8 u8 s16": (
            "weights of s16: int64 sums and a multiplier of 16 bits; else round(sum * (float64(scale_x) * "
            "scale_w / scale_y)), ties away from zero"
        ),
    },
)
def fully_connected(node: OpNode, x: Array, weights: Array, bias: Array | None = None) -> Array:
    """y = clamp(bias + x @ weights.T); integers are requantized by one rounding of a float64 product; with int16
    weights, by a multiplier of 16 bits.

    Weights without depth give zeros, whatever the bias, as in TFLite."""
    outputs, depth = weights.shape
    rows = x.size // depth if depth else math.prod(x.shape[:-1])
    shape = (*x.shape[:-1], outputs) if node.options["keep_num_dims"] else (rows, outputs)
    if depth == 0:
        return np.zeros(shape, x.dtype)
    if block_size(node):
        weights = weighted.as_s8(weights).astype(np.float64) * scale_of_elements(node, weights.shape)
    elif weighted.is_hybrid(node):
        return weighted.clamp(node, weighted.hybrid_product(node, x.reshape(rows, depth), weights, bias)).reshape(shape)
    sums = weighted.centered(node, x, 0).reshape(rows, depth) @ weighted.centered(node, weights, 1).T
    if x.dtype.kind == "f":
        return weighted.clamp(node, sums if bias is None else sums + bias).reshape(shape)
    if weights.dtype == np.int16:
        whole = fixed_point.quantize_multipliers(weighted.real_multipliers(node, outputs))
        scaled = fixed_point.multiply_by_quantized_multiplier_s64(weighted.add_bias(sums, bias), *whole).astype(
            np.float64
        )
    else:
        scaled = fixed_point.round_half_away(weighted.add_bias(sums, bias) * weighted.real_multipliers(node, outputs))
    return weighted.clamp(node, scaled + node.outputs[0].quantization.zero_point).reshape(shape)
