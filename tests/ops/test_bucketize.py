"""BUCKETIZE: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import Case
from support.node import OneNode

from minilite.errors import UnsupportedOpError

EVERY_TYPE = {"BUCKETIZE": Case([(6, 30)], {"boundaries": (-3.0, -1.5, 0.0, 0.5, 0.5, 2.0)})}


def bucketize(x: object, boundaries: object) -> OneNode:
    return OneNode("BUCKETIZE", [np.asarray(x)], {"boundaries": boundaries}, kind="s32")


@pytest.mark.parametrize("boundaries", [(), (1.0,), (-1.0, -1.0, 2.5), tuple(range(100))])
def test_boundaries(boundaries: tuple[float, ...]) -> None:
    rng = np.random.default_rng(3)
    bucketize(np.round(rng.normal(size=(5, 40)) * 20).astype(np.float32), boundaries).check()
    bucketize(rng.normal(size=(0, 4)).astype(np.float32), boundaries).check()
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 1.0], np.float64)
    bucketize(special, boundaries).check()
    bucketize(special.astype(np.float32), boundaries).check()


def test_integers_are_compared_as_float32() -> None:
    x = np.array([2**24, 2**24 + 1, 2**24 + 2, -5], np.int32)
    bucketize(x, (float(2**24), float(2**24 + 2))).check()
    bucketize(x.astype(np.int64), (float(2**24), float(2**24 + 2))).check()


def test_refused() -> None:
    bucketize(np.zeros(3, np.float32), (2.0, 1.0)).refused(UnsupportedOpError, "boundaries are not sorted")
    bucketize(np.zeros(3, np.int8), (1.0,)).refused(UnsupportedOpError, "types s8 -> s32 of x -> y")
