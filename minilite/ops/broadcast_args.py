"""BROADCAST_ARGS: the shape to which two shapes, given as values, broadcast."""

from __future__ import annotations

import numpy as np

from minilite.errors import KernelError
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("BROADCAST_ARGS")
def broadcast_args(node: OpNode, a: Array, b: Array) -> Array:  # noqa: ARG001
    """Dimensions from the right are equal or one of them is 1."""
    rank = max(a.size, b.size)
    one, other = (np.concatenate([np.ones(rank - shape.size, shape.dtype), shape]) for shape in (a, b))
    wrong = (one != other) & (one != 1) & (other != 1)
    if wrong.any():
        at = int(wrong.nonzero()[0][-1])
        message = f"dimensions {one[at]} and {other[at]}, from the right number {rank - 1 - at}, do not broadcast"
        raise KernelError(message)
    return np.where(one == 1, other, one)
