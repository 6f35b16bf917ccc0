"""STRIDED_SLICE: x[begin:end:stride, ..., newaxis, index], numpy's slicing, given as data. SLICE: takes a box.
REVERSE_V2: reverses axes."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


@reference("STRIDED_SLICE")
def strided_slice(node: OpNode, x: Array, begin: Array, end: Array, strides: Array) -> Array:
    """One key per entry, then numpy. As in LiteRT, an ellipsis covers at least one dimension, even if the last entries
    are lost; a shrunk index below the dimension becomes 0."""
    masks = {name: int(node.options[name]) for name in _MASKS}
    bits = [{name: bool(mask >> i & 1) for name, mask in masks.items()} for i in range(len(begin))]
    entries = sum(not (bit["ellipsis_mask"] or bit["new_axis_mask"]) for bit in bits)
    keys: list[slice | int | None] = []
    axis = 0
    for i, bit in enumerate(bits):
        if bit["ellipsis_mask"]:
            width = min(max(x.ndim - entries, 1), x.ndim - axis)
            keys += [slice(None)] * width
            axis += width
        elif bit["new_axis_mask"]:
            keys.append(None)
        elif axis < x.ndim:
            keys.append(_key(bit, x.shape[axis], int(begin[i]), int(end[i]), int(strides[i]), node.options["offset"]))
            axis += 1
    return np.array(x[tuple(keys)], order="C")


def _key(bit: dict[str, bool], size: int, begin: int, end: int, stride: int, offset: bool) -> slice | int:
    """The key of one entry: an index or a range; with `offset`, end counts from begin."""
    start = None if bit["begin_mask"] else begin
    if bit["shrink_axis_mask"]:
        return max(start or 0, -size)
    if offset and not bit["end_mask"]:
        first = slice(start, None, stride).indices(size)[0]
        taken = range(first, first + end, stride)
        if not taken:
            return slice(0)
        if not (0 <= taken[0] < size and 0 <= taken[-1] < size):
            message = f"indices {taken[0]} to {taken[-1]} lie outside a dimension of size {size}"
            raise IndexError(message)
        return slice(first, taken.stop if taken.stop >= 0 else None, stride)
    return slice(start, None if bit["end_mask"] else end, stride)


@reference("SLICE")
def slice_values(node: OpNode, x: Array, begin: Array, size: Array) -> Array:  # noqa: ARG001
    """Takes `size` indices from each dimension; -1: all remaining."""
    keys = []
    for dim, first, count in zip(x.shape, begin.tolist(), size.tolist(), strict=True):
        taken = dim - first if count == -1 else count
        if not 0 <= first <= first + taken <= dim:
            message = f"{taken} indices from {first} on lie outside a dimension of size {dim}"
            raise IndexError(message)
        keys.append(slice(first, first + taken))
    return np.array(x[tuple(keys)], order="C")


@reference("REVERSE_V2")
def reverse(node: OpNode, x: Array, axes: Array) -> Array:  # noqa: ARG001
    """numpy's flip."""
    return np.array(np.flip(x, tuple(axes.tolist())), order="C")
