"""GATHER: takes slices of an axis by index; with batch_dims, each batch has its own indices. GATHER_ND: by several
axes."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.moving import checked_indices
from minilite.ops_shared.operator import OpNode, reference


@reference("GATHER")
def gather(node: OpNode, x: Array, indices: Array) -> Array:
    """numpy's take, batch by batch."""
    axis, batch = node.options["axis"] % x.ndim, node.options["batch_dims"]
    batch += indices.ndim if batch < 0 else 0
    y = np.empty((*x.shape[:axis], *indices.shape[batch:], *x.shape[axis + 1 :]), x.dtype)
    if 0 in x.shape[:axis]:  # no index is read
        return y
    for at in np.ndindex(*x.shape[:batch]):
        y[at] = x[at].take(checked_indices(indices[at], x.shape[axis]), axis=axis - batch)
    return y


@reference("GATHER_ND")
def gather_nd(node: OpNode, x: Array, indices: Array) -> Array:  # noqa: ARG001
    """numpy's indexing by as many axes as the last dimension of the indices has entries."""
    depth = indices.shape[-1]
    indices = checked_indices(indices, x.shape[:depth])
    if depth == 0:
        return np.array(np.broadcast_to(x, indices.shape[:-1] + x.shape), order="C")
    return np.array(x[tuple(indices[..., i] for i in range(depth))], x.dtype, order="C")
