"""ADD_N: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import EPS
from support.node import OneNode, values

from minilite.errors import ShapeError, UnsupportedOpError

EVERY_TYPE = {"ADD_N": Case([(3, 5)] * 4, tolerance=16 * EPS)}


@pytest.mark.parametrize("kind", ["f32", "s32"])
@pytest.mark.parametrize("shape", [(), (0, 3), (3, 5), (5000,)])
def test_sums(kind: str, shape: Any) -> None:
    rng = np.random.default_rng(1)
    for count in (2, 3, 9):
        OneNode("ADD_N", [values(rng, kind, shape) for _ in range(count)]).check(tolerance=64 * EPS)


def test_refused() -> None:
    x = np.zeros((2, 3), np.float32)
    OneNode("ADD_N", [x, x, x[:1]]).refused(ShapeError, r"input 2 has the shape \(1, 3\), input 0 has \(2, 3\)")
    OneNode("ADD_N", [x]).refused(UnsupportedOpError, "input 1 \\(b\\) is absent")
