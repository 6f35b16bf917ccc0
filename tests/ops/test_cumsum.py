"""CUMSUM: along every dimension, from either end."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import Case
from support.compare import EPS
from support.node import Given, OneNode, const, values

from minilite.errors import ShapeError

EVERY_TYPE = {"CUMSUM": Case([(3, 17, 2), 1], {"exclusive": False, "reverse": False}, tolerance=300 * EPS)}


@pytest.mark.parametrize("kind", ["f32", "s32", "s64"])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_axes(kind: str, exclusive: bool, reverse: bool) -> None:
    rng = np.random.default_rng(5)
    for shape in ((1,), (9,), (4, 5), (7, 2), (6, 3), (2, 3, 4), (2, 1, 3, 5), *([] if kind == "f32" else [(3, 300)])):
        for axis in range(-len(shape), len(shape)):
            for constant in (True, False):
                given = Given(np.array(axis, np.int32), constant)
                node = OneNode(
                    "CUMSUM", [values(rng, kind, shape), given], {"exclusive": exclusive, "reverse": reverse}
                )
                node.check(tolerance=200 * EPS)


def test_refusals() -> None:
    options = {"exclusive": False, "reverse": False}
    x = np.zeros((2, 3), np.float32)
    OneNode("CUMSUM", [x, const(2)], options).refused(ShapeError, "axis 2, expected -2 to 1")
    OneNode("CUMSUM", [x, const([0, 1])], options).refused(ShapeError, "axis must be one number")
