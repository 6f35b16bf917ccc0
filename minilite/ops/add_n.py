"""ADD_N: the sum of two or more inputs of one shape."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "ADD_N",
    rounding={
        "f32": "one after the other, each sum rounded",
        "s32": "wraps",
    },
)
def add_n(node: OpNode, *inputs: Array) -> Array:  # noqa: ARG001
    """Inputs are added one after the other; integers wrap."""
    y = inputs[0].copy()
    for x in inputs[1:]:
        y += x
    return np.asarray(y)
