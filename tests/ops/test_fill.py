"""FILL, ZEROS_LIKE, RANGE: C kernels, numpy references and LiteRT (BUILTIN_REF) agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import REFERENCE
from support.node import Given, OneNode, Out, const, counting, quantized

from minilite.errors import ShapeError, UnsupportedOpError

BY_LITERT = "f32 f16 s8 b8 s16 s32 s64"  # strings too, but its Python cannot set a scalar one
EVERY_TYPE = {
    "FILL": Case([[2, 3], ()], litert=BY_LITERT, one_scale=True),
    "ZEROS_LIKE": Case([(2, 3)]),
    "RANGE": Case([-3, 9, 2]),
}


def node(op: str, inputs: Any) -> OneNode:
    """Its output is of the last input's type."""
    last = inputs[-1].array if isinstance(inputs[-1], Given) else inputs[-1]
    return OneNode(op, inputs, outs=[Out({"f": "f32", "i": f"s{8 * last.itemsize}"}[last.dtype.kind])])


@pytest.mark.parametrize("dims", [[], [5], [2, 3, 4], [3, 0]])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_fill(dims: Any, kind: Any) -> None:
    value = np.array(7.5, np.float32)
    assert node("FILL", [const(dims, kind), value]).check(oracle=REFERENCE if dims else None).shape == tuple(dims)
    if 0 not in dims and dims:  # LiteRT's Python cannot read an output that a run leaves empty
        assert node("FILL", [np.array(dims, kind), value]).check().shape == tuple(dims)


def test_fill_refused() -> None:
    value = np.array(7.5, np.float32)
    for wrap in (const, lambda dims: np.array(dims, np.int32)):
        node("FILL", [wrap([2, -1]), value]).refused(ShapeError, "dimension 1 is -1, expected 0 or more")
        node("FILL", [wrap([[2]]), value]).refused(ShapeError, "dims have the shape .1, 1., expected a vector")
    node("FILL", [const([2]), counting((2,))]).refused(ShapeError, "the value has the shape .2., expected one element")
    scaled = OneNode("FILL", [const([2]), quantized(np.array(1, np.int8), 0.5, 1)], kind="s8")
    scaled.refused(UnsupportedOpError, "of the value do not match")


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 5)])
def test_zeros_like(shape: Any) -> None:
    assert not OneNode("ZEROS_LIKE", [counting(shape)]).check().any()


@pytest.mark.parametrize(
    ("start", "limit", "delta"), [(0, 5, 1), (1, 10, 4), (5, 0, -1), (9, -3, -5), (3, 3, 1), (3, 3, -2), (0, 1, 7)]
)
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32])
def test_range(start: int, limit: int, delta: int, kind: Any) -> None:
    expected = np.arange(start, limit, delta, kind)
    result = node("RANGE", [const(v, kind) for v in (start, limit, delta)]).check(
        oracle=REFERENCE if expected.size else None
    )
    np.testing.assert_array_equal(result, expected)
    if expected.size:  # LiteRT's Python cannot read an output that a run leaves empty
        node("RANGE", [np.array(v, kind) for v in (start, limit, delta)]).check()


def test_range_of_fractions() -> None:
    node("RANGE", [const(v, np.float32) for v in (0.0, 10.0, 0.1)]).check()


@pytest.mark.parametrize(("start", "limit", "delta"), [(0, 5, -1), (5, 0, 1), (0, 5, 0)])
@pytest.mark.parametrize("kind", [np.int32, np.float32])
def test_range_refused(start: int, limit: int, delta: int, kind: Any) -> None:
    for wrap in (const, lambda value, kind: np.array(value, kind)):
        node("RANGE", [wrap(v, kind) for v in (start, limit, delta)]).refused(
            ShapeError, "delta has the wrong sign or is 0"
        )
    node("RANGE", [const([0, 1]), const(1), const(1)]).refused(ShapeError, "start has the shape .2.", by_litert=False)
