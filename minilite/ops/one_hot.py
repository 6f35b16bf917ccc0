"""ONE_HOT: for each index a line along a new axis, with "on" at the index and "off" elsewhere."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("ONE_HOT")
def one_hot(node: OpNode, indices: Array, depth: Array, on: Array, off: Array) -> Array:
    """For indices outside 0 .. depth - 1 the line is all "off"."""
    axis = node.options["axis"]
    lines = indices[..., None] == np.arange(int(depth.ravel()[0]))
    return np.asarray(np.moveaxis(np.where(lines, on.ravel()[0], off.ravel()[0]), -1, axis).astype(on.dtype))
