"""SELECT, SELECT_V2: bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import OneNode, values

from minilite.errors import ShapeError, UnsupportedOpError


def every_type(broadcasts: bool) -> Any:
    def case(rng: Any, inputs: Any, outputs: Any) -> Case:
        return Case([(5, 1, 9), (7, 1), (5, 7, 9)] if broadcasts else [(5, 9)] * 3)

    return case


EVERY_TYPE = {"SELECT": every_type(False), "SELECT_V2": every_type(True)}
SHAPES = {
    "SELECT": [((3, 4), (3, 4), (3, 4)), ((), (2, 3), (2, 3)), ((2,), (2, 3, 4), (2, 3, 4)), ((0,), (0, 3), (0, 3)), ((), (), ())],
    "SELECT_V2": [((3, 4), (), ()), ((4,), (3, 4), (1,)), ((2, 1, 3), (5, 1), (1,)), ((1, 2, 1, 2), (3, 1, 2, 1), (2,)), ((0, 3), (3,), (1,))],
}  # fmt: skip


@pytest.mark.parametrize("op", list(SHAPES))
def test_shapes(op: str) -> None:
    rng = np.random.default_rng(1)
    for condition, x, y in SHAPES[op]:
        OneNode(op, [values(rng, "b8", condition), values(rng, "f32", x), values(rng, "f32", y)], kind="f32").check()


def test_refusals() -> None:
    x, condition = np.zeros((2, 3), np.float32), np.zeros(3, np.bool_)
    OneNode("SELECT", [condition, x, x], kind="f32").refused(
        ShapeError, r"the condition's shape \(3\) must be x's \(2, 3\)"
    )
    OneNode("SELECT", [condition[0], x, x[0]], kind="f32").refused(
        ShapeError, r"\(2, 3\) and \(3\) of x and y must be equal"
    )
    OneNode("SELECT_V2", [condition[:2], x, x], kind="f32").refused(ShapeError, "do not broadcast")
    OneNode("SELECT_V2", [x, x, x]).refused(UnsupportedOpError, "types f32 f32 f32 -> f32 of condition x y -> z")
