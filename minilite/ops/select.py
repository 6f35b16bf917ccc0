"""SELECT, SELECT_V2: x where the condition holds, else y."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "SELECT",
    "SELECT_V2",
    rounding={
        "": "exact; integers as they are, whatever the scales",
    },
)
def select(node: OpNode, condition: Array, x: Array, y: Array) -> Array:
    """numpy's where; SELECT's condition may have only the first dimension."""
    if node.op == "SELECT" and condition.ndim == 1:
        condition = condition.reshape(-1, *[1] * (x.ndim - 1))
    return np.asarray(np.where(condition, x, y))
