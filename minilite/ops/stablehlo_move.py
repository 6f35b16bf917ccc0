"""STABLEHLO_PAD, STABLEHLO_GATHER, STABLEHLO_SCATTER: pad elements, gather blocks, and scatter them by one of five
rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.options import numbers


@reference("STABLEHLO_PAD")
def pad(node: OpNode, x: Array, value: Array) -> Array:
    """Elements are spread out, then padded; negative padding removes elements. If a dimension becomes 0, all do, as in
    TFLite."""
    low, high, gap = (numbers(node, name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding"))
    apart = np.maximum(np.array(x.shape) - 1, 0) * gap + x.shape
    shape = apart + low + high
    if (shape <= 0).any():
        return np.zeros((0,) * x.ndim, x.dtype)
    spread = np.full(apart, value.ravel()[0], x.dtype)
    spread[tuple(slice(None, None, int(step) + 1) for step in gap)] = x
    more = [(max(int(a), 0), max(int(b), 0)) for a, b in zip(low, high, strict=True)]
    padded = np.pad(spread, more, constant_values=value.ravel()[0])
    cut = [slice(max(-int(a), 0), size + max(-int(a), 0)) for a, size in zip(low, shape.tolist(), strict=True)]
    return np.ascontiguousarray(padded[tuple(cut)])


def _index_rows(indices: Array, axis: int) -> Array:
    """Indices with the numbers of a row moved to the last dimension."""
    return np.moveaxis(indices, axis, -1) if axis < indices.ndim else indices[..., None]


@reference("STABLEHLO_GATHER")
def gather(node: OpNode, x: Array, indices: Array) -> Array:
    """Start indices are clamped so that the block lies inside."""
    options = node.options
    sizes, offset = np.array(tuple(options["slice_sizes"])), tuple(options["offset_dims"])
    rows = _index_rows(indices, options["index_vector_dim"])
    batch = rows.shape[:-1]
    rank = len(batch) + len(offset)
    block = tuple(int(s) for d, s in enumerate(sizes) if d not in tuple(options["collapsed_slice_dims"]))
    y = np.empty((*batch, *block), x.dtype)
    for at in np.ndindex(*batch):
        start = np.zeros(x.ndim, np.int64)
        start[list(options["start_index_map"])] = rows[at]
        start = np.clip(start, 0, np.array(x.shape) - sizes)
        y[at] = x[tuple(slice(a, a + s) for a, s in zip(start, sizes, strict=True))].reshape(block)
    rest = iter(range(len(batch)))
    inside = iter(range(len(batch), rank))
    return np.ascontiguousarray(y.transpose([next(inside) if d in offset else next(rest) for d in range(rank)]))


def _targets(node: OpNode, shape: tuple[int, ...], indices: Array, updates: Array) -> Iterator[tuple[Any, Any]]:
    """The target and the number of each update; updates outside are left out."""
    options = node.options
    window, inserted = tuple(options["update_window_dims"]), tuple(options["inserted_window_dims"])
    rows = _index_rows(indices, options["index_vector_dim"])
    kept = [d for d in range(len(shape)) if d not in inserted]
    for at in np.ndindex(*updates.shape):
        place = np.zeros(len(shape), np.int64)
        place[kept] = [at[d] for d in window]
        row = rows[tuple(i for d, i in enumerate(at) if d not in window)]
        place[list(options["scatter_dims_to_operand_dims"])] += row
        if (place >= 0).all() and (place < shape).all():
            yield tuple(place), at


_JOINS: dict[str, tuple[int, Callable[[Any, Any], Any]]] = {
    "": (0, lambda _, b: b),
    "STABLEHLO_ADD": (1, lambda a, b: a + b),
    "STABLEHLO_MULTIPLY": (2, lambda a, b: a * b),
    "STABLEHLO_MAXIMUM": (3, lambda a, b: max(a, b)),
    "STABLEHLO_MINIMUM": (4, lambda a, b: min(a, b)),
}
"""The number of each rule in C, and its function of an element and an update, by the operator in the node's
subgraph."""


def _rule(node: OpNode) -> str:
    """The only operator of the subgraph that joins updates; without one, updates replace elements. Raises:
    UnsupportedOpError."""
    number = node.options["update_computation_subgraph_index"]
    if not 0 <= number < len(node.subgraphs):
        raise node.refuse(f"subgraph {number} is to join updates, there are {len(node.subgraphs)}")
    ops = [inner.op for inner in node.subgraphs[number].nodes]
    if len(ops) > 1 or (ops and ops[0] not in _JOINS):
        raise node.refuse(
            f"updates are joined by {', '.join(ops) or 'nothing'}, only {', '.join(filter(None, _JOINS))} can"
        )
    return ops[0] if ops else ""


@reference(
    "STABLEHLO_SCATTER",
    rounding={
        "": (
            "one update after the other; sums and products are rounded, integers wrap; extrema keep the first of equals"
        ),
    },
)
def scatter(node: OpNode, x: Array, indices: Array, updates: Array) -> Array:
    """Applies one update after the other; integers wrap, truth values are joined by or, and."""
    join, y = _JOINS[_rule(node)][1], x.copy()
    for place, at in _targets(node, x.shape, indices, updates):
        y[place] = np.asarray(join(y[place], updates[at])).astype(x.dtype)
    return y
