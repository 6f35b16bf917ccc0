"""DILATE: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import Given, OneNode, const, counting

from minilite.errors import ShapeError


def every_type(rng: Any, inputs: Any, outputs: Any) -> Case:
    return Case([(2, 3, 4), [2, 1, 3], 5])


EVERY_TYPE = {"DILATE": every_type}


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("shape", "by"), [((3,), [1]), ((3,), [4]), ((3, 4), [1, 2]), ((3, 4), [2, 1]), ((2, 3, 4, 2), [3, 1, 2, 1])]
)
def test_shapes(shape: Any, by: Any, constant: bool) -> None:
    for dtype in (np.float32, np.int8, np.int64):
        given = [counting(shape, dtype), Given(np.array(by, np.int32), constant), const(9, dtype)]
        OneNode("DILATE", given).check()


def test_nothing() -> None:
    """LiteRT gives an empty dimension the size 1 - dilation."""
    given = [counting((2, 0)), const([2, 2]), const(9, np.float32)]
    assert OneNode("DILATE", given).check(oracle=None).shape == (3, 0)


def test_refused() -> None:
    """LiteRT computes the shape of its output from dilations before it checks them."""
    x, value = counting((2, 3)), const(0, np.float32)
    for dilations, held, words in (
        ([2, 0], value, "dilation 1 is 0, expected 1 or more"),
        ([2], value, r"dilations have the shape \(1\), expected \(2,\)"),
        ([2, 2], const([0, 0], np.float32), "must be one number, it has 2"),
    ):
        OneNode("DILATE", [x, const(dilations), held]).refused(ShapeError, words, by_litert=False)
