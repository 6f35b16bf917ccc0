"""STABLEHLO_ADD, _MULTIPLY, _MAXIMUM, _MINIMUM, _AND, _SHIFT_LEFT: bit for bit (oracle: BUILTIN_REF; of _AND and
_SHIFT_LEFT the optimized kernels)."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import Case
from support.compare import BUILTIN
from support.halves import any_halves
from support.node import OneNode

from minilite.errors import ShapeError

OPS = ["STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM"]
EVERY_TYPE = {
    **dict.fromkeys(OPS, Case([(5, 40), (5, 40)])),
    "STABLEHLO_AND": Case([(5, 40), (5, 40)], oracle=BUILTIN),
    "STABLEHLO_SHIFT_LEFT": Case([(7,), [0, 1, 2, 3, 4, 5, 6]], oracle=BUILTIN),
}


@pytest.mark.parametrize("op", OPS)
def test_nan_and_infinity(op: str) -> None:
    a = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1], np.float32)
    OneNode(op, [a[:, None].repeat(6, 1), a[None].repeat(6, 0)]).check()


@pytest.mark.parametrize("op", OPS)
def test_halves_of_all_kinds(op: str) -> None:
    rng = np.random.default_rng(8)
    with np.errstate(all="ignore"):
        OneNode(op, [any_halves(rng, (3000,)), any_halves(rng, (3000,))]).check()


@pytest.mark.parametrize("op", [*OPS, "STABLEHLO_AND"])
def test_shapes(op: str) -> None:
    for shape in ((), (0, 2), (3, 1, 2, 1, 7)):
        x = np.ones(shape, np.int32)
        OneNode(op, [x, np.full_like(x, 3)]).check(oracle=BUILTIN)
    a, b = np.zeros((2, 3), np.int32), np.zeros((1, 3), np.int32)
    refused = r"shapes \(2, 3\) and \(1, 3\) must be equal"
    OneNode(op, [a, b]).refused(ShapeError, refused)


def test_shifts_out_of_range() -> None:
    """Such shifts give 0; in C++ they are undefined."""
    a, b = np.array([1, 1, -1, 3], np.int8), np.array([-1, 8, 100, 7], np.int8)
    assert OneNode("STABLEHLO_SHIFT_LEFT", [a, b]).check(oracle=None).tolist() == [0, 0, 0, -128]
