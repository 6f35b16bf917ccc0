"""FULLY_CONNECTED: the input as rows of `depth` values, times weights of (outputs, depth)."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.fixed_point import round_half_away
from minilite.ops_shared.operator import Kernel, Operator, OpNode
from minilite.ops_shared.packing import pack_panels
from minilite.ops_shared.window import (
    QUANTIZED,
    Weighted,
    centered,
    clamp,
    clamp_params,
    offset_params,
    real_multipliers,
)


def lower_fully_connected(node: OpNode) -> Kernel:
    """float32, int8 with scales per tensor or output, uint8 with one scale; weights may be computed."""
    tensors = Weighted.of(node)
    layout = node.options["weights_format"]
    if layout != "DEFAULT":
        raise node.refuse(f"weights format {layout} is not supported, only DEFAULT is")
    params = {"keep_dims": int(node.options["keep_num_dims"]), **clamp_params(node)}
    weights = tensors.weights.data
    if tensors.x.type != TensorType.FLOAT32:
        reals = np.ascontiguousarray(real_multipliers(node, axis=0))
        kernel = f"fully_connected_{QUANTIZED[tensors.x.type]}"
        return Kernel(kernel, **params, **offset_params(node), multipliers=reals)
    panels = np.empty(0, np.float32)
    if weights is not None and weights.ndim == 2:
        panels = pack_panels(weights[np.newaxis])
    return Kernel("fully_connected_f32", **params, panels=panels)


def reference_fully_connected(node: OpNode, x: Array, weights: Array, bias: Array | None = None) -> Array:
    """y = clamp(bias + x @ weights.T); integers are requantized by one rounding of a float64 product."""
    rows = centered(node, x, 0).reshape(-1, weights.shape[1])
    sums = rows @ centered(node, weights, 1).T
    if bias is not None:
        sums = sums + bias
    shape = (*x.shape[:-1], weights.shape[0]) if node.options["keep_num_dims"] else sums.shape
    if x.dtype.kind == "f":
        return clamp(node, sums).reshape(shape)
    limits, zero = clamp_params(node), node.outputs[0].quantization.zero_point
    scaled: Array = round_half_away(sums * real_multipliers(node, axis=0)) + zero
    limited: Array = np.clip(scaled, limits["minimum"], limits["maximum"]).astype(x.dtype)
    return limited.reshape(shape)


OPERATORS = (
    Operator("FULLY_CONNECTED", range(1, 15), lower=lower_fully_connected, reference=reference_fully_connected),
)
