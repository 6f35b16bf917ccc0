"""SCATTER_ND, SPARSE_TO_DENSE, DYNAMIC_UPDATE_SLICE: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import EPS, REFERENCE
from support.node import Given, OneNode, const, counting, values

from minilite.errors import KernelError, ShapeError


def every_update(rng: Any, inputs: Any, outputs: Any) -> Case:
    """LiteRT halves the bytes of 4-bit outputs that it resizes."""
    oracle = None if inputs[0] in ("s4", "u4") else REFERENCE
    return Case([(3, 5, 7), (2, 5, 3), [-2, 0, 3]], oracle=oracle)


EVERY_TYPE = {
    "SCATTER_ND": Case([[[0, 2], [3, 1], [0, 2]], (3, 5), [4, 3, 5]], tolerance=8 * EPS),
    "SPARSE_TO_DENSE": Case([[[0, 2], [3, 1], [0, 2]], [4, 3], (3,), 9]),
    "DYNAMIC_UPDATE_SLICE": every_update,
}


def scatter(indices: Any, updates: Any, shape: Any) -> OneNode:
    shapes = shape if isinstance(shape, Given) else const(shape)
    return OneNode("SCATTER_ND", [np.asarray(indices, np.int32), updates, shapes], kind="f32")


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("rows", [(1,), (4,), (2, 3), (600,)])
@pytest.mark.parametrize("constant", [True, False])
def test_scatter_nd(depth: int, rows: Any, constant: bool) -> None:
    rng = np.random.default_rng(depth)
    shape = (4, 3, 5)
    indices = np.stack([rng.integers(0, size, rows) for size in shape[:depth]], axis=-1)
    updates = rng.integers(-9, 9, (*rows, *shape[depth:])).astype(np.float32)
    y = scatter(indices, updates, Given(np.array(shape, np.int32), constant)).check()
    expected = np.zeros(shape, np.float32)
    np.add.at(expected, tuple(indices[..., d] for d in range(depth)), updates)
    np.testing.assert_array_equal(y, expected)


def test_scatter_nd_of_nothing() -> None:
    scatter(np.zeros((0, 2)), np.zeros((0, 5), np.float32), [4, 3, 5]).check()
    scatter(np.zeros((2, 1)), np.zeros((2, 0), np.float32), [4, 0]).check()
    y = scatter(np.zeros((2, 0)), counting((2, 3)), [3]).check()
    np.testing.assert_array_equal(y, [5, 7, 9])


@pytest.mark.parametrize("indices", [[[0, 3]], [[-1, 0]], [[4, 0]]])
@pytest.mark.parametrize("constant", [True, False])
def test_scatter_nd_outside(indices: Any, constant: bool) -> None:
    given = Given(np.array(indices, np.int32), constant)
    node = OneNode("SCATTER_ND", [given, counting((1, 5)), const([4, 3, 5])], kind="f32")
    node.refused(KernelError, "index -?[0-9] of row 0 is outside dimension")


def test_scatter_nd_refused() -> None:
    x = counting((2, 5))
    scatter([[0], [1]], x, [4, 4]).refused(ShapeError, r"updates have the shape \(2, 5\), expected \(2, 4\)")
    scatter([[0, 0, 0]] * 2, x, [4, 5]).refused(ShapeError, "rows of indices have 3 numbers, the output's shape has 2")
    scatter(0, x, [4, 5]).refused(ShapeError, "indices have rank 0")
    scatter([[0], [1]], x, [-4, 5]).refused(ShapeError, "dimension 0 of the output's shape is -4", by_litert=False)
    scatter([[0], [1]], x, [[4, 5]]).refused(ShapeError, "must be a vector", by_litert=False)  # LiteRT reads beyond it


def sparse(indices: Any, shape: Any, held: Any, dtype: Any = np.int32, constant: bool = True) -> OneNode:
    given = [np.asarray(indices, dtype), Given(np.asarray(shape, dtype), constant), np.asarray(held, np.float32)]
    return OneNode("SPARSE_TO_DENSE", [*given, const(-1, np.float32)], kind="f32", version=3)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("constant", [True, False])
def test_sparse_to_dense(dtype: Any, constant: bool) -> None:
    for indices, shape, held in (
        (3, [5], 7),
        ([0, 3], [5], [1, 2]),
        ([0, 3], [5], 1),
        ([[0, 1], [2, 0], [0, 1]], [3, 2], [1, 2, 3]),
        ([[0, 1, 2, 3], [2, 0, 1, 1]], [3, 2, 4, 5], [1, 2]),
        ([[0, 1, 2], [2, 0, 1]], [3, 2, 4], 6),
    ):
        sparse(indices, shape, held, dtype, constant).check()


def test_sparse_to_dense_refused() -> None:
    sparse([[0, 2]], [3, 2], [1]).refused(KernelError, "index 2 of row 0 is outside dimension 1 of size 2")
    sparse([[0, -1]], [3, 2], [1]).refused(KernelError, "index -1 of row 0 is outside dimension 1 of size 2")
    sparse([0, 1], [3, 2], [1, 2]).refused(ShapeError, "rows of indices have 1 numbers, the output's shape has 2")
    sparse([[0, 1]], [3, 2], [1, 2]).refused(ShapeError, "2 values for 1 rows of indices")
    sparse([[[0, 1]]], [3, 2], [1]).refused(ShapeError, "indices of rank 3")


@pytest.mark.parametrize(
    ("shape", "size"),
    [((7,), (3,)), ((4, 6), (4, 2)), ((4, 6), (1, 6)), ((2, 9, 5, 3), (1, 2, 5, 3)), ((2, 9, 5, 3), (2, 4, 1, 2)),
     ((3, 4), (3, 4)), ((3, 4), (0, 2)), ((0, 4), (0, 2)), ((2, 2, 3, 3, 2, 4), (1, 2, 2, 3, 1, 3))],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_update(shape: Any, size: Any, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    for _ in range(4):
        starts = rng.integers(-2, 8, len(shape)).astype(dtype)
        for kind in ("f32", "s8", "s16", "s64"):
            given = [values(rng, kind, shape), values(rng, kind, size), starts]
            OneNode("DYNAMIC_UPDATE_SLICE", given).check()
        given4 = [Given(values(rng, "s4", s), kind="s4") for s in (shape, size)]
        OneNode("DYNAMIC_UPDATE_SLICE", [*given4, starts]).check(oracle=None)


def test_update_of_a_scalar() -> None:
    """LiteRT writes beyond its arrays."""
    node = OneNode("DYNAMIC_UPDATE_SLICE", [np.float32(1), np.float32(2), np.zeros(0, np.int32)])
    assert node.check(oracle=None) == 2


def test_update_refused() -> None:
    x = counting((4, 6))
    for size in ((5, 1), (2,)):
        node = OneNode("DYNAMIC_UPDATE_SLICE", [x, counting(size), const([0, 0])])
        node.refused(ShapeError, "does not fit into")
    node = OneNode("DYNAMIC_UPDATE_SLICE", [x, counting((1, 1)), const([0])])
    node.refused(ShapeError, "start indices have the shape")
