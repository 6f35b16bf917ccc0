"""TRANSPOSE_CONV: every input pixel is spread over the window of outputs that it stands for."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.options import CLAMP, positive, same_padding
from minilite.ops_shared.weighted import centered, dense, requantize
from minilite.ops_shared.window import Axis


def _as_weighted(node: OpNode) -> OpNode:
    """The node with input, weights and bias in the order of other operators that have them."""
    return node._replace(inputs=(node.inputs[2], node.inputs[1], node.input(3)))


def reference_transpose_conv(node: OpNode, shape: Array, weights: Array, x: Array, bias: Array | None = None) -> Array:
    """y[b, i * stride + tap - before, o] += x[b, i] . w[o, tap], sums in float64."""
    node = _as_weighted(node)
    options, same = node.options, node.options["padding"] == "SAME"
    batches, height, width, outputs = (int(d) for d in shape)
    steps = options["stride_h"], options["stride_w"]
    x, weights = centered(node, x, 0), centered(node, weights, 1)
    taps = weights.shape[1:3]
    sides = [Axis.of(size, t, s, 1, same) for size, t, s in zip((height, width), taps, steps, strict=True)]
    spread = [
        max((n - 1) * s + t, a.before + a.size) for n, s, t, a in zip(x.shape[1:3], steps, taps, sides, strict=True)
    ]
    whole = np.zeros((batches, *spread, outputs))
    for i in range(taps[0]):
        for j in range(taps[1]):
            rows = slice(i, i + (x.shape[1] - 1) * steps[0] + 1, steps[0])
            columns = slice(j, j + (x.shape[2] - 1) * steps[1] + 1, steps[1])
            whole[:, rows, columns] += x @ weights[:, i, j].T
    top, left = sides[0].before, sides[1].before
    return requantize(node, whole[:, top : top + height, left : left + width], bias)


OPERATORS = (
    Operator(
        "TRANSPOSE_CONV",
        range(1, 6),
        takes="shape filter x bias? -> y",
        types=(
            "s32 f32 f32 f32? -> f32",
            "s32 s8 s8 s32? -> s8",
            "s32 u8 u8 s32? -> u8",
            "s32 s8 s16 s64? -> s16",
        ),
        params={"same": same_padding, "stride_h": positive("stride_h"), "stride_w": positive("stride_w"), **CLAMP},
        check=dense,
        hangs_on="kind",
        reference=reference_transpose_conv,
        rule={
            "f32": "dot products within 8 eps of the sum of |x w|",
            "s8": "as CONV_2D",
            "u8": "as CONV_2D",
            "s16": "as CONV_2D",
        },
    ),
)
