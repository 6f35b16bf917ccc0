"""CONV_2D: filters of (outputs, height, width, depth); a depth that divides the input's makes a grouped convolution."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.operator import Kernel, Operator, OpNode
from minilite.ops_shared.packing import pack_panels, pad_rows
from minilite.ops_shared.window import (
    QUANTIZED,
    STRIDES,
    Weighted,
    axes,
    centered,
    clamp_params,
    finish,
    integer_params,
    taps,
    window_params,
)


def lower_conv(node: OpNode) -> Kernel:
    """float32, int8 with scales per tensor or output, uint8 with one scale; int16 with int8 weights (in numpy)."""
    tensors = Weighted.of(node)
    params = {**window_params(node, STRIDES), **clamp_params(node)}
    if tensors.x.type != TensorType.FLOAT32:
        padded = pad_rows(tensors.weights.data) if tensors.weights.data is not None else None
        return Kernel(f"conv_2d_{QUANTIZED[tensors.x.type]}", **params, **integer_params(node, axis=0), padded=padded)
    weights, groups = tensors.weights.data, 0
    panels = np.empty(0, np.float32)
    if weights is not None and weights.ndim == 4 and weights.size and len(tensors.x.shape) == 4:
        groups = tensors.x.shape[3] // weights.shape[3]
        if groups and weights.shape[0] % groups == 0:
            panels = pack_panels(weights.reshape(groups, weights.shape[0] // groups, -1))
    return Kernel("conv_2d_f32", **params, groups=groups, panels=panels)


def reference_conv(node: OpNode, x: Array, weights: Array, bias: Array | None = None) -> Array:
    """y[b, i, j, o] = clamp(bias[o] + sum over taps and channels of x * w), zero outside; sums in float64."""
    down, across = axes(node, x, *weights.shape[1:3])
    x, weights = centered(node, x, 0), centered(node, weights, 1)
    groups, outputs = x.shape[3] // weights.shape[3], weights.shape[0]
    sums = np.zeros((x.shape[0], down.out, across.out, outputs))
    inputs_of, outputs_of = weights.shape[3], outputs // groups
    for i, j, seen in taps(x, down, across):
        for g in range(groups):
            columns = slice(g * outputs_of, (g + 1) * outputs_of)
            sums[..., columns] += seen[..., g * inputs_of : (g + 1) * inputs_of] @ weights[columns, i, j].T
    return finish(node, sums, bias, axis=0)


OPERATORS = (Operator("CONV_2D", range(1, 9), lower=lower_conv, reference=reference_conv),)
