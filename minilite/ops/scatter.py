"""Writes elements at indices: SCATTER_ND adds slices up, SPARSE_TO_DENSE writes single elements, DYNAMIC_UPDATE_SLICE a
block."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minilite.errors import KernelError, ShapeError
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


def _shape(values: Array) -> tuple[int, ...]:
    """The shape given by a tensor's values. Raises: ShapeError."""
    if values.size and values.min() < 0:
        message = f"dimension {int(values.argmin())} of the output's shape is {values.min()}"
        raise ShapeError(message)
    return tuple(int(dim) for dim in values)


def _at(indices: Array, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Rows of indices as one array per dimension. Raises: KernelError."""
    outside = (indices < 0) | (indices >= np.array(shape[: indices.shape[-1]], np.int64))
    if outside.any():
        row, dimension = np.argwhere(outside)[0]
        message = (
            f"index {indices[row, dimension]} of row {row} is outside dimension {dimension} of size {shape[dimension]}"
        )
        raise KernelError(message)
    return tuple(indices.T.astype(np.int64))


@reference(
    "SCATTER_ND",
    rounding={
        "": "slices that meet are added one after the other; integers wrap, truth values: or",
    },
)
def scatter_nd(node: OpNode, indices: Array, updates: Array, shape: Array) -> Array:  # noqa: ARG001
    """Slices with the same index are added up, truth values by "or"; integers wrap."""
    dims, depth = _shape(shape), indices.shape[-1]
    rows = indices.reshape(math.prod(indices.shape[:-1]), depth)
    y = np.zeros((math.prod(dims[:depth]), math.prod(dims[depth:])), updates.dtype)
    at = np.ravel_multi_index(_at(rows, dims), dims[:depth]) if depth else np.zeros(len(rows), np.intp)
    add: Any = np.logical_or if updates.dtype == np.bool_ else np.add
    add.at(y, at, updates.reshape(len(rows), y.shape[1]))
    return y.reshape(dims)


@reference("SPARSE_TO_DENSE")
def sparse_to_dense(node: OpNode, indices: Array, shape: Array, values: Array, standing: Array) -> Array:  # noqa: ARG001
    """Writes values by index; the last of several with the same index stays."""
    dims = _shape(shape)
    y = np.full(dims, standing.ravel()[0], values.dtype)
    rows = indices.reshape(-1, 1) if indices.ndim < 2 else indices
    at = np.ravel_multi_index(_at(rows, dims), dims) if y.size else np.zeros(0, np.intp)
    for place, value in zip(at, np.broadcast_to(values, len(at)), strict=True):
        y.flat[place] = value
    return y


@reference("DYNAMIC_UPDATE_SLICE")
def update(node: OpNode, x: Array, update: Array, starts: Array) -> Array:  # noqa: ARG001
    """Start indices are clamped so that the update lies inside."""
    y = x.copy()
    firsts = np.clip(starts.astype(np.int64), 0, np.subtract(x.shape, update.shape))
    y[tuple(slice(first, first + size) for first, size in zip(firsts, update.shape, strict=True))] = update
    return y
