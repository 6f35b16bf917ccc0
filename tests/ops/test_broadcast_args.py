"""BROADCAST_ARGS: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import Given, OneNode, const

from minilite.errors import KernelError, ShapeError

EVERY_TYPE = {"BROADCAST_ARGS": Case([[3, 1, 5], [4, 1]])}


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_shapes(constant: bool, dtype: Any) -> None:
    for a, b in (([], [3]), ([2, 1], [2, 7]), ([1, 5], [4, 2, 1, 5]), ([0], [1]), ([6], [])):
        given = [Given(np.array(v, dtype), constant) for v in (a, b)]
        y = OneNode("BROADCAST_ARGS", given).check()
        assert y.tolist() == list(np.broadcast_shapes(tuple(a), tuple(b)))


def test_refused() -> None:
    node = OneNode("BROADCAST_ARGS", [np.array([2, 3], np.int32), np.array([4, 3], np.int32)])
    node.refused(KernelError, "dimensions 2 and 4, from the right number 1, do not broadcast", by_litert=False)
    OneNode("BROADCAST_ARGS", [const([[1]]), const([1])]).refused(ShapeError, "shapes must be vectors")
