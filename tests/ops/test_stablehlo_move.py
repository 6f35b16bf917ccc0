"""STABLEHLO_PAD, STABLEHLO_GATHER, STABLEHLO_SCATTER: C kernels, numpy references and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import EPS, check
from support.node import Given, OneNode, Out, const, counting, kind_of, values

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder


def pad(x: Any, low: Any, high: Any, interior: Any, kind: str | None = None) -> OneNode:
    options = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": interior}
    value = np.zeros((), x.dtype) + x.dtype.type(77)
    return OneNode(
        "STABLEHLO_PAD", [Given(x, kind=kind), Given(value, kind=kind)], options, outs=[Out(kind or kind_of(x))]
    )


def every_pad(rng: Any, inputs: Any, outputs: Any) -> Any:
    node = pad(values(rng, inputs[0], (3, 4)), [1, -1], [0, 2], [1, 0], inputs[0])
    return node, {}


GATHERED = {
    "offset_dims": [1, 2], "collapsed_slice_dims": [0], "start_index_map": [1, 0], "index_vector_dim": 1, "slice_sizes": [1, 2, 3],
}  # fmt: skip


def gather(x: Any, indices: Any, rank: int, kind: str | None = None, **options: Any) -> OneNode:
    outs = [Out(kind or kind_of(x), shape=(1,) * rank)]  # LiteRT takes the rank from the file
    return OneNode("STABLEHLO_GATHER", [Given(x, kind=kind), np.asarray(indices)], {**GATHERED, **options}, outs=outs)


def every_gather(rng: Any, inputs: Any, outputs: Any) -> Any:
    dtype = np.int32 if inputs[1] == "s32" else np.int64
    indices = np.array([[0, 1], [5, 0], [-3, 2]], dtype)
    return gather(values(rng, inputs[0], (4, 3, 5)), indices, 3, inputs[0]), {}


SCATTERED = {
    "update_window_dims": [1], "inserted_window_dims": [0], "scatter_dims_to_operand_dims": [0], "index_vector_dim": 1,
    "indices_are_sorted": False, "unique_indices": False,
}  # fmt: skip


def scatter(x: Any, indices: Any, updates: Any, rule: str | None = "STABLEHLO_ADD", **options: Any) -> Any:
    """The model and its inputs; the rule is a subgraph of its own."""
    builder = ModelBuilder()
    g, body = builder.subgraph("main"), builder.subgraph("body")
    arrays = [x, np.asarray(indices), updates]
    inputs = [g.input(name, a.shape, kind_of(a)) for name, a in zip("xiu", arrays, strict=True)]
    text = {**SCATTERED, "update_computation_subgraph_index": 1, **options}
    g.output(g.node("STABLEHLO_SCATTER", inputs, out=("y", x.shape, kind_of(x)), options=text))
    a, b = (body.input(name, (), kind_of(x)) for name in "ab")
    body.output(b if rule is None else body.node(rule, [a, b], out=("joined", (), kind_of(x))))
    return builder.build(), arrays


class Scatter:
    """A node like OneNode."""

    def __init__(self, *given: Any, **options: Any) -> None:
        self.model, self.arrays = scatter(*given, **options)

    def check(self, **how: Any) -> Any:
        return check(self.model, self.arrays, **how)[0]


def every_scatter(rng: Any, inputs: Any, outputs: Any) -> Any:
    """Rules that all types have."""
    dtype = np.int32 if inputs[1] == "s32" else np.int64
    indices = np.array([[3], [1], [3], [-1], [9]], dtype)
    x, updates = (values(rng, inputs[0], shape) for shape in ((4, 3), (5, 3)))
    return Scatter(x, indices, updates, "STABLEHLO_ADD"), {"tolerance": 8 * EPS}


EVERY_TYPE = {"STABLEHLO_PAD": every_pad, "STABLEHLO_GATHER": every_gather, "STABLEHLO_SCATTER": every_scatter}


@pytest.mark.parametrize("low", [-2, 0, 3])
@pytest.mark.parametrize("high", [-3, 0, 1])
@pytest.mark.parametrize("interior", [0, 1, 2])
def test_padding(low: int, high: int, interior: int) -> None:
    for shape in ((5,), (4, 5), (2, 3, 4)):
        for dtype in (np.float32, np.int8, np.int64):
            rank = len(shape)
            x = counting(shape, dtype)
            paddings = [[0] * (rank - 1) + [v] for v in (low, high, interior)]
            if not any(map(any, paddings)) and rank == 1:
                continue
            pad(x, *paddings).check()
            pad(x, *([v] * rank for v in (low, high, interior))).check()


def test_padding_that_leaves_nothing() -> None:
    pad(counting((3, 4)), [-2, 0], [-1, 0], [0, 0]).check(oracle=None)
    assert pad(counting((3, 4)), [-5, 0], [0, 0], [0, 0]).check(oracle=None).shape == (0, 0)
    y = pad(counting((3,)), [-2], [9], [3]).check()  # what stays is padding in part
    np.testing.assert_array_equal(y[:3], [77, 77, 2])


def test_padding_refused() -> None:
    pad(counting((3, 4)), [1], [1], [1]).refused(
        ShapeError, "padding of 1 dimensions, the input has 2", by_litert=False
    )
    pad(counting((3,)), [1], [1], [-1]).refused(
        ShapeError, "padding of dimension 0 is out of range: low 1, interior -1, high 1", by_litert=False
    )
    pad(counting((3,)), [2**31], [0], [0]).refused(
        ShapeError, "padding of dimension 0 is out of range", by_litert=False
    )


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gathered(dtype: Any) -> None:
    x = counting((4, 3, 5))
    rng = np.random.default_rng(1)
    indices = rng.integers(-2, 6, (6, 2)).astype(dtype)
    gather(x, indices, 3).check()
    gather(x, indices, 3, offset_dims=[0, 2]).check()
    gather(x, indices.T.copy(), 3, index_vector_dim=0).check()
    gather(x, indices.reshape(2, 3, 2), 4, index_vector_dim=2, offset_dims=[1, 3]).check()
    options = {"collapsed_slice_dims": [0, 2], "slice_sizes": [1, 2, 1], "offset_dims": [1]}
    gather(x, indices, 2, **options).check()
    gather(x, indices[:0], 3).check()


def test_gathered_by_single_numbers() -> None:
    """LiteRT reads beyond the shape of its indices."""
    options = {"index_vector_dim": 1, "start_index_map": [0], "slice_sizes": [1, 3, 5]}
    y = gather(counting((4, 3, 5)), np.array([2, 0], np.int32), 3, **options).check(oracle=None)
    np.testing.assert_array_equal(y, counting((4, 3, 5))[[2, 0]])


def test_gather_refused() -> None:
    x, indices = counting((4, 3, 5)), np.zeros((6, 2), np.int32)
    for options, words in (
        ({"slice_sizes": [1, 4, 3]}, "blocks of size 4 in dimension 1 of size 3"),
        ({"slice_sizes": [2, 2, 3]}, "blocks of size 2 in dimension 0 of size 4"),
        ({"slice_sizes": [1, 2]}, "2 sizes, 2 offset and 1 collapsed dimensions for a rank of 3"),
        ({"start_index_map": [0]}, "1 dimensions are indexed by rows of 2 numbers"),
        ({"start_index_map": [0, 3]}, "indexed dimension 1 is 3, expected 0 or more, ascending, below 3"),
        ({"offset_dims": [1, 7]}, "offset dimension 1 is 7"),
        ({"index_vector_dim": 3}, "the index dimension is 3, indices have rank 2"),
    ):
        gather(x, indices, 3, **options).refused(ShapeError, words, by_litert=False)


@pytest.mark.parametrize(
    "rule", [None, "STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM"]
)
@pytest.mark.parametrize("kind", ["f32", "f16", "s8", "s32", "u8"])
def test_scattered(rule: str | None, kind: str) -> None:
    rng = np.random.default_rng(2)
    x = values(rng, kind, (4, 3, 5))
    indices = rng.integers(-1, 5, (7, 1), np.int32)
    tolerance = 64 * EPS if kind == "f32" else 0.5
    Scatter(x, indices, values(rng, kind, (7, 3, 5)), rule, update_window_dims=[1, 2]).check(tolerance=tolerance)
    options = {"update_window_dims": [0, 2], "inserted_window_dims": [1], "scatter_dims_to_operand_dims": [1, 0]}
    pairs = rng.integers(-1, 4, (2, 7)).astype(np.int32)
    updates = values(rng, kind, (2, 7, 4))
    Scatter(x, pairs, updates, rule, index_vector_dim=0, **options).check(tolerance=tolerance)
    options = {"update_window_dims": [], "inserted_window_dims": [0, 1, 2], "scatter_dims_to_operand_dims": [2, 0, 1]}
    triples = rng.integers(-1, 5, (6, 2, 3)).astype(np.int32)
    Scatter(x, triples, values(rng, kind, (6, 2)), rule, index_vector_dim=2, **options).check(tolerance=tolerance)
    Scatter(x, indices[:0], values(rng, kind, (0, 3, 5)), rule, update_window_dims=[1, 2]).check()


def test_scatter_of_extremes() -> None:
    """NaN is neither larger nor smaller than the value there; -0 is not smaller than 0."""
    x = np.array([[1, np.nan, 0.0, np.inf]], np.float32)
    updates = np.array([[np.nan, 1, -0.0, np.nan]], np.float32)
    for rule in ("STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM", "STABLEHLO_ADD"):
        Scatter(x, np.array([[0]], np.int32), updates, rule).check()


def test_scatter_refused() -> None:
    x, indices, updates = counting((4, 3)), np.zeros((5, 1), np.int32), counting((5, 3))
    for options, words in (
        ({"update_window_dims": [0, 1]}, "do not match ranks 2 and 2"),
        ({"scatter_dims_to_operand_dims": [2]}, "indexed dimension 0 is 2"),
        ({"index_vector_dim": 4}, "the index dimension is 4, indices have rank 2"),
    ):
        with pytest.raises(ShapeError, match=words):
            Scatter(x, indices, updates, **options).check()
    with pytest.raises(ShapeError, match="dimension 0 of the updates is 4, of the indices 5"):
        Scatter(x, indices, updates[:4]).check()
    with pytest.raises(UnsupportedOpError, match="its update computation is SUB, must be a single STABLEHLO_ADD"):
        Scatter(x, indices, updates, "SUB").check()
    with pytest.raises(UnsupportedOpError, match="its update computation is subgraph 7, which does not exist"):
        Scatter(x, indices, updates, update_computation_subgraph_index=7).check()
    given = [x, const([[0]]), updates]
    OneNode("STABLEHLO_SCATTER", given, SCATTERED, kind="s8").refused(UnsupportedOpError, "types", by_litert=False)
