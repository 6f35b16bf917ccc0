"""CUMSUM: sums of all elements up to each along a dimension."""

from __future__ import annotations

import numpy as np

from minilite.errors import ShapeError
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "CUMSUM",
    rounding={
        "f32": "float32 sums, one after the other",
        "s32 s64": "wraps",
    },
)
def cumsum(node: OpNode, x: Array, axis: Array) -> Array:
    """Sums include the element itself or not, and start from either end; integers wrap."""
    along = int(axis.ravel()[0])
    if not -x.ndim <= along < x.ndim:
        message = f"axis {along}, expected {-x.ndim} to {x.ndim - 1}"
        raise ShapeError(message)
    x = np.flip(x, along) if node.options["reverse"] else x
    y = np.cumsum(x.astype(np.float64) if x.dtype == np.float32 else x, axis=along)
    if node.options["exclusive"]:
        y = y - x
    return np.asarray((np.flip(y, along) if node.options["reverse"] else y).astype(x.dtype))
