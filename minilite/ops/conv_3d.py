"""CONV_3D, CONV_3D_TRANSPOSE: convolution over depth, height and width, and its transpose."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.weighted import clamp
from minilite.ops_shared.window import Axis, following


def _axes(node: OpNode, sides: Sequence[int], taps: Sequence[int]) -> list[Axis]:
    """The axes of windows over depth, height and width."""
    options, same = node.options, node.options["padding"] == "SAME"
    return [
        Axis.of(side, count, options[f"stride_{name}"], options[f"dilation_{name}_factor"], same)
        for side, count, name in zip(sides, taps, "dhw", strict=True)
    ]


def _padded(axes: Sequence[Axis]) -> list[int]:
    """The sizes of the padded input that covers all windows."""
    return [max(a.before + a.size, a.out * a.stride + (a.taps - 1) * a.dilation) for a in axes]


def _taps(axes: Sequence[Axis]) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Each tap, with its positions in all windows."""
    for tap in itertools.product(*(range(a.taps) for a in axes)):
        yield tap, tuple(a.seen(t) for a, t in zip(axes, tap, strict=True))


@reference(
    "CONV_3D",
    rounding={
        "": "dot products within 8 eps of the sum of |x w|",
    },
)
def conv(node: OpNode, x: Array, weights: Array, bias: Array | None = None) -> Array:
    """Zero outside; sums in float64."""
    axes = _axes(node, x.shape[1:4], weights.shape[:3])
    padded = np.zeros((x.shape[0], *_padded(axes), x.shape[4]))
    padded[(slice(None), *(slice(a.before, a.before + a.size) for a in axes))] = x
    sums = np.zeros((x.shape[0], *(a.out for a in axes), weights.shape[4]))
    for tap, seen in _taps(axes):
        sums += padded[(slice(None), *seen)] @ weights[tap].astype(np.float64)
    return clamp(node, sums if bias is None else sums + bias)


@reference(
    "CONV_3D_TRANSPOSE",
    rounding={
        "": "dot products within 8 eps of the sum of |x w|",
    },
)
def transpose(node: OpNode, shape: Array, weights: Array, x: Array, bias: Array | None = None) -> Array:
    """Each voxel, times the weights, is added to its window of outputs; sums in float64. The shape is as for
    TRANSPOSE_CONV."""
    stated = _axes(node, [int(dim) for dim in shape[1:4]], weights.shape[:3])
    same = node.options["padding"] == "SAME"
    sides = [
        following(a.size, n, a.taps, a.stride, a.dilation, same) for a, n in zip(stated, x.shape[1:4], strict=True)
    ]
    axes = _axes(node, sides, weights.shape[:3])
    padded = np.zeros((x.shape[0], *_padded(axes), weights.shape[3]))
    for tap, seen in _taps(axes):
        padded[(slice(None), *seen)] += x @ weights[tap].astype(np.float64).T
    sums = padded[(slice(None), *(slice(a.before, a.before + a.size) for a in axes))]
    return clamp(node, sums if bias is None else sums + bias)
