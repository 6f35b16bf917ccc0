"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import EPS
from support.node import Given, OneNode, const, values

from minilite.errors import ShapeError, UnsupportedOpError

OPS = ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"]
EVERY_TYPE: dict[str, Any] = {
    op: Case([(2, 5, 3, 4), [7, 8]], {"align_corners": False, "half_pixel_centers": False}, tolerance=40 * EPS)
    for op in OPS
}
SIZES = [
    ((1, 4, 4, 3), (8, 8)),
    ((2, 5, 3, 1), (2, 7)),
    ((1, 1, 1, 2), (3, 4)),
    ((1, 6, 7, 2), (1, 1)),
    ((1, 10, 10, 1), (10, 10)),
    ((1, 3, 9, 4), (13, 5)),
]


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", ["f32", "u8", "s8", "s16"])
@pytest.mark.parametrize(("corners", "centers"), [(False, False), (True, False), (False, True)])
def test_sizes(op: str, kind: str, corners: bool, centers: bool) -> None:
    rng = np.random.default_rng(5)
    for shape, size in SIZES:
        x = values(rng, kind, shape)
        for constant in (True, False):
            node = OneNode(
                op,
                [x, Given(np.array(size, np.int32), constant)],
                {"align_corners": corners, "half_pixel_centers": centers},
            )
            node.check(tolerance=40 * EPS)


@pytest.mark.parametrize("kind", ["f32", "s8"])
def test_nearest_pixels_of_any_width(kind: str) -> None:
    """Lines that are those before them, and pixels of all numbers of moves; two images."""
    rng = np.random.default_rng(6)
    for n in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 32, 33, 64, 65, 130, 513):
        for size in ((9, 11), (2, 3)):
            node = OneNode(
                "RESIZE_NEAREST_NEIGHBOR",
                [values(rng, kind, (2, 3, 4, n)), const(size)],
                {"align_corners": False, "half_pixel_centers": False},
            )
            node.check()


@pytest.mark.parametrize("op", OPS)
def test_refusals(op: str) -> None:
    options = {"align_corners": False, "half_pixel_centers": False}
    x = np.zeros((1, 2, 2, 1), np.float32)
    OneNode(op, [x[0], const([2, 2])], options).refused(ShapeError, "input must be")
    if op == "RESIZE_BILINEAR":
        both = OneNode(op, [x, const([2, 2])], {"align_corners": True, "half_pixel_centers": True})
        both.refused(UnsupportedOpError, "align_corners and half_pixel_centers exclude each other", by_litert=False)
    OneNode(op, [x, const([2, 2, 2])], options).refused(ShapeError, "size must be")
    for size in ([0, 2], [2, -1]):
        OneNode(op, [x, const(size)], options).refused(ShapeError, "of dimension", by_litert=False)  # it divides by 0
