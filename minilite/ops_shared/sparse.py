"""Makes sparse constants dense, as DENSIFY does. The sparse form is TFLite's generalization of compressed rows and
blocks."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minilite.errors import ArenaError, coordinates
from minilite.format.dtypes import PACKED, numpy_type
from minilite.format.model import Array, Tensor
from minilite.ops_shared.operator import OpNode

_FEW = 1 << 16
"""The number of entries that a level may always have."""


def _level(row: Mapping[str, Any], parents: Array, most: int) -> tuple[Array, Array, Array]:
    """One level below the entries `parents` of the level above. Returns how many entries each parent has, or one number
    for all; the numbers of the entries; and their coordinates, one row per parent if there is one number for all.

    Raises: ValueError if segments and indices do not fit, or for more than `most` entries."""
    if row["format"] == "DENSE":
        _check_count(len(parents) * int(row["dense_size"]), most)
        own = np.arange(int(row["dense_size"]))
        return np.array(len(own)), (parents[:, None] * len(own) + own).ravel(), own
    segments, indices = (np.array(row[key]["values"], np.int64) for key in ("array_segments", "array_indices"))
    if len(parents) and int(parents.max()) + 1 >= len(segments):
        message = f"{len(segments)} segments for entry {int(parents.max())}"
        raise ValueError(message)
    first, end = segments[parents], segments[parents + 1]
    if (first < 0).any() or (end < first).any() or (end > len(indices)).any():
        message = f"segments reach beyond {len(indices)} indices"
        raise ValueError(message)
    counts = (end - first).astype(np.intp)  # which repeat() asks for
    _check_count(int(counts.sum()), most)
    own = np.arange(int(counts.sum())) + np.repeat(end - np.cumsum(counts), counts)
    return counts, own, indices[own]


def _check_count(entries: int, most: int) -> None:
    """Raises: ValueError."""
    if entries > most:
        message = f"a level has {entries} entries, the file has values and segments for {most}"
        raise ValueError(message)


def _check_bytes(shape: Sequence[int], each: int, most: int) -> None:
    """Raises: MemoryError."""
    needed = math.prod(shape) * each
    if needed > most:
        message = f"it needs {needed} bytes, must be at most {most}, or more by max_bytes"
        raise MemoryError(message)


def positions(shape: tuple[int, ...], sparsity: Mapping[str, Any], stored: int) -> Array:
    """The position of each of `stored` values in the flattened dense array.

    No level may have more entries than there are values, or segments in the level below, so memory here is limited by
    the size of the file. Raises: ValueError if the sparse form does not fit the shape.
    """
    order = [int(d) for d in sparsity["traversal_order"]]
    blocks = [int(d) for d in sparsity["block_map"] or ()]
    levels = sparsity["dim_metadata"]
    if sorted(order) != list(range(len(shape) + len(blocks))) or len(levels) != len(order):
        message = f"{len(levels)} levels in order {order} for {len(shape)} dimensions and {len(blocks)} of blocks"
        raise ValueError(message)
    segments = [len(row["array_segments"]["values"]) for row in levels if row["format"] != "DENSE"]
    most = max(stored, *segments, _FEW)
    sizes = list(shape)
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    for inner, dimension in enumerate(blocks, len(shape)):  # a dimension that is cut into blocks counts blocks
        size = max(int(levels[order.index(inner)]["dense_size"]), 1)
        sizes[dimension] //= size
        sizes.append(size)
        strides.append(strides[dimension])
        strides[dimension] *= size
    entries, flat = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for dimension, row in zip(order, levels, strict=True):
        counts, entries, places = _level(row, entries, most)
        if len(places) and not 0 <= places.min() <= places.max() < sizes[dimension]:
            message = f"an index lies outside a dimension of {sizes[dimension]}"
            raise ValueError(message)
        steps = places * strides[dimension]
        flat = (flat[:, None] + steps).ravel() if not counts.ndim else np.repeat(flat, counts) + steps
    return flat


def dense_values(node: OpNode, source: Tensor, most: int = sys.maxsize) -> Array:
    """The dense array, of at most so many bytes: stored values at their positions, zeros elsewhere.

    Raises: UnsupportedOpError, ArenaError."""
    if source.data is None or source.sparsity is None:
        raise node.refuse(f"tensor '{source.name}' must be a sparse constant")
    if source.type in PACKED:
        raise node.refuse(f"'{source.name}' is a sparse constant of type {source.type.name}, must have whole bytes")
    try:
        stored = np.frombuffer(source.data.tobytes(), numpy_type(source.type))
        flat = positions(tuple(source.shape), source.sparsity, len(stored))
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise node.refuse(f"the sparse form of '{source.name}' does not fit its shape: {error}") from None
    if len(stored) != len(flat):
        raise node.refuse(f"'{source.name}' stores {len(stored)} values, its sparse form has {len(flat)}")
    try:
        _check_bytes(source.shape, stored.itemsize, most)
        dense = np.zeros(source.shape, stored.dtype)
    except MemoryError as error:
        name = node.outputs[0].name if node.outputs else ""
        where = coordinates(node.subgraph, node.index, node.op, name)
        message = f"{where}: '{source.name}' cannot be made dense: {error}"
        raise ArenaError(message, subgraph=node.subgraph, node=node.index, op=node.op) from None
    dense.reshape(-1)[flat] = stored
    return dense
