"""UNIQUE: the numbers that a vector has, in the order in which they come first, and which of them each element is."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def reference_unique(node: OpNode, x: Array) -> tuple[Array, Array]:
    """Floats that compare equal are one number, and so are all NaN."""
    _, first, which = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return x[np.sort(first)], rank[which].astype(numpy_type(node.outputs[1].type))


OPERATORS = (
    Operator(
        "UNIQUE",
        range(1, 2),
        takes="x -> y indices",
        types=each("T -> T s32|s64", "f32 s8 u8 s16 s32 s64"),
        reference=reference_unique,
        rule={"f32": "0 and -0 are one number, and so are all NaN"},
    ),
)
