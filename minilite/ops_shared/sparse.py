"""Constants in sparse form, TFLite's generalization of compressed rows and blocks, made dense: what DENSIFY does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array, Tensor
from minilite.ops_shared.operator import OpNode


def _level(row: Mapping[str, Any], parents: Array) -> tuple[Array, Array, Array, int]:
    """Of one level below `parents`: which parent each entry has, its own number, its coordinate, the level's dense size.

    Raises: ValueError where segments and indices do not fit."""
    if row["format"] == "DENSE":
        size = int(row["dense_size"])
        of = np.repeat(np.arange(len(parents)), size)
        coordinate = np.tile(np.arange(size), len(parents))
        return of, parents[of] * size + coordinate, coordinate, size
    segments, indices = (np.asarray(row[key]["values"], np.int64) for key in ("array_segments", "array_indices"))
    if len(parents) and int(parents.max()) + 1 >= len(segments):
        message = f"{len(segments)} segments for entry {int(parents.max())}"
        raise ValueError(message)
    first, end = segments[parents], segments[parents + 1]
    if (first < 0).any() or (end < first).any() or (end > len(indices)).any():
        message = f"segments reach beyond {len(indices)} indices"
        raise ValueError(message)
    of = np.repeat(np.arange(len(parents)), end - first)
    begins = np.cumsum(end - first) - (end - first)
    own = np.arange(len(of)) - begins[of] + first[of]
    return of, own, indices[own], 0


def positions(shape: tuple[int, ...], sparsity: Mapping[str, Any]) -> Array:
    """Where in the dense array, flat, each stored value stands. Raises: ValueError where the form does not fit the shape."""
    order = [int(d) for d in sparsity["traversal_order"]]
    blocks = [int(d) for d in sparsity["block_map"] or ()]
    levels = sparsity["dim_metadata"]
    if sorted(order) != list(range(len(shape) + len(blocks))) or len(levels) != len(order):
        message = f"{len(levels)} levels in order {order} for {len(shape)} dimensions and {len(blocks)} of blocks"
        raise ValueError(message)
    entries = np.zeros(1, np.int64)
    coordinates: dict[int, Array] = {}
    sizes: dict[int, int] = {}
    for dimension, row in zip(order, levels, strict=True):
        of, entries, found, sizes[dimension] = _level(row, entries)
        coordinates = {d: c[of] for d, c in coordinates.items()}
        coordinates[dimension] = found
    whole = [coordinates[d] for d in range(len(shape))]
    for block, dimension in enumerate(blocks):
        inner = len(shape) + block
        whole[dimension] = whole[dimension] * sizes[inner] + coordinates[inner]
    flat = np.zeros(len(entries), np.int64)
    for size, coordinate in zip(shape, whole, strict=True):
        if ((coordinate < 0) | (coordinate >= size)).any():
            message = f"an index lies outside a dimension of {size}"
            raise ValueError(message)
        flat = flat * size + coordinate
    return flat


def dense_values(node: OpNode, source: Tensor) -> Array:
    """Stored values where their indices say, zeros elsewhere. Raises: UnsupportedOpError."""
    if source.data is None or source.sparsity is None:
        raise node.refuse(f"tensor '{source.name}' must be a sparse constant")
    dense = np.zeros(source.shape, numpy_type(source.type))
    try:
        flat = positions(tuple(source.shape), source.sparsity)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise node.refuse(f"the sparse form of '{source.name}' does not fit its shape: {error}") from None
    stored = np.frombuffer(source.data.tobytes(), dense.dtype)
    if len(stored) != len(flat):
        raise node.refuse(f"'{source.name}' stores {len(stored)} values, its sparse form has {len(flat)}")
    dense.reshape(-1)[flat] = stored
    return dense
