"""Windows that slide over (batch, height, width, channels), for convolution and pooling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode


class Axis(NamedTuple):
    """One axis of a sliding window, like ml_window_axis in csrc/rules/window.h."""

    size: int
    out: int
    taps: int
    stride: int
    dilation: int
    before: int

    @classmethod
    def of(cls, size: int, taps: int, stride: int, dilation: int, same: bool) -> Axis:
        """TFLite's rule: SAME gives ceil(size / stride) windows, half of the padding first; VALID only whole ones."""
        extent = (taps - 1) * dilation + 1
        if not same:
            return cls(size, max(0, (size + stride - extent) // stride), taps, stride, dilation, 0)
        out = -(-size // stride)
        return cls(size, out, taps, stride, dilation, max(0, (out - 1) * stride + extent - size) // 2)

    def seen(self, tap: int) -> slice:
        """The elements that one tap of all windows reads, in an input with padding."""
        start = tap * self.dilation
        return slice(start, start + self.out * self.stride, self.stride)


def following(size: int, n: int, taps: int, stride: int, dilation: int, same: bool) -> int:
    """A side of a transposed convolution's output for n elements of input, where the shape operand says `size`: the
    operand fits the input, or is constant, and fitted the input in the file."""
    return max(0, size + stride * (n - Axis.of(size, taps, stride, dilation, same).out))


def axes(node: OpNode, x: Array, height: int, width: int) -> tuple[Axis, Axis]:
    """The vertical and the horizontal axis of a node's windows over x."""
    options, same = node.options, node.options["padding"] == "SAME"
    return (
        Axis.of(x.shape[1], height, options["stride_h"], options.get("dilation_h_factor", 1), same),
        Axis.of(x.shape[2], width, options["stride_w"], options.get("dilation_w_factor", 1), same),
    )


def taps(x: Array, down: Axis, across: Axis, outside: float = 0.0) -> Iterator[tuple[int, int, Array]]:
    """(row, column, the elements that this tap of all windows reads): views on x, padded with `outside`."""
    after = [a.out * a.stride + (a.taps - 1) * a.dilation - a.before - a.size for a in (down, across)]
    padding = [(a.before, max(0, more)) for a, more in zip((down, across), after, strict=True)]
    padded = np.pad(x, [(0, 0), *padding, (0, 0)], constant_values=outside)
    for i in range(down.taps):
        for j in range(across.taps):
            yield i, j, padded[:, down.seen(i), across.seen(j)]
