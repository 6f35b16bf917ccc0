"""REVERSE_SEQUENCE: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import OneNode, counting

from minilite.errors import KernelError, ShapeError

EVERY_TYPE = {"REVERSE_SEQUENCE": Case([(2, 5, 3), [2, 5]], {"seq_dim": 1, "batch_dim": 0})}


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("along", range(4))
@pytest.mark.parametrize("across", range(4))
def test_dimensions(along: int, across: int, dtype: Any) -> None:
    x = counting((3, 4, 2, 5))
    lengths = np.random.default_rng(1).integers(1, x.shape[along] + 1, x.shape[across]).astype(dtype)
    node = OneNode("REVERSE_SEQUENCE", [x, lengths], {"seq_dim": along, "batch_dim": across})
    if along == across:
        node.refused(ShapeError, f"seq_dim is {along} and batch_dim {across}: they must be two of the input's 4")
    else:
        node.check()


def test_lengths() -> None:
    x = counting((3, 4), np.int16)
    options = {"seq_dim": 1, "batch_dim": 0}
    OneNode("REVERSE_SEQUENCE", [x, np.array([0, 1, 4], np.int32)], options).check(oracle=None)  # LiteRT takes 0 for 1
    for lengths, words in (([1, 5, 2], "length 1 is 5, expected 0 to 4"), ([1, 2, -1], "length 2 is -1")):
        node = OneNode("REVERSE_SEQUENCE", [x, np.array(lengths, np.int32)], options)
        node.refused(KernelError, words, by_litert=False)  # LiteRT looks at the first alone
    node = OneNode("REVERSE_SEQUENCE", [x, np.array([1, 1], np.int32)], options)
    node.refused(ShapeError, r"lengths have the shape \(2\), expected \(3,\)")
