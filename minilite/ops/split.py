"""SPLIT, SPLIT_V: cut a tensor along a dimension. UNPACK: into one tensor per index."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("SPLIT")
def split(node: OpNode, axis: Array, x: Array) -> tuple[Array, ...]:
    """numpy's split, into parts of equal size."""
    return tuple(np.ascontiguousarray(part) for part in np.split(x, len(node.outputs), int(axis.reshape(()))))


@reference("SPLIT_V")
def split_v(node: OpNode, x: Array, sizes: Array, axis: Array) -> tuple[Array, ...]:  # noqa: ARG001
    """numpy's split at the sums of the sizes; -1 means the rest."""
    dim = int(axis.reshape(()))
    left = x.shape[dim] - int(sizes[sizes >= 0].sum())
    ends = np.cumsum(np.where(sizes < 0, left, sizes))
    return tuple(np.ascontiguousarray(part) for part in np.split(x, ends[:-1], dim))


@reference("UNPACK")
def unpack(node: OpNode, x: Array) -> tuple[Array, ...]:
    """One array per index of the axis."""
    return tuple(np.array(part, order="C") for part in np.moveaxis(x, node.options["axis"], 0))
