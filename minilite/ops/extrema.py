"""MAXIMUM, MINIMUM: the greater or the lesser of two, with numpy's broadcasting."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.tensors import input_of


@reference(
    "MAXIMUM",
    "MINIMUM",
    rounding={
        "": "exact; the second where neither is greater; integers as they are, whatever the scales",
    },
)
def extremum(node: OpNode, a: Array, b: Array) -> Array:
    """y = a if it is greater (lesser), else b, also if one is NaN; integers without regard to scales."""
    x, y = (_real(node, array) for array in (a, b))
    return np.asarray(np.where(x > y if node.op == "MAXIMUM" else x < y, a, b))


def _real(node: OpNode, x: Array) -> Array:
    bfloat = input_of(node).type == TensorType.BFLOAT16
    return (x.astype(np.uint32) << 16).view(np.float32) if bfloat else x
