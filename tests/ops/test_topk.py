"""TOPK_V2: values and their indices."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import Case
from support.node import Given, OneNode, Out, const, values

from minilite.errors import ShapeError

EVERY_TYPE = {"TOPK_V2": Case([(3, 17), 5])}


@pytest.mark.parametrize("kind", ["f32", "u8", "s8", "s16", "s32", "s64"])
def test_rows(kind: str) -> None:
    rng = np.random.default_rng(5)
    for shape in ((1,), (9,), (4, 30), (2, 3, 101)):
        for k in {1, 2, shape[-1] // 2 + 1, shape[-1]} - {0}:
            if k > shape[-1]:
                continue
            for constant in (True, False):
                x = values(rng, kind, shape)
                for array in (x, (x // 40).astype(x.dtype)):
                    count = Given(np.array(k, np.int32), constant)
                    OneNode("TOPK_V2", [array, count], outs=[Out(kind), Out("s32")]).check()


def test_short_indices() -> None:
    x = values(np.random.default_rng(5), "f32", (2, 300))
    for count in (const(7, np.int16), np.array(7, np.int16)):
        OneNode("TOPK_V2", [x, count], outs=[Out("f32"), Out("s16")]).check()
    wide = OneNode("TOPK_V2", [np.zeros((1, 32769), np.int8), const(2, np.int16)], outs=[Out("s8"), Out("s16")])
    wide.refused(ShapeError, "16-bit indices cannot count 32769 elements", by_litert=False)  # LiteRT lets them wrap


def test_refusals() -> None:
    x = np.zeros((2, 3), np.float32)
    outs = [Out("f32"), Out("s32")]
    OneNode("TOPK_V2", [x, const(4)], outs=outs).refused(ShapeError, "k is 4, expected 0 to 3")
    OneNode("TOPK_V2", [x, const(-1)], outs=outs).refused(ShapeError, "k is -1", by_litert=False)
    OneNode("TOPK_V2", [x, const([1, 2])], outs=outs).refused(ShapeError, "k must be one number", by_litert=False)
