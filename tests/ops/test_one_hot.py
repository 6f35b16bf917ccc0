"""ONE_HOT: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import Given, OneNode, const, values

from minilite.errors import ShapeError

EVERY_TYPE = {"ONE_HOT": Case([[[0, 3], [-1, 2]], 4, [7], 1], {"axis": -1})}


def one_hot(indices: Any, depth: Any, axis: int = -1, kind: str = "f32") -> OneNode:
    on, off = (Given(values(np.random.default_rng(k), kind, ())) for k in (1, 2))
    depths = depth if isinstance(depth, Given) else const(depth)
    return OneNode("ONE_HOT", [np.asarray(indices), depths, on, off], {"axis": axis}, kind=kind)


@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_axes(axis: int, dtype: Any) -> None:
    indices = np.random.default_rng(0).integers(-2, 7, (3, 4), dtype)
    for kind in ("f32", "s64", "s8", "b8"):
        y = one_hot(indices, 5, axis, kind).check()
        assert y.shape[axis] == 5


@pytest.mark.parametrize(("shape", "depth"), [((), 3), ((0,), 3), ((2, 0, 3), 2), ((4,), 0), ((300, 7), 129)])
def test_shapes(shape: Any, depth: int) -> None:
    one_hot(np.random.default_rng(0).integers(0, max(depth, 1), shape, np.int32), depth).check()


def test_depth_at_run_time() -> None:
    one_hot(np.array([1, 0, 5], np.int32), Given(np.array(6, np.int32))).check()
    one_hot(np.array([1, 0, 5], np.int32), Given(np.array([2], np.int32))).check()


@pytest.mark.parametrize("constant", [True, False])
def test_depth_of_64_bits(constant: bool) -> None:
    """LiteRT reads its lower half alone; what does not fit there is refused."""
    indices = np.array([1, 0, 5], np.int32)
    for kind in ("f32", "s8", "s64"):
        one_hot(indices, Given(np.array(6, np.int64), constant), kind=kind).check()
    for depth, words in ((-1, "depth is -1, expected 0 or more"), (2**32 + 6, "would be 4294967302")):
        one_hot(indices, Given(np.array(depth, np.int64), constant)).refused(ShapeError, words, by_litert=depth < 0)


def test_refused() -> None:
    indices = np.array([1, 0], np.int32)
    one_hot(indices, -1).refused(ShapeError, "depth is -1, expected 0 or more")
    one_hot(indices, 3, axis=2).refused(ShapeError, "axis 2, expected -1 to 1")
    one_hot(indices, 3, axis=-2).refused(ShapeError, "axis -2, expected -1 to 1")
    one_hot(indices, [3, 4]).refused(ShapeError, "depth must be one value, it has 2")
    one_hot(np.zeros((1,) * 8, np.int32), 3).refused(ShapeError, "more than 8", by_litert=False)
