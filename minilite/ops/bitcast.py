"""BITCAST: the same bytes as elements of another type."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("BITCAST")
def bitcast(node: OpNode, x: Array) -> Array:
    """With narrower elements, a last dimension is added; with wider ones, the last is removed."""
    to = np.dtype(numpy_type(node.outputs[0].type))
    if x.itemsize > to.itemsize:
        return np.frombuffer(x.tobytes(), to).reshape(*x.shape, x.itemsize // to.itemsize)
    return np.frombuffer(x.tobytes(), to).reshape(x.shape if x.itemsize == to.itemsize else x.shape[:-1])
