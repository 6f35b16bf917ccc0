"""CONV_2D: filters of (outputs, height, width, depth); a depth that divides the input's makes a grouped convolution."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared import weighted, window
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "CONV_2D",
    rounding={
        "f32": (
            "dot products within 8 eps of the sum of |x w|; with integer weights each batch quantized by "
            "itself, symmetrically where the weights' scales are all equal"
        ),
        "s8": "int32 sums, double rounding by float64(scale_x * scale_w) / scale_y",
        "u8": "int32 sums, double rounding by float32(scale_x * scale_w) / scale_y",
        "s16": "int64 sums and a multiplier of 16 bits; with an int32 bias as s8",
    },
)
def conv(node: OpNode, x: Array, weights: Array, bias: Array | None = None) -> Array:
    """y[b, i, j, o] = clamp(bias[o] + sum over taps and channels of x * w), zero outside; sums in float64."""
    down, across = window.axes(node, x, *weights.shape[1:3])
    x, weights, scale = weighted.convolved(node, x, weights, asymmetric=weighted.scales_differ(node))
    groups, outputs = x.shape[3] // weights.shape[3], weights.shape[0]
    sums = np.zeros((x.shape[0], down.out, across.out, outputs))
    inputs_of, outputs_of = weights.shape[3], outputs // groups
    for i, j, seen in window.taps(x, down, across):
        for g in range(groups):
            columns = slice(g * outputs_of, (g + 1) * outputs_of)
            sums[..., columns] += seen[..., g * inputs_of : (g + 1) * inputs_of] @ weights[columns, i, j].T
    return weighted.finish(node, sums, scale, bias, weights_first=weighted.scales_differ(node))
