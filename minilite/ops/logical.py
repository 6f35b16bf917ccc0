"""LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT, BITWISE_XOR, RIGHT_SHIFT: truth values and bits."""

from __future__ import annotations

import functools

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each

_UFUNCS = {"LOGICAL_AND": np.logical_and, "LOGICAL_OR": np.logical_or, "BITWISE_XOR": np.bitwise_xor}


def reference_not(node: OpNode, x: Array) -> Array:  # noqa: ARG001
    """y = not x."""
    return np.logical_not(x)


def reference_logical(node: OpNode, a: Array, b: Array) -> Array:
    """y = a and b, a or b, a xor b."""
    return np.asarray(_UFUNCS[node.op](a, b))


def reference_right_shift(node: OpNode, a: Array, b: Array) -> Array:  # noqa: ARG001
    """y = a >> b, by at least 0 and at most all bits but one; signs are kept."""
    return np.asarray((a.astype(np.int64) >> np.clip(b.astype(np.int64), 0, 8 * a.itemsize - 1)).astype(a.dtype))


_binary = functools.partial(Operator, takes="a b -> y", in_place=(0, 1), reference=reference_logical)
_BITS = each("T T -> T", "s8 u8 s16 u16 s32 u32")
OPERATORS = (
    Operator("LOGICAL_NOT", range(1, 2), takes="x -> y", types=("b8 -> b8",), in_place=(0,), reference=reference_not),
    _binary("LOGICAL_AND", range(1, 2), types=("b8 b8 -> b8",)),
    _binary("LOGICAL_OR", range(1, 2), types=("b8 b8 -> b8",)),
    _binary("BITWISE_XOR", range(1, 2), types=_BITS),
    _binary(
        "RIGHT_SHIFT",
        range(1, 2),
        types=_BITS,
        reference=reference_right_shift,
        rule={"": "signs are kept; by at least 0 and at most all bits but one"},
    ),
)
