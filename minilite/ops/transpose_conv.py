"""TRANSPOSE_CONV, Convolution2DTransposeBias: every input pixel is spread over the window of outputs that it stands
for."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import Operator, OpNode, Param
from minilite.ops_shared.options import CLAMP, Positive, none, same_padding
from minilite.ops_shared.weighted import convolved, finish
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
    x, weights, scale = convolved(node, x, weights, asymmetric=True)
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
    return finish(node, whole[:, top : top + height, left : left + width], scale, bias, weights_first=True)


def bias_options(data: bytes) -> Mapping[str, Any]:
    """The options of Convolution2DTransposeBias, a C struct: the padding, stride_w, stride_h. Raises: ValueError."""
    if len(data) < 12:
        message = f"custom options of {len(data)} bytes, expected 12 or more"
        raise ValueError(message)
    padding, stride_w, stride_h = struct.unpack_from("<3i", data)
    return {
        "padding": {1: "SAME", 2: "VALID"}.get(padding, str(padding)),
        "stride_w": stride_w,
        "stride_h": stride_h,
        "fused_activation_function": "NONE",
    }


def _cut(dimension: int, stride_option: str) -> Param:
    """How many outputs fewer than its windows cover a side has: as the file's shapes say; where they say nothing, SAME
    gives no window more than a stride. Raises: UnsupportedOpError."""

    def cut(node: OpNode) -> int:
        x, weights, y = node.inputs[0], node.inputs[1], node.outputs[0]
        assert x is not None
        assert weights is not None
        stride, same = Positive(stride_option)(node), same_padding(node)
        if not len(x.shape) == len(weights.shape) == len(y.shape) == 4:
            return max(0, int(weights.shape[dimension] - stride)) if same and len(weights.shape) == 4 else 0
        size, taps, made = x.shape[dimension], weights.shape[dimension], y.shape[dimension]
        found = (size - 1) * stride + taps - made if size else max(0, taps - stride) * same
        if not (taps - stride <= found < taps if same else -stride < found <= 0):
            padding = node.options["padding"]
            raise node.refuse(f"{padding} padding and stride {stride} give no side of {made} for one of {size}")
        return int(found)

    return cut


def reference_bias(node: OpNode, x: Array, weights: Array, bias: Array) -> Array:
    """TRANSPOSE_CONV whose output's shape follows from the input's."""
    strides, cuts = (
        (node.options["stride_h"], node.options["stride_w"]),
        (_PARAMS["cut_h"](node), _PARAMS["cut_w"](node)),
    )
    sides = [
        (size - 1) * stride + taps - cut if size else 0
        for size, taps, stride, cut in zip(x.shape[1:3], weights.shape[1:3], strides, cuts, strict=True)
    ]
    shape = np.array([x.shape[0], *sides, weights.shape[0]])
    as_builtin = node._replace(inputs=(None, node.inputs[1], node.inputs[0], node.inputs[2]))
    return reference_transpose_conv(as_builtin, shape, weights, x, bias)


_PARAMS: Mapping[str, Param] = {
    "same": same_padding,
    "stride_h": Positive("stride_h"),
    "stride_w": Positive("stride_w"),
    "cut_h": _cut(1, "stride_h"),
    "cut_w": _cut(2, "stride_w"),
    **CLAMP,
}
OPERATORS = (
    Operator(
        "TRANSPOSE_CONV",
        range(1, 6),
        takes="shape filter x bias? -> y",
        types=(
            "s32 f32|s8 f32 f32? -> f32",
            "s32 s8 s8 s32? -> s8",
            "s32 u8 u8 s32? -> u8",
            "s32 s8 s16 s64|s32? -> s16",
        ),
        params={**_PARAMS, "cut_h": none, "cut_w": none},
        reference=reference_transpose_conv,
        rule={
            "f32": "dot products within 8 eps of the sum of |x w|; with integer weights each batch quantized by itself",
            "s8": "as CONV_2D",
            "u8": "as CONV_2D",
            "s16": "as CONV_2D",
        },
    ),
    Operator(
        "Convolution2DTransposeBias",
        range(1, 2),
        takes="x filter bias -> y",
        types=("f32 f32 f32 -> f32",),
        params=_PARAMS,
        reference=reference_bias,
        kernel="transpose_conv_bias",
        custom=bias_options,
        rule={"": "as TRANSPOSE_CONV (oracle: XNNPACK, LiteRT itself has no kernel)"},
    ),
)
