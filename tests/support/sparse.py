"""Models of one DENSIFY: arrays in sparse form, by compressed rows and by blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from support.compare import check
from support.node import Array, kind_of

from minilite.format.builder import ModelBuilder


class SparseNode(NamedTuple):
    """A model whose output is made of a constant alone."""

    model: bytes
    arrays: tuple[Array, ...] = ()

    def check(self) -> Array:
        """The output, once C, numpy and LiteRT agree."""
        return check(self.model, [])[0]


def vector(values: Any) -> dict[str, Any]:
    return {"values": [int(v) for v in values]}


def compressed(x: Array) -> tuple[Array, dict[str, Any]]:
    """Rows dense, columns compressed."""
    segments, indices, stored = [0], [], []
    for row in x:
        at = np.flatnonzero(row)
        indices += list(at)
        stored += list(row[at])
        segments.append(len(indices))
    return np.array(stored, x.dtype), {
        "traversal_order": [0, 1],
        "block_map": [],
        "dim_metadata": [
            {"format": "DENSE", "dense_size": len(x)},
            csr(segments, indices),
        ],
    }


def csr(segments: Any, indices: Any) -> dict[str, Any]:
    return {
        "format": "SPARSE_CSR",
        "dense_size": 0,
        "array_segments_type": "Int32Vector",
        "array_segments": vector(segments),
        "array_indices_type": "Int32Vector",
        "array_indices": vector(indices),
    }


def blocks(x: Array, size: tuple[int, int] = (2, 2)) -> tuple[Array, dict[str, Any]]:
    """Compresses by blocks; blocks of one row have only a dimension of columns, as LiteRT's kernels require."""
    down, across = size
    tiles = x.reshape(x.shape[0] // down, down, x.shape[1] // across, across).swapaxes(1, 2)
    segments, indices, stored = [0], [], []
    for row in tiles:
        at = [j for j, tile in enumerate(row) if tile.any()]
        indices += at
        stored += [row[j].ravel() for j in at]
        segments.append(len(indices))
    inner = [{"format": "DENSE", "dense_size": n} for n in (size if down > 1 else size[1:])]
    return np.concatenate(stored), {
        "traversal_order": list(range(2 + len(inner))),
        "block_map": [0, 1] if down > 1 else [1],
        "dim_metadata": [{"format": "DENSE", "dense_size": len(tiles)}, csr(segments, indices), *inner],
    }


def model(stored: Array, sparsity: Any, shape: Any) -> bytes:
    builder = ModelBuilder()
    g = builder.subgraph()
    kind = kind_of(stored)
    c = g.constant("c", stored, kind, shape=shape, sparsity=sparsity)
    g.output(*g.node("DENSIFY", [c], out=[("y", shape, kind)]))
    return builder.build()


def sparse(rng: np.random.Generator, dtype: Any) -> Array:
    x = rng.integers(-9, 9, (6, 8)).astype(dtype)
    return np.where(rng.random((6, 8)) < 0.2, x, dtype(0)).astype(dtype)
