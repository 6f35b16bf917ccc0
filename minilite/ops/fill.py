"""FILL, ZEROS_LIKE: one value everywhere. RANGE: equally spaced numbers."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("FILL")
def fill(node: OpNode, dims: Array, value: Array) -> Array:  # noqa: ARG001
    """numpy's full."""
    return np.full(tuple(dims.tolist()), value.reshape(()), value.dtype)


@reference("ZEROS_LIKE")
def zeros_like(node: OpNode, x: Array) -> Array:  # noqa: ARG001
    """numpy's zeros_like."""
    return np.zeros_like(x)


@reference(
    "RANGE",
    rounding={
        "f32": "each number is the one before and the step, rounded",
    },
)
def range_values(node: OpNode, start: Array, limit: Array, delta: Array) -> Array:  # noqa: ARG001
    """Adds one step after the other; each sum is rounded to the type."""
    first, end, step = (value.reshape(()) for value in (start, limit, delta))
    if step == 0 or (end - first) * step < 0:
        message = f"step {step} cannot reach {end} from {first}"
        raise ValueError(message)
    if first.dtype.kind == "f":
        count = int(np.ceil(np.abs((end - first) / step)))
    else:
        count = -(-abs(int(end) - int(first)) // abs(int(step)))
    steps = np.full(count, step, first.dtype)
    steps[:1] = first
    return np.add.accumulate(steps, dtype=first.dtype)
