"""FILL, ZEROS_LIKE: one value everywhere. RANGE: numbers a step apart."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.moving import WHOLE_BYTES, check_same_scale
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def check_fill(node: OpNode) -> None:
    """The value has the output's scale and zero point."""
    value = node.input(1)
    if value is not None:
        check_same_scale(node, value, "the value")


def reference_fill(node: OpNode, dims: Array, value: Array) -> Array:  # noqa: ARG001
    """numpy's full."""
    return np.full(tuple(dims.tolist()), value.reshape(()), value.dtype)


def reference_zeros_like(node: OpNode, x: Array) -> Array:  # noqa: ARG001
    """numpy's zeros_like."""
    return np.zeros_like(x)


def reference_range(node: OpNode, start: Array, limit: Array, delta: Array) -> Array:  # noqa: ARG001
    """Sums, one step after the other, each rounded to the type."""
    first, end, step = (value.reshape(()) for value in (start, limit, delta))
    if step == 0 or (end - first) * step < 0:
        message = f"no steps of {step} lead from {first} to {end}"
        raise ValueError(message)
    if first.dtype.kind == "f":
        count = int(np.ceil(np.abs((end - first) / step)))
    else:
        count = -(-abs(int(end) - int(first)) // abs(int(step)))
    steps = np.full(count, step, first.dtype)
    steps[:1] = first
    return np.add.accumulate(steps, dtype=first.dtype)


OPERATORS = (
    Operator(
        "FILL",
        range(1, 6),
        takes="dims value -> y",
        types=each("s32|s64 T -> T", WHOLE_BYTES + " string"),
        check=check_fill,
        reference=reference_fill,
    ),
    Operator(
        "ZEROS_LIKE",
        range(1, 2),
        takes="x -> y",
        types=each("T -> T", "f32 s32 s64"),
        reference=reference_zeros_like,
    ),
    Operator(
        "RANGE",
        range(1, 3),
        takes="start limit delta -> y",
        types=each("T T T -> T", "f32 s32 s64"),
        reference=reference_range,
        rule={"f32": "each number is the one before and the step, rounded"},
    ),
)
