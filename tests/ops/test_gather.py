"""GATHER, GATHER_ND: C kernel, numpy reference and LiteRT (BUILTIN_REF) agree."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import Case
from support.node import OneNode, const, counting, known_or_not

from minilite.errors import KernelError, ShapeError

X = counting((2, 3, 4, 5))
BY_LITERT = "f32 f16 s8 u8 b8 s16 s32 s64"  # it halves axes of s4
EVERY_TYPE = {
    "GATHER": Case([(2, 5, 3), [[4, 0], [1, 1]]], {"axis": -2}, litert=BY_LITERT),
    "GATHER_ND": Case([(2, 5, 3), [[1, 4], [0, 1], [1, 1]]], litert=BY_LITERT + " string"),
}


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -4])
@pytest.mark.parametrize(("shape", "batch"), [((), 0), ((0,), 0), ((700,), 0), ((2, 3), 1), ((2, 3, 2), -1)])
def test_axes_and_batches(axis: int, shape: tuple[int, ...], batch: int) -> None:
    indices = np.random.default_rng(axis % 4).integers(0, X.shape[axis], shape, np.int32)
    node = OneNode("GATHER", [X, indices], {"axis": axis, "batch_dims": batch})
    if (count := batch % max(len(shape), 1)) > axis % 4:
        node.refused(ShapeError, f"batch_dims is {count}, axis {axis % 4}, the rank of indices {len(shape)}")
    else:
        node.check()


@pytest.mark.parametrize(("at", "value"), [(299, 3), (1, -1), (0, 2**31 - 1)])
def test_indices_outside(at: int, value: int) -> None:
    indices = np.where(np.arange(300) == at, value, 0).astype(np.int32).reshape(3, 100)
    OneNode("GATHER", [X, indices], {"axis": 1}).refused(KernelError, f"index {at} is {value}, expected 0 to 2")


def test_refused() -> None:
    OneNode("GATHER", [X, const([[0]] * 3)], {"axis": 1, "batch_dims": 1}).refused(
        ShapeError, "batch dimension 0 is 2 in"
    )
    OneNode("GATHER", [X, const([0])], {"axis": 4}).refused(ShapeError, "axis 4")
    OneNode("GATHER", [X, const(np.zeros((1,) * 6))], {"axis": 1}).refused(ShapeError, "more than 8", by_litert=False)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("rows", [(), (3,), (2, 2), (700,)])
def test_nd(depth: int, rows: tuple[int, ...]) -> None:
    rng = np.random.default_rng(depth)
    indices = np.stack([rng.integers(0, size, rows, np.int32) for size in X.shape[:depth]], axis=-1)
    for given in known_or_not(indices):
        result = OneNode("GATHER_ND", [X, given]).check()
        np.testing.assert_array_equal(result, X[tuple(indices[..., d] for d in range(depth))])


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([[0, 0], [1, 3]], "index 3 is 3, expected 0 to 2"),
        ([[0, 0], [-1, 0]], "index 2 is -1, expected 0 to 1"),
        ([[2, 0]], "index 0 is 2, expected 0 to 1"),
    ],
)
def test_nd_indices_outside(indices: list[list[int]], message: str) -> None:
    OneNode("GATHER_ND", [X, np.array(indices, np.int32)]).refused(KernelError, message)


def test_nd_refused() -> None:
    OneNode("GATHER_ND", [X, const([[0] * 5])]).refused(
        ShapeError, "rows of indices have 5 numbers, the input has rank 4"
    )
    OneNode("GATHER_ND", [X, const(0)]).refused(ShapeError, "input of rank 4, indices of rank 0, expected 1 or more")
