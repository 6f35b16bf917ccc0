"""WHERE with one input: the coordinates of the elements that are not 0."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def reference_where(node: OpNode, condition: Array) -> Array:  # noqa: ARG001
    """numpy's argwhere: NaN is not 0, -0.0 is."""
    return np.argwhere(condition).astype(np.int64)


OPERATORS = (
    Operator(
        "WHERE",
        range(1, 3),
        takes="condition -> y",
        types=each("T -> s64", "f32 s8 u8 b8 s32 u32 s64"),
        reference=reference_where,
    ),
)
