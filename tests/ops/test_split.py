"""SPLIT, SPLIT_V, UNPACK: C kernels, numpy references and LiteRT (BUILTIN_REF) agree on all outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import OneNode, Out, const, counting, known_or_not, quantized

from minilite.errors import ShapeError, UnsupportedOpError

BY_LITERT = "f32 s8 u8 s16 s32 s64"
EVERY_TYPE = {
    "SPLIT": Case([1, (3, 6, 2)], {"num_splits": 2}, litert=BY_LITERT),
    "SPLIT_V": Case([(3, 6, 2), [1, -1], 1], {"num_splits": 2}, litert=BY_LITERT),
    "UNPACK": Case([(3, 2, 5)], {"num": 2, "axis": 1}, litert="f32 s8 u8 b8 s16 s32", one_scale=True),
}
X = counting((2, 6, 4))


def outs(count: int) -> list[Out]:
    return [Out("f32")] * count


@pytest.mark.parametrize(("axis", "count"), [(0, 2), (1, 1), (1, 3), (2, 4), (-1, 2), (-3, 1)])
def test_split(axis: int, count: int) -> None:
    for given in known_or_not(axis):
        OneNode("SPLIT", [given, X], {"num_splits": count}, outs=outs(count)).check()


def test_split_refused() -> None:
    options = {"num_splits": 4}
    for given in known_or_not(1):
        OneNode("SPLIT", [given, X], options, outs=outs(4)).refused(
            ShapeError, "dimension 1 of size 6 cannot be split into 4 equal parts"
        )
    OneNode("SPLIT", [const(3), X], options, outs=outs(4)).refused(ShapeError, "axis 3, expected -3 to 2")
    OneNode("SPLIT", [const(1), X], options, outs=outs(2)).refused(
        UnsupportedOpError, "num_splits is 4, the node has 2 outputs"
    )
    OneNode("SPLIT", [const([1, 1]), X], options, outs=outs(4)).refused(
        ShapeError, "axis has the shape .2., expected one element", by_litert=False
    )  # LiteRT takes the first


@pytest.mark.parametrize(("sizes", "axis"), [([1, 5], 1), ([2, -1, 1], 1), ([0, 4], 2), ([-1], 0), ([1, 1, 2], -1)])
def test_split_v(sizes: Any, axis: int) -> None:
    options = {"num_splits": len(sizes)}
    OneNode("SPLIT_V", [X, const(sizes), const(axis)], options, outs=outs(len(sizes))).check()
    if 0 not in sizes:  # LiteRT's Python cannot read an output that a run leaves empty
        given = [X, np.array(sizes, np.int32), np.array(axis, np.int32)]
        OneNode("SPLIT_V", given, options, outs=outs(len(sizes))).check()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([2, 3], "sizes add up to 5, the dimension has 6"),
        ([6, 1], "sizes add up to 7, the dimension has 6"),
        ([-1, -1], "sizes 0 and 1 are both -1"),
        ([-2, 8], "size 0 is -2, expected -1 to 6"),
        ([1, 2, 3], "sizes have the shape .3., the node 2 outputs"),
    ],
)
def test_split_v_refused(sizes: Any, message: str) -> None:
    for given in known_or_not(sizes):
        node = OneNode("SPLIT_V", [X, given, const(1)], {"num_splits": 2}, outs=outs(2))
        node.refused(ShapeError, message, by_litert=sizes != [-2, 8])  # LiteRT takes -2 for a size


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_unpack(axis: int) -> None:
    count = X.shape[axis]
    OneNode("UNPACK", [X], {"num": count, "axis": axis}, outs=outs(count)).check()


def test_unpack_to_scalars() -> None:
    OneNode("UNPACK", [counting((2,))], {"num": 2, "axis": 0}, outs=outs(2)).check()


def test_unpack_refused() -> None:
    OneNode("UNPACK", [X], {"num": 3, "axis": 1}, outs=outs(3)).refused(
        ShapeError, "dimension 1 has size 6, the node 3 outputs"
    )
    OneNode("UNPACK", [X], {"num": 2, "axis": 3}, outs=outs(2)).refused(ShapeError, "axis 3, expected -3 to 2")
    OneNode("UNPACK", [X], {"num": 3, "axis": 0}, outs=outs(2)).refused(
        UnsupportedOpError, "num is 3, the node has 2 outputs"
    )
    scaled = OneNode("UNPACK", [quantized(counting((1, 3), np.int8), 0.5, 1)], {"num": 1, "axis": 0})
    scaled.refused(UnsupportedOpError, "scale and zero point .0.5, 1. of the input do not match")
