"""CONV_2D: filters of (outputs, height, width, depth); a depth that divides the input's makes a grouped convolution."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops.operator import Kernel, Operator, OpNode
from minilite.ops.window import (
    STRIDES,
    Weighted,
    activation_code,
    axes,
    centered,
    finish,
    taps,
    window_params,
)


def lower_conv(node: OpNode) -> Kernel:
    """float32, int8 with scales per tensor or output, uint8 with one scale; int16 with int8 weights (in numpy)."""
    Weighted.of(node)
    return Kernel("conv_2d", **window_params(node, STRIDES), activation=activation_code(node))


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
