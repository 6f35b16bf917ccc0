"""DILATE: inserts a value between the elements of each dimension."""

from __future__ import annotations

import numpy as np

from minilite.errors import ShapeError
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("DILATE")
def dilate(node: OpNode, x: Array, dilations: Array, value: Array) -> Array:  # noqa: ARG001
    """A dimension of n becomes one of (n - 1) * dilation + 1."""
    if dilations.min() < 1:
        message = f"dilation {int(dilations.argmin())} is {dilations.min()}, expected 1 or more"
        raise ShapeError(message)
    shape = [(size - 1) * by + 1 if size else 0 for size, by in zip(x.shape, dilations.tolist(), strict=True)]
    y = np.full(shape, value.ravel()[0], x.dtype)
    y[tuple(slice(None, None, by) for by in dilations.tolist())] = x
    return y
