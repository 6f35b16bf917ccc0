"""TILE, BROADCAST_TO: C kernels, numpy references and LiteRT (BUILTIN_REF) agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import REFERENCE
from support.node import OneNode, const, counting

from minilite.errors import ShapeError

BY_LITERT = {
    "TILE": "f32 f16 s8 u8 b8 s16 s32 s64 string",
    "BROADCAST_TO": "f32 f16 f64 s8 u8 b8 s16 u16 s32 u32 s64 u64 c64",
}


def tiled(rng: Any, inputs: Any, outputs: Any) -> Case:
    """Twice and three times."""
    return Case([(2, 1, 3), [2, 3, 1]], oracle=REFERENCE if inputs[0] in BY_LITERT["TILE"].split() else None)


def broadcast(rng: Any, inputs: Any, outputs: Any) -> Case:
    """A dimension in front, one inside."""
    oracle = REFERENCE if inputs[0] in BY_LITERT["BROADCAST_TO"].split() else None
    return Case([(2, 1, 3), [4, 2, 5, 3]], oracle=oracle, version=2)


EVERY_TYPE = {"TILE": tiled, "BROADCAST_TO": broadcast}


@pytest.mark.parametrize(
    ("shape", "multiples"),
    [
        ((3,), [4]),
        ((2, 3), [1, 1]),
        ((2, 3), [3, 1]),
        ((2, 3), [1, 700]),
        ((2, 3, 4), [2, 3, 2]),
        ((1, 2, 1, 2, 1, 2), [2, 2, 2, 2, 2, 2]),
        ((2, 1, 2, 1, 2, 1, 2, 1), [2] * 8),
    ],
)
def test_tile(shape: Any, multiples: Any) -> None:
    x = counting(shape)
    for wrap in (const, lambda value: np.array(value, np.int32)):
        result = OneNode("TILE", [x, wrap(multiples)]).check(oracle=REFERENCE if len(shape) < 7 else None)
        np.testing.assert_array_equal(result, np.tile(x, multiples))


@pytest.mark.parametrize(("shape", "multiples"), [((2, 0), [3, 2]), ((2, 3), [0, 1]), ((), [])])
def test_tile_of_nothing(shape: Any, multiples: Any) -> None:
    x = counting(shape)
    result = OneNode("TILE", [x, const(multiples)]).check(oracle=None)
    np.testing.assert_array_equal(result, np.tile(x, multiples))


def test_tile_refused() -> None:
    x = counting((2, 3))
    OneNode("TILE", [x, const([2])]).refused(ShapeError, "multiples have the shape .1., the input rank 2")
    OneNode("TILE", [x, const([2, -1])]).refused(ShapeError, "multiple 1 is -1, expected 0 to", by_litert=False)
    OneNode("TILE", [x, const([2, 2**30])]).refused(ShapeError, "dimension 1 of the result would be", by_litert=False)


@pytest.mark.parametrize(
    ("shape", "target"),
    [((3,), [2, 3]), ((2, 1), [2, 4]), ((1,), [3, 2, 5]), ((2, 1, 3, 1), [2, 4, 3, 5]), ((1, 3), [700, 3]), ((), [4])],
)
def test_broadcast_to(shape: Any, target: Any) -> None:
    x = counting(shape)
    for wrap in (const, lambda value: np.array(value, np.int32)):
        result = OneNode("BROADCAST_TO", [x, wrap(target)], version=2).check()
        np.testing.assert_array_equal(result, np.broadcast_to(x, target))


def test_broadcast_to_refused() -> None:
    x = counting((2, 3))
    for wrap in (const, lambda value: np.array(value, np.int32)):
        OneNode("BROADCAST_TO", [x, wrap([2, 4])], version=2).refused(
            ShapeError, "shape .2, 3. does not broadcast to .2, 4."
        )
        OneNode("BROADCAST_TO", [x, wrap([3])], version=2).refused(ShapeError, "shape .2, 3. does not broadcast to .3.")
        OneNode("BROADCAST_TO", [x, wrap([-1, 2, 3])], version=2).refused(
            ShapeError, "dimension 0 is -1, expected 0 or more", by_litert=False
        )
