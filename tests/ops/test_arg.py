"""ARG_MAX and ARG_MIN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import Given, OneNode, Out, const, dtype_of, values

from minilite.errors import ShapeError

OPS = ["ARG_MAX", "ARG_MIN"]


def every_type(op: str) -> Any:
    def case(rng: np.random.Generator, inputs: Any, outputs: Any) -> Any:
        return Case([(3, 17, 5), [1]], {"output_type": "INT64" if outputs[0] == "s64" else "INT32"})

    return case


EVERY_TYPE = {op: every_type(op) for op in OPS}


def arg(op: str, x: Any, axis: Any, constant: bool = True, wide: bool = False) -> OneNode:
    options = {"output_type": "INT64" if wide else "INT32"}
    return OneNode(op, [x, Given(np.array(axis, np.int32), constant)], options, outs=[Out("s64" if wide else "s32")])


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
@pytest.mark.parametrize("kind", ["f32", "s8", "u8", "s32", "b8"])
def test_rows_of_few_values(op: str, kind: str) -> None:
    """Short rows are searched eight at a time, longer ones by themselves; many values are equal."""
    rng = np.random.default_rng(6)
    for size in (*range(1, 41), 63, 64, 65, 129):
        x = rng.integers(0, 4, (19, size))
        few = x.astype(dtype_of(kind)) if kind == "b8" else (x * 40 - 64 * (kind != "u8")).astype(dtype_of(kind))
        y = arg(op, few, 1, wide=size % 2 == 0).check()
        np.testing.assert_array_equal(np.ravel(y), few.argmax(1) if op == "ARG_MAX" else few.argmin(1))


@pytest.mark.parametrize("op", OPS)
def test_not_a_number_in_a_row(op: str) -> None:
    """NaN is skipped; a row of nothing else, or of nothing better than infinity, has its first position. LiteRT is not
    asked: it keeps a NaN in the first position."""
    rng = np.random.default_rng(7)
    worst = -np.inf if op == "ARG_MAX" else np.inf
    for size in (1, 2, 3, 8, 21, 64, 65, 100):
        x = rng.integers(0, 5, (19, size)).astype(np.float32)
        x[rng.random(x.shape) < 0.3] = np.nan
        x[3], x[4] = np.nan, worst
        x[5, : size // 2] = np.nan
        real = np.where(np.isnan(x), worst, x)
        node, wanted = arg(op, x, 1), real.argmax(1) if op == "ARG_MAX" else real.argmin(1)
        np.testing.assert_array_equal(node.run(), wanted)
        np.testing.assert_array_equal(node.run(reference=True), wanted)


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
