"""LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT, BITWISE_XOR, RIGHT_SHIFT: truth values and bits."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference

_UFUNCS = {"LOGICAL_AND": np.logical_and, "LOGICAL_OR": np.logical_or, "BITWISE_XOR": np.bitwise_xor}


@reference("LOGICAL_NOT")
def not_values(node: OpNode, x: Array) -> Array:  # noqa: ARG001
    """y = not x."""
    return np.logical_not(x)


@reference("LOGICAL_AND", "LOGICAL_OR", "BITWISE_XOR")
def logical(node: OpNode, a: Array, b: Array) -> Array:
    """y = a and b, a or b, a xor b."""
    return np.asarray(_UFUNCS[node.op](a, b))


@reference(
    "RIGHT_SHIFT",
    rounding={
        "": "signs are kept; by at least 0 and at most all bits but one",
    },
)
def right_shift(node: OpNode, a: Array, b: Array) -> Array:  # noqa: ARG001
    """y = a >> b, by at least 0 and at most all bits but one; signs are kept."""
    return np.asarray((a.astype(np.int64) >> np.clip(b.astype(np.int64), 0, 8 * a.itemsize - 1)).astype(a.dtype))
