"""EMBEDDING_LOOKUP, EMBEDDING_LOOKUP_SPARSE: rows of a table, and weighted sums of them; HASHTABLE_LOOKUP: rows by
keys."""

from __future__ import annotations

import numpy as np

from minilite.errors import KernelError, ShapeError
from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.blockwise import block_scales, block_size, scale_of_elements
from minilite.ops_shared.checks import check_channels, input_of
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def _rows(table: Array, indices: Array) -> Array:
    """The rows of a table that indices name. Raises: KernelError."""
    wrong = (indices < 0) | (indices >= len(table))
    if wrong.any():
        at = int(wrong.argmax())
        message = f"index {at} is {indices[at]}, expected 0 to {len(table) - 1}"
        raise KernelError(message)
    return table[indices]


def _scales(node: OpNode) -> Array:
    """Those of a table in blocks whose rows become reals."""
    as_it_is = input_of(node, 1).type == node.outputs[0].type
    return np.zeros(0, np.float32) if as_it_is else block_scales(node)


def _check_lookup(node: OpNode) -> None:
    table = input_of(node, 1)
    if table.type == node.outputs[0].type:
        return
    if table.quantization.scales_tensor >= 0:
        block_scales(node)
        return
    check_channels(node, table)
    if any(table.quantization.zero_points):
        raise node.refuse(f"table '{table.name}' has zero points, they must be 0")


def reference_lookup(node: OpNode, ids: Array, table: Array) -> Array:
    """As they are; or as reals, bytes of u8 taken for s8 as in TFLite."""
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


def reference_sparse(node: OpNode, ids: Array, places: Array, shape: Array, weights: Array, table: Array) -> Array:
    """Rows that follow each other and name the same place are summed; means where the combiner says so."""
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


def reference_keys(node: OpNode, wanted: Array, keys: Array, table: Array) -> tuple[Array, Array]:  # noqa: ARG001
    """Keys are sorted; those that are not there give rows of zeros, or empty strings."""
    at = np.searchsorted(keys, wanted)
    hits = np.append(keys, 0)[at] == wanted
    hits &= at < len(keys)
    y = np.zeros((len(wanted), *table.shape[1:]), table.dtype)
    if table.dtype.kind == "O":
        y[:] = b""
    y[hits] = table[at[hits]]
    return y, hits.astype(np.uint8)


_WHOLE = "f32 f16 bf16 f64 s8 u8 b8 s16 u16 s32 u32 s64 u64 c64 c128"
OPERATORS = (
    Operator(
        "EMBEDDING_LOOKUP",
        range(1, 6),
        takes="ids table -> y",
        types=(*each("s32 T -> T", _WHOLE), "s32 s8|u8|s4|s2 -> f32|f16"),
        reference=reference_lookup,
        params={"block": lambda node: block_size(node) if _scales(node).size else 0, "scales": _scales},
        check=_check_lookup,
        rule={
            "": "to floats `x * scale`, of its row or block where it has one, rounded once; bytes of u8 are taken for s8"
        },
    ),
    Operator(
        "EMBEDDING_LOOKUP_SPARSE",
        range(1, 2),
        takes="ids indices shape weights table -> y",
        types=("s32 s32 s32 f32 f32 -> f32",),
        params={
            "mean": lambda node: int(node.options["combiner"] == "MEAN"),
            "root": lambda node: int(node.options["combiner"] == "SQRTN"),
        },
        reference=reference_sparse,
        rule={"": "float32 sums, one after the other; one division"},
    ),
    Operator(
        "HASHTABLE_LOOKUP",
        range(1, 2),
        takes="wanted keys table -> y hits",
        types=(*each("s32 s32 T -> T u8", _WHOLE), "s32 s32 string -> string u8"),
        reference=reference_keys,
    ),
)
