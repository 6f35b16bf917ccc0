"""AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D: over the part of each window that lies inside the input.

Quantized inputs and outputs are assumed to have the same scale and zero point, as in TFLite.
"""

from __future__ import annotations

import functools

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared import weighted, window
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "AVERAGE_POOL_2D",
    rounding={
        "f32": "one division of the sum",
        "s8 u8 s16": "the sum divided, ties away from zero",
    },
)
def average_pool(node: OpNode, x: Array) -> Array:
    """The mean; for integers, rounded to nearest, ties away from zero."""
    down, across = window.axes(node, x, node.options["filter_height"], node.options["filter_width"])
    inside = np.ones((1, *x.shape[1:3], 1), np.int32)
    counts = sum(seen for _, _, seen in window.taps(inside, down, across))
    if x.dtype.kind == "f":
        return weighted.clamp(
            node, sum(seen for _, _, seen in window.taps(x, down, across)) / np.asarray(counts, np.float32)
        )
    sums = np.asarray(sum(seen for _, _, seen in window.taps(x.astype(np.int64), down, across)))
    return weighted.clamp(node, np.sign(sums) * ((np.abs(sums) + counts // 2) // counts))


@reference(
    "MAX_POOL_2D",
    rounding={
        "": "exact; NaN is skipped",
    },
)
def max_pool(node: OpNode, x: Array) -> Array:
    """The maximum, at least the lowest number of the type; NaN is skipped, as in TFLite."""
    down, across = window.axes(node, x, node.options["filter_height"], node.options["filter_width"])
    lowest = np.finfo(x.dtype).min if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    seen = (part for _, _, part in window.taps(x, down, across, outside=float(lowest)))
    y: Array = functools.reduce(np.fmax, seen, np.asarray(lowest, x.dtype))
    return weighted.clamp(node, y)


@reference(
    "L2_POOL_2D",
    rounding={
        "": "float32 sums of squares, one division, square root",
    },
)
def l2_pool(node: OpNode, x: Array) -> Array:
    """The root of the mean of squares."""
    down, across = window.axes(node, x, node.options["filter_height"], node.options["filter_width"])
    counts = sum(seen for _, _, seen in window.taps(np.ones((1, *x.shape[1:3], 1), np.float32), down, across))
    squares = sum(seen for _, _, seen in window.taps(np.square(x), down, across))
    return weighted.clamp(node, np.sqrt(squares / np.asarray(counts)))
