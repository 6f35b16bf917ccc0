"""UNIQUE: the distinct numbers of a vector, in order of first occurrence, and for each element which of them it is."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "UNIQUE",
    rounding={
        "f32": "0 and -0 are one number, and so are all NaN",
    },
)
def unique(node: OpNode, x: Array) -> tuple[Array, Array]:
    """Floats that compare equal are one number, and so are all NaN."""
    _, first, which = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return x[np.sort(first)], rank[which].astype(numpy_type(node.outputs[1].type))
