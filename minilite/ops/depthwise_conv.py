"""DEPTHWISE_CONV_2D: filters of (1, height, width, outputs); output o reads only input channel o // multiplier."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared import weighted, window
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "DEPTHWISE_CONV_2D",
    rounding={
        "f32": "dot products within 8 eps of the sum of |x w|; with integer weights each batch quantized by itself",
        "s8": "int32 sums, double rounding by float64(scale_x * scale_w) / scale_y",
        "u8": "int32 sums, double rounding by float32(scale_x * scale_w) / scale_y",
        "s16": "int64 sums and a multiplier of 16 bits",
    },
)
def depthwise_conv(node: OpNode, x: Array, weights: Array, bias: Array | None = None) -> Array:
    """y[b, i, j, o] = clamp(bias[o] + sum over taps of x[..., o // multiplier] * w[..., o]), zero outside."""
    down, across = window.axes(node, x, *weights.shape[1:3])
    x, weights, scale = weighted.convolved(node, x, weights, asymmetric=True)
    x = np.repeat(x, weights.shape[3] // x.shape[3], axis=3)
    sums = np.zeros((x.shape[0], down.out, across.out, weights.shape[3]))
    for i, j, seen in window.taps(x, down, across):
        sums += seen * weights[0, i, j]
    return weighted.finish(node, sums, scale, bias)
