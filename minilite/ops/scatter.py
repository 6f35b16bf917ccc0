"""Elements put where indices say: SCATTER_ND adds slices up, SPARSE_TO_DENSE puts single ones, DYNAMIC_UPDATE_SLICE a
block."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minilite.errors import KernelError, ShapeError
from minilite.format.model import Array
from minilite.ops_shared.moving import WHOLE_BYTES
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def _shape(values: Array) -> tuple[int, ...]:
    """The shape that a tensor's values say. Raises: ShapeError."""
    if values.size and values.min() < 0:
        message = f"dimension {int(values.argmin())} of the shape to make is {values.min()}"
        raise ShapeError(message)
    return tuple(int(dim) for dim in values)


def _at(indices: Array, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Rows of indices as one array a dimension. Raises: KernelError."""
    outside = (indices < 0) | (indices >= np.array(shape[: indices.shape[-1]], np.int64))
    if outside.any():
        row, dimension = np.argwhere(outside)[0]
        message = (
            f"index {indices[row, dimension]} of row {row} is outside dimension {dimension} of size {shape[dimension]}"
        )
        raise KernelError(message)
    return tuple(indices.T.astype(np.int64))


def reference_scatter_nd(node: OpNode, indices: Array, updates: Array, shape: Array) -> Array:  # noqa: ARG001
    """Slices that meet are added up, truth values by "or"; integers wrap."""
    dims, depth = _shape(shape), indices.shape[-1]
    rows = indices.reshape(math.prod(indices.shape[:-1]), depth)
    y = np.zeros((math.prod(dims[:depth]), math.prod(dims[depth:])), updates.dtype)
    at = np.ravel_multi_index(_at(rows, dims), dims[:depth]) if depth else np.zeros(len(rows), np.intp)
    add: Any = np.logical_or if updates.dtype == np.bool_ else np.add
    add.at(y, at, updates.reshape(len(rows), y.shape[1]))
    return y.reshape(dims)


def reference_sparse_to_dense(node: OpNode, indices: Array, shape: Array, values: Array, standing: Array) -> Array:  # noqa: ARG001
    """Of values that meet, the last stays."""
    dims = _shape(shape)
    y = np.full(dims, standing.ravel()[0], values.dtype)
    rows = indices.reshape(-1, 1) if indices.ndim < 2 else indices
    at = np.ravel_multi_index(_at(rows, dims), dims) if y.size else np.zeros(0, np.intp)
    for place, value in zip(at, np.broadcast_to(values, len(at)), strict=True):
        y.flat[place] = value
    return y


def reference_update(node: OpNode, x: Array, update: Array, starts: Array) -> Array:  # noqa: ARG001
    """Start indices are cut to those that leave the update inside."""
    y = x.copy()
    firsts = np.clip(starts.astype(np.int64), 0, np.subtract(x.shape, update.shape))
    y[tuple(slice(first, first + size) for first, size in zip(firsts, update.shape, strict=True))] = update
    return y


OPERATORS = (
    Operator(
        "SCATTER_ND",
        range(1, 2),
        takes="indices updates shape -> y",
        types=each("s32 T s32 -> T", "f32 s8 u8 b8 s32 s64"),
        reference=reference_scatter_nd,
        output_follows=1,
        rule={"": "slices that meet are added one after the other; integers wrap, truth values: or"},
    ),
    Operator(
        "SPARSE_TO_DENSE",
        range(1, 4),
        takes="indices shape values default -> y",
        types=each("s32|s64 s32|s64 T T -> T", "f32 s8 u8 s32 s64"),
        reference=reference_sparse_to_dense,
        output_follows=2,
    ),
    Operator(
        "DYNAMIC_UPDATE_SLICE",
        range(1, 7),
        takes="x update starts -> y",
        types=each("T T s32|s64 -> T", WHOLE_BYTES + " s4"),
        reference=reference_update,
        in_place=(0,),
        output_follows=0,
        tflite_shares=True,
    ),
)
