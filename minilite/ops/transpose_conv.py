"""TRANSPOSE_CONV, Convolution2DTransposeBias: every input pixel is added to its window of outputs."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.tensors import input_of
from minilite.ops_shared.weighted import convolved, finish
from minilite.ops_shared.window import Axis, following


def _as_weighted(node: OpNode) -> OpNode:
    """The node with input, weights and bias in the order of other operators."""
    return node._replace(inputs=(node.inputs[2], node.inputs[1], node.input(3)))


@reference(
    "TRANSPOSE_CONV",
    rounding={
        "f32": "dot products within 8 eps of the sum of |x w|; with integer weights each batch quantized by itself",
        "s8": "as CONV_2D",
        "u8": "as CONV_2D",
        "s16": "as CONV_2D",
    },
)
def transpose_conv(node: OpNode, shape: Array, weights: Array, x: Array, bias: Array | None = None) -> Array:
    """y[b, i * stride + tap - before, o] += x[b, i] . w[o, tap], sums in float64. The shape fits the input, but for a
    constant one of an input that was resized: its sides grow by a stride for each element more."""
    node = _as_weighted(node)
    options, same = node.options, node.options["padding"] == "SAME"
    steps = options["stride_h"], options["stride_w"]
    x, weights, scale = convolved(node, x, weights, asymmetric=True)
    taps = weights.shape[1:3]
    sizes = [
        following(int(size), n, t, s, 1, same)
        for size, n, t, s in zip(shape[1:3], x.shape[1:3], taps, steps, strict=True)
    ]
    sides = [Axis.of(size, t, s, 1, same) for size, t, s in zip(sizes, taps, steps, strict=True)]
    spread = [
        max((n - 1) * s + t, a.before + a.size, 0) for n, s, t, a in zip(x.shape[1:3], steps, taps, sides, strict=True)
    ]
    whole = np.zeros((x.shape[0], *spread, weights.shape[0]))
    for i in range(taps[0]):
        for j in range(taps[1]):
            rows = slice(i, i + x.shape[1] * steps[0], steps[0])
            columns = slice(j, j + x.shape[2] * steps[1], steps[1])
            whole[:, rows, columns] += x @ weights[:, i, j].T
    top, left = sides[0].before, sides[1].before
    seen = whole[:, top : top + sizes[0], left : left + sizes[1]]
    return finish(node, seen, scale, bias, weights_first=True)


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


def _cut(node: OpNode, dimension: int, stride: int) -> int:
    """Returns the elements by which a side of the output is smaller than its windows cover, from the shapes in the
    file; without them, SAME gives each window one stride."""
    x, weights, y = input_of(node, 0), input_of(node, 1), node.outputs[0]
    same = node.options["padding"] == "SAME"
    if not len(x.shape) == len(weights.shape) == len(y.shape) == 4:
        return max(0, int(weights.shape[dimension] - stride)) if same and len(weights.shape) == 4 else 0
    size, taps, made = x.shape[dimension], weights.shape[dimension], y.shape[dimension]
    return int((size - 1) * stride + taps - made if size else max(0, taps - stride) * same)


@reference(
    "Convolution2DTransposeBias",
    rounding={
        "": "as TRANSPOSE_CONV (oracle: XNNPACK, LiteRT itself has no kernel)",
    },
    options=bias_options,
)
def bias(node: OpNode, x: Array, weights: Array, bias: Array) -> Array:
    """TRANSPOSE_CONV whose output's shape follows from the input's."""
    strides = (node.options["stride_h"], node.options["stride_w"])
    cuts = (_cut(node, 1, strides[0]), _cut(node, 2, strides[1]))
    sides = [
        (size - 1) * stride + taps - cut if size else 0
        for size, taps, stride, cut in zip(x.shape[1:3], weights.shape[1:3], strides, cuts, strict=True)
    ]
    shape = np.array([x.shape[0], *sides, weights.shape[0]])
    as_builtin = node._replace(inputs=(None, node.inputs[1], node.inputs[0], node.inputs[2]))
    result: Array = transpose_conv(as_builtin, shape, weights, x, bias)
    return result
