"""TILE: repeats the input along each dimension. BROADCAST_TO: repeats dimensions of 1 to the given shape."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("TILE")
def tile(node: OpNode, x: Array, multiples: Array) -> Array:  # noqa: ARG001
    """numpy's tile."""
    return np.tile(x, tuple(multiples.tolist()))


@reference("BROADCAST_TO")
def broadcast_to(node: OpNode, x: Array, shape: Array) -> Array:  # noqa: ARG001
    """numpy's broadcast_to."""
    return np.array(np.broadcast_to(x, tuple(shape.tolist())), order="C")
