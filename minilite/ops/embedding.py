"""EMBEDDING_LOOKUP, EMBEDDING_LOOKUP_SPARSE: rows of a table, and weighted sums of them; HASHTABLE_LOOKUP: rows by
keys."""

from __future__ import annotations

import numpy as np

from minilite.errors import KernelError, ShapeError
from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.blockwise import block_size, scale_of_elements
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.tensors import input_of


def _rows(table: Array, indices: Array) -> Array:
    """The rows of a table at the indices. Raises: KernelError."""
    wrong = (indices < 0) | (indices >= len(table))
    if wrong.any():
        at = int(wrong.argmax())
        message = f"index {at} is {indices[at]}, expected 0 to {len(table) - 1}"
        raise KernelError(message)
    return table[indices]


@reference(
    "EMBEDDING_LOOKUP",
    rounding={
        "": ("to floats `x * scale`, of its row or block where it has one, rounded once; bytes of u8 are taken for s8"),
    },
)
def lookup(node: OpNode, ids: Array, table: Array) -> Array:
    """Rows as they are; or as reals, where u8 is read as s8, as in TFLite."""
    rows = _rows(table, ids)
    output = np.dtype(numpy_type(node.outputs[0].type))
    if node.outputs[0].type == input_of(node, 1).type:
        return rows
    scales = np.array(input_of(node, 1).quantization.scales, np.float32)
    if block_size(node):
        scales = scale_of_elements(node, table.shape)[ids]
        return np.asarray((rows.view(np.int8).astype(np.float32) * scales).astype(output))
    scale = scales[ids] if len(scales) > 1 else scales[:1]
    steps = rows.view(np.int8).astype(np.float32)
    return np.asarray((steps * scale.reshape(-1, *(1,) * (rows.ndim - 1))).astype(output))


@reference(
    "EMBEDDING_LOOKUP_SPARSE",
    rounding={
        "": "float32 sums, one after the other; one division",
    },
)
def sparse(node: OpNode, ids: Array, places: Array, shape: Array, weights: Array, table: Array) -> Array:
    """Adjacent rows with the same output position are summed, or averaged if the combiner says so."""
    if shape.size and shape.min() < 0:
        message = f"dimension {int(shape.argmin())} of the dense shape is {shape.min()}"
        raise ShapeError(message)
    dims = tuple(int(dim) for dim in shape[:-1])
    y, rows = np.zeros((*dims, *table.shape[1:]), np.float32), _rows(table, ids)
    outside = (places[:, :-1] < 0) | (places[:, :-1] >= np.array(dims, np.int64))
    if outside.any():
        row, axis = np.argwhere(outside)[0]
        message = f"index {places[row, axis]} of row {row} is outside dimension {axis} of size {dims[axis]}"
        raise KernelError(message)
    combiner, begin = node.options["combiner"], 0
    for i, place in enumerate(places):
        at = tuple(place[:-1])
        y[at] += rows[i] * weights[i]
        if i + 1 == len(places) or tuple(places[i + 1, :-1]) != at:
            used, begin = weights[begin : i + 1], i + 1
            by = {"SUM": np.float32(1), "MEAN": used.sum(), "SQRTN": np.sqrt(np.square(used).sum())}[combiner]
            y[at] /= by
    return y


@reference("HASHTABLE_LOOKUP")
def keys(node: OpNode, wanted: Array, keys: Array, table: Array) -> tuple[Array, Array]:  # noqa: ARG001
    """Keys are sorted; missing keys give rows of zeros, or empty strings."""
    at = np.searchsorted(keys, wanted)
    hits = np.append(keys, 0)[at] == wanted
    hits &= at < len(keys)
    y = np.zeros((len(wanted), *table.shape[1:]), table.dtype)
    if table.dtype.kind == "O":
        y[:] = b""
    y[hits] = table[at[hits]]
    return y, hits.astype(np.uint8)
