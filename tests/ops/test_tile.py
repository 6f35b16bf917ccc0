"""TILE, BROADCAST_TO: C kernels, numpy references and LiteRT (BUILTIN_REF) agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import REFERENCE
from support.node import OneNode, const, counting, known_or_not

from minilite.errors import ShapeError

EVERY_TYPE = {
    "TILE": Case([(2, 1, 3), [2, 3, 1]], litert="f32 f16 s8 u8 b8 s16 s32 s64 string"),
    "BROADCAST_TO": Case(
        [(2, 1, 3), [4, 2, 5, 3]], litert="f32 f16 f64 s8 u8 b8 s16 u16 s32 u32 s64 u64 c64", version=2
    ),
}


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
    for given in known_or_not(multiples):
        result = OneNode("TILE", [x, given]).check(oracle=REFERENCE if len(shape) < 7 else None)
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
    for given in known_or_not(target):
        result = OneNode("BROADCAST_TO", [x, given], version=2).check()
        np.testing.assert_array_equal(result, np.broadcast_to(x, target))


def test_broadcast_to_refused() -> None:
    x = counting((2, 3))
    for given in known_or_not([2, 4]):
        OneNode("BROADCAST_TO", [x, given], version=2).refused(ShapeError, "shape .2, 3. does not broadcast to .2, 4.")
    for given in known_or_not([3]):
        OneNode("BROADCAST_TO", [x, given], version=2).refused(ShapeError, "shape .2, 3. does not broadcast to .3.")
    for given in known_or_not([-1, 2, 3]):
        OneNode("BROADCAST_TO", [x, given], version=2).refused(
            ShapeError, "dimension 0 is -1, expected 0 or more", by_litert=False
        )
