"""DENSIFY: compressed rows and blocks, against LiteRT and against the array they were made from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import check, run_minilite
from support.node import Array, kind_of

from minilite.errors import UnsupportedOpError
from minilite.format.builder import ModelBuilder


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


def blocks(x: Array) -> tuple[Array, dict[str, Any]]:
    """The same by blocks of 2 x 2."""
    tiles = x.reshape(x.shape[0] // 2, 2, x.shape[1] // 2, 2).swapaxes(1, 2)
    segments, indices, stored = [0], [], []
    for row in tiles:
        at = [j for j, tile in enumerate(row) if tile.any()]
        indices += at
        stored += [row[j].ravel() for j in at]
        segments.append(len(indices))
    return np.concatenate(stored), {
        "traversal_order": [0, 1, 2, 3],
        "block_map": [0, 1],
        "dim_metadata": [
            {"format": "DENSE", "dense_size": len(tiles)},
            csr(segments, indices),
            {"format": "DENSE", "dense_size": 2},
            {"format": "DENSE", "dense_size": 2},
        ],
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


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
@pytest.mark.parametrize("form", [compressed, blocks])
def test_forms(dtype: Any, form: Any) -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        x = sparse(rng, dtype)
        np.testing.assert_array_equal(check(model(*form(x), x.shape), [])[0], x)


def test_forms_that_do_not_fit_are_refused() -> None:
    stored, sparsity = compressed(np.eye(4, dtype=np.float32))
    for key, values in (
        ("array_indices", [0, 1, 2, 4]),
        ("array_segments", [0, 1, 2, 9, 4]),
        ("array_segments", [0, 4]),
    ):
        wrong = {**sparsity["dim_metadata"][1], key: vector(values)}
        broken = {**sparsity, "dim_metadata": [sparsity["dim_metadata"][0], wrong]}
        with pytest.raises(UnsupportedOpError, match="does not fit its shape"):
            run_minilite(model(stored, broken, (4, 4)), [])
    with pytest.raises(UnsupportedOpError, match="stores 3 values, its sparse form has 4"):
        run_minilite(model(stored[:3], sparsity, (4, 4)), [])
