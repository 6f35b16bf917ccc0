"""ARG_MAX and ARG_MIN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import Given, OneNode, Out, const, values

from minilite.errors import ShapeError

OPS = ["ARG_MAX", "ARG_MIN"]


def every_type(op: str) -> Any:
    def case(rng: np.random.Generator, inputs: Any, outputs: Any) -> Any:
        return Case([(3, 17, 5), [1]], {"output_type": "INT64" if outputs[0] == "s64" else "INT32"})

    return case


EVERY_TYPE = {op: every_type(op) for op in OPS}


def arg(op: str, x: Any, axis: Any, constant: bool = True) -> OneNode:
    return OneNode(op, [x, Given(np.array(axis, np.int32), constant)], {"output_type": "INT32"}, outs=[Out("s32")])


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", ["f32", "s8", "u8", "s32"])
def test_axes(op: str, kind: str) -> None:
    rng = np.random.default_rng(5)
    shapes = ((1,), (9,), (4, 5), (2, 3, 4), (2, 3, 4, 5), (2, 1, 1, 2, 3), (19, 21), (2, 256), (2, 257), (3, 300, 11))
    for shape in shapes:
        for axis in range(-len(shape), len(shape)):
            x = values(rng, kind, shape)
            for constant in (True, False):
                arg(op, x, axis, constant).check()
            arg(op, (x // 8).astype(x.dtype), [axis]).check()


@pytest.mark.parametrize("op", OPS)
def test_not_a_number(op: str) -> None:
    for x in ([np.nan, 1, 2], [1, np.nan, 2], [2, 1, np.nan], [np.inf, -np.inf, np.inf]):
        arg(op, np.array(x, np.float32), 0).check()


@pytest.mark.parametrize("op", OPS)
def test_refusals(op: str) -> None:
    x = np.zeros((2, 3), np.float32)
    arg(op, x, 2).refused(ShapeError, "axis 2, expected -2 to 1", by_litert=False)  # reads outside
    arg(op, x, [0, 1]).refused(ShapeError, "axis must be one number", by_litert=False)  # takes the first
    OneNode(op, [np.zeros((2, 0), np.float32), const(1)], {"output_type": "INT32"}, outs=[Out("s32")]).refused(
        ShapeError, "nothing to choose from", by_litert=False
    )
