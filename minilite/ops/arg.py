"""ARG_MAX and ARG_MIN: the position of the largest or smallest element along a dimension."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("ARG_MAX", "ARG_MIN")
def arg(node: OpNode, x: Array, axis: Array) -> Array:
    """The first of equal elements; NaN is skipped."""
    along = np.moveaxis(x, int(axis.ravel()[0]), 0)
    best, found = along[0].copy(), np.zeros(along.shape[1:], numpy_type(node.outputs[0].type))
    for k in range(1, len(along)):
        better = (along[k] > best if node.op == "ARG_MAX" else along[k] < best) | (np.isnan(best) & ~np.isnan(along[k]))
        best, found = np.where(better, along[k], best), np.where(better, found.dtype.type(k), found)
    return np.asarray(found)
