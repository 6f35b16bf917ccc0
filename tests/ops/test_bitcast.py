"""BITCAST: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import REFERENCE
from support.node import OneNode, Out, counting, dtype_of, values

from minilite.errors import ShapeError


def every_type(rng: Any, inputs: Any, outputs: Any) -> Any:
    """Whole numbers of the wider type; bytes of numbers that are no NaN. LiteRT has no size for some types."""
    wide, narrow = dtype_of(outputs[0]).itemsize, dtype_of(inputs[0]).itemsize
    shape = (2, 3) if wide <= narrow else (2, 3, wide // narrow)
    oracle = None if {"u32", "u16"} & {*inputs, *outputs} else REFERENCE
    return Case([shape], oracle=oracle)


EVERY_TYPE = {"BITCAST": every_type}


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 0, 4), (2, 3, 1, 4)])
def test_shapes(shape: Any) -> None:
    x = counting(shape)
    for kind in ("s32", "s8", "s16"):
        OneNode("BITCAST", [x], outs=[Out(kind)]).check()
    OneNode("BITCAST", [values(np.random.default_rng(0), "u8", shape)], outs=[Out("s32")]).check()


def test_refused() -> None:
    OneNode("BITCAST", [counting((3, 5), np.int8)], outs=[Out("s32")]).refused(
        ShapeError, "last dimension is 5, must be 4: s8 to s32"
    )
