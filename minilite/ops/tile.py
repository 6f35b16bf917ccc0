"""TILE: the input several times along each dimension. BROADCAST_TO: its dimensions of 1 as often as a shape says."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.moving import WHOLE_BYTES
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def reference_tile(node: OpNode, x: Array, multiples: Array) -> Array:  # noqa: ARG001
    """numpy's tile."""
    return np.tile(x, tuple(multiples.tolist()))


def reference_broadcast_to(node: OpNode, x: Array, shape: Array) -> Array:  # noqa: ARG001
    """numpy's broadcast_to."""
    return np.array(np.broadcast_to(x, tuple(shape.tolist())), order="C")


OPERATORS = (
    Operator(
        "TILE",
        range(1, 4),
        takes="x multiples -> y",
        types=each("T s32|s64 -> T", WHOLE_BYTES + " string"),
        reference=reference_tile,
    ),
    Operator(
        "BROADCAST_TO",
        range(2, 5),
        takes="x shape -> y",
        types=each("T s32|s64 -> T", WHOLE_BYTES + " string"),
        reference=reference_broadcast_to,
    ),
)
