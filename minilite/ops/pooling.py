"""AVERAGE_POOL_2D, MAX_POOL_2D: over the part of each window that lies inside the input."""

from __future__ import annotations

import functools

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.operator import Kernel, Operator, OpNode
from minilite.ops_shared.window import QUANTIZED, axes, clamp, clamp_params, taps, window_params

_SIZES = {"stride_h": "stride_h", "stride_w": "stride_w", "filter_h": "filter_height", "filter_w": "filter_width"}


def lower_pool(node: OpNode) -> Kernel:
    """float32, int8, uint8, int16; input and output are taken to have the same scale and zero point, as in TFLite."""
    kinds = {TensorType.FLOAT32: "f32", **QUANTIZED}
    x = node.input(0)
    if x is None or not node.outputs:
        raise node.refuse("needs an input and an output")
    if x.type not in kinds or node.outputs[0].type != x.type:
        raise node.refuse(f"types of input and output {x.type.name}, {node.outputs[0].type.name} are not supported")
    params = {**window_params(node, _SIZES), **clamp_params(node)}
    return Kernel(f"{node.op.lower()}_{kinds[x.type]}", **params)


def reference_average_pool(node: OpNode, x: Array) -> Array:
    """The mean; of integers, the nearest integer, ties away from zero."""
    down, across = axes(node, x, node.options["filter_height"], node.options["filter_width"])
    inside = np.ones((1, *x.shape[1:3], 1), np.int32)
    counts = sum(seen for _, _, seen in taps(inside, down, across))
    if x.dtype.kind == "f":
        return clamp(node, sum(seen for _, _, seen in taps(x, down, across)) / np.asarray(counts, np.float32))
    sums = np.asarray(sum(seen for _, _, seen in taps(x.astype(np.int64), down, across)))
    return _clamp_integers(node, np.sign(sums) * ((np.abs(sums) + counts // 2) // counts), x)


def reference_max_pool(node: OpNode, x: Array) -> Array:
    """The maximum."""
    down, across = axes(node, x, node.options["filter_height"], node.options["filter_width"])
    lowest = float(np.finfo(x.dtype).min) if x.dtype.kind == "f" else int(np.iinfo(x.dtype).min)
    y = functools.reduce(np.maximum, (seen for _, _, seen in taps(x, down, across, outside=lowest)))
    return clamp(node, y) if x.dtype.kind == "f" else _clamp_integers(node, y, x)


def _clamp_integers(node: OpNode, y: Array, x: Array) -> Array:
    limits = clamp_params(node)
    limited: Array = np.clip(y, limits["minimum"], limits["maximum"]).astype(x.dtype)
    return limited


OPERATORS = (
    Operator("AVERAGE_POOL_2D", range(1, 4), lower=lower_pool, reference=reference_average_pool),
    Operator("MAX_POOL_2D", range(1, 4), lower=lower_pool, reference=reference_max_pool),
)
