"""ADD_N: the sum of two or more inputs of one shape."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def reference_add_n(node: OpNode, *inputs: Array) -> Array:  # noqa: ARG001
    """One after the other; integers wrap."""
    y = inputs[0].copy()
    for x in inputs[1:]:
        y += x
    return np.asarray(y)


OPERATORS = (
    Operator(
        "ADD_N",
        range(1, 2),
        takes="a b more...? -> y",
        types=each("T T T...? -> T", "f32 s32"),
        reference=reference_add_n,
        in_place=(0,),
        rule={"f32": "one after the other, each sum rounded", "s32": "wraps"},
    ),
)
