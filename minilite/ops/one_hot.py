"""ONE_HOT: for each index a line along a new axis, "on" where the index says, else "off"."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("ONE_HOT")
def one_hot(node: OpNode, indices: Array, depth: Array, on: Array, off: Array) -> Array:
    """Indices outside 0 .. depth - 1 have a line of "off" alone."""
    axis = node.options["axis"]
    lines = indices[..., None] == np.arange(int(depth.ravel()[0]))
    return np.asarray(np.moveaxis(np.where(lines, on.ravel()[0], off.ravel()[0]), -1, axis).astype(on.dtype))
