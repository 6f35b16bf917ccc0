"""SELECT, SELECT_V2: x where the condition holds, else y."""

from __future__ import annotations

import functools

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def reference_select(node: OpNode, condition: Array, x: Array, y: Array) -> Array:
    """numpy's where; SELECT's condition may be of one dimension, the first."""
    if node.op == "SELECT" and condition.ndim == 1:
        condition = condition.reshape(-1, *[1] * (x.ndim - 1))
    return np.asarray(np.where(condition, x, y))


_select = functools.partial(
    Operator,
    takes="condition x y -> z",
    types=each("b8 T T -> T", "f32 f16 bf16 f64 s8 u8 b8 s16 u16 s32 u32 s64 u64 c64"),
    reference=reference_select,
    rule={"": "exact; integers as they are, whatever the scales"},
)
OPERATORS = (_select("SELECT", range(1, 5)), _select("SELECT_V2", range(1, 3)))
