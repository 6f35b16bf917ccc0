"""FULLY_CONNECTED: the input as rows of `depth` values, times weights of (outputs, depth)."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.model import Array
from minilite.ops.fixed_point import round_half_away
from minilite.ops.operator import Kernel, Operator, OpNode
from minilite.ops.window import Weighted, activation_code, centered, clamp, clamp_params, real_multipliers


def lower_fully_connected(node: OpNode) -> Kernel:
    """float32, int8 with scales per tensor or output, uint8 with one scale; weights may be computed."""
    Weighted.of(node)
    layout = node.options["weights_format"]
    if layout != "DEFAULT":
        raise node.refuse(f"weights format {layout} is not supported, only DEFAULT is")
    return Kernel(
        "fully_connected",
        keep_dims=int(node.options["keep_num_dims"]),
        asymmetric=int(node.options["asymmetric_quantize_inputs"]),
        activation=activation_code(node),
    )


def reference_fully_connected(node: OpNode, x: Array, weights: Array, bias: Array | None = None) -> Array:
    """y = clamp(bias + x @ weights.T); integers are requantized by one rounding of a float64 product. Weights without depth
    give zeros, whatever the bias, as in TFLite."""
    outputs, depth = weights.shape
    rows = x.size // depth if depth else math.prod(x.shape[:-1])
    shape = (*x.shape[:-1], outputs) if node.options["keep_num_dims"] else (rows, outputs)
    if depth == 0:
        return np.zeros(shape, x.dtype)
    sums = centered(node, x, 0).reshape(rows, depth) @ centered(node, weights, 1).T
    if bias is not None:
        sums = sums + bias
    if x.dtype.kind == "f":
        return clamp(node, sums).reshape(shape)
    limits, zero = clamp_params(node), node.outputs[0].quantization.zero_point
    scaled: Array = round_half_away(sums * real_multipliers(node, axis=0)) + zero
    limited: Array = np.clip(scaled, limits["minimum"], limits["maximum"]).astype(x.dtype)
    return limited.reshape(shape)


OPERATORS = (
    Operator("FULLY_CONNECTED", range(1, 15), lower=lower_fully_connected, reference=reference_fully_connected),
)
