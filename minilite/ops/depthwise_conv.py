"""DEPTHWISE_CONV_2D: filters of (1, height, width, outputs); output o sees input channel o // multiplier only."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.operator import Kernel, Operator, OpNode
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


def lower_depthwise_conv(node: OpNode) -> Kernel:
    """float32, int8 with scales per tensor or output, uint8 with one scale; int16 with int8 weights (in numpy)."""
    tensors = Weighted.of(node)
    params = {**window_params(node, STRIDES), **clamp_params(node)}
    if tensors.x.type == TensorType.FLOAT32:
        return Kernel("depthwise_conv_2d_f32", **params)
    return Kernel(f"depthwise_conv_2d_{QUANTIZED[tensors.x.type]}", **params, **integer_params(node, axis=3))


def reference_depthwise_conv(node: OpNode, x: Array, weights: Array, bias: Array | None = None) -> Array:
    """y[b, i, j, o] = clamp(bias[o] + sum over taps of x[..., o // multiplier] * w[..., o]), zero outside."""
    down, across = axes(node, x, *weights.shape[1:3])
    x, weights = centered(node, x, 0), centered(node, weights, 1)
    x = np.repeat(x, weights.shape[3] // x.shape[3], axis=3)
    sums = np.zeros((x.shape[0], down.out, across.out, weights.shape[3]))
    for i, j, seen in taps(x, down, across):
        sums += seen * weights[0, i, j]
    return finish(node, sums, bias, axis=3)


OPERATORS = (
    Operator("DEPTHWISE_CONV_2D", range(1, 8), lower=lower_depthwise_conv, reference=reference_depthwise_conv),
)
