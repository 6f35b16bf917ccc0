"""SPLIT, SPLIT_V: a tensor cut along a dimension. UNPACK: into its indices."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.moving import WHOLE_BYTES, check_same_scale
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def check_count(node: OpNode) -> None:
    """The number of outputs said twice."""
    option = "num" if node.op == "UNPACK" else "num_splits"
    if node.options[option] != len(node.outputs):
        raise node.refuse(f"{option} is {node.options[option]}, the node has {len(node.outputs)} outputs")


def check_unpack(node: OpNode) -> None:
    """Scale and zero point stay as they are."""
    check_count(node)
    if node.inputs[0] is not None:
        check_same_scale(node, node.inputs[0], "the input")


def reference_split(node: OpNode, axis: Array, x: Array) -> tuple[Array, ...]:
    """numpy's split, into parts of one size."""
    return tuple(np.ascontiguousarray(part) for part in np.split(x, len(node.outputs), int(axis.reshape(()))))


def reference_split_v(node: OpNode, x: Array, sizes: Array, axis: Array) -> tuple[Array, ...]:  # noqa: ARG001
    """numpy's split at the sums of the sizes; -1 stands for what the others leave."""
    dim = int(axis.reshape(()))
    left = x.shape[dim] - int(sizes[sizes >= 0].sum())
    ends = np.cumsum(np.where(sizes < 0, left, sizes))
    return tuple(np.ascontiguousarray(part) for part in np.split(x, ends[:-1], dim))


def reference_unpack(node: OpNode, x: Array) -> tuple[Array, ...]:
    """An array for each index of the axis."""
    return tuple(np.array(part, order="C") for part in np.moveaxis(x, node.options["axis"], 0))


OPERATORS = (
    Operator(
        "SPLIT",
        range(1, 6),
        takes="axis x -> parts...",
        types=each("s32 T -> T...", WHOLE_BYTES),
        check=check_count,
        reference=reference_split,
    ),
    Operator(
        "SPLIT_V",
        range(1, 4),
        takes="x sizes axis -> parts...",
        types=each("T s32|s64 s32 -> T...", WHOLE_BYTES),
        check=check_count,
        reference=reference_split_v,
    ),
    Operator(
        "UNPACK",
        range(1, 7),
        takes="x -> parts...",
        types=each("T -> T...", WHOLE_BYTES),
        params={"axis": "axis"},
        check=check_unpack,
        reference=reference_unpack,
    ),
)
