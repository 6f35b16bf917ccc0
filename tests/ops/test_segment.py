"""SEGMENT_SUM and UNSORTED_SEGMENT_*: segment numbers of every kind, checked. LiteRT has no reference SEGMENT_SUM."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import Case
from support.compare import BUILTIN, EPS
from support.node import Given, OneNode, const, values

from minilite.errors import KernelError, ShapeError

UNSORTED = [f"UNSORTED_SEGMENT_{kind}" for kind in ("SUM", "PROD", "MAX", "MIN")]
EVERY_TYPE = {
    "SEGMENT_SUM": Case([(5, 3), [0, 0, 1, 2, 2]], tolerance=64 * EPS, oracle=BUILTIN),
    **{op: Case([(5, 3), [2, 0, 2, -1, 1], 4], tolerance=64 * EPS) for op in UNSORTED},
}


@pytest.mark.parametrize("kind", ["f32", "s32"])
@pytest.mark.parametrize("constant", [True, False])
def test_sorted(kind: str, constant: bool) -> None:
    rng = np.random.default_rng(5)
    for shape in ((5,), (5, 3), (5, 2, 3)):
        for ids in ([0, 0, 0, 0, 0], [0, 1, 2, 3, 4], [0, 0, 1, 1, 2]):
            given = Given(np.array(ids, np.int32), constant)
            OneNode("SEGMENT_SUM", [values(rng, kind, shape), given]).check(tolerance=64 * EPS, oracle=BUILTIN)


@pytest.mark.parametrize("op", UNSORTED)
@pytest.mark.parametrize("kind", ["f32", "s32"])
@pytest.mark.parametrize("constant", [True, False])
def test_unsorted(op: str, kind: str, constant: bool) -> None:
    rng = np.random.default_rng(5)
    for shape in ((5,), (5, 3), (5, 2, 3)):
        for ids in ([4, 0, 4, 1, 0], [3, 3, 3, 3, 3], [-1, 0, -1, 2, 5]):
            given = [Given(np.array(v, np.int32), constant) for v in (ids, 6)]
            OneNode(op, [values(rng, kind, shape), *given]).check(tolerance=256 * EPS)


def test_numbers_are_checked() -> None:
    x = np.zeros((3, 2), np.float32)
    for ids in ([0, 2, 1], [-1, 0, 1]):
        OneNode("SEGMENT_SUM", [x, const(ids)]).refused(ShapeError, "segment number", by_litert=False)
    OneNode("SEGMENT_SUM", [x, const([0, 1])]).refused(ShapeError, "do not match", by_litert=False)
    for op in UNSORTED:
        node = OneNode(op, [x, np.array([0, 7, 1], np.int32), const(2)])
        node.refused(KernelError, "segment number 1 is 7, expected less than 2", by_litert=False)
