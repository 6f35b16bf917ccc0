"""NON_MAX_SUPPRESSION_V4, _V5: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.compare import EPS, REFERENCE
from support.node import Array, Given, OneNode, Out

from minilite.errors import KernelError, ShapeError


def boxes_of(rng: np.random.Generator, count: int) -> Array:
    """Corners in any order."""
    centres, sizes = rng.uniform(0, 1, (count, 2)), rng.uniform(-0.4, 0.4, (count, 2))
    return np.concatenate([centres - sizes, centres + sizes], axis=1).astype(np.float32)


def nms(
    boxes: Array,
    scores: Array,
    most: int,
    overlap: float,
    least: float,
    sigma: float | None = None,
    constant: bool = True,
) -> OneNode:
    numbers = [Given(np.array(most, np.int32), constant), *(Given(np.float32(v)) for v in (overlap, least))]
    if sigma is None:
        return OneNode("NON_MAX_SUPPRESSION_V4", [boxes, scores, *numbers], outs=[Out("s32"), Out("s32")])
    outs = [Out("s32"), Out("f32"), Out("s32")]
    return OneNode("NON_MAX_SUPPRESSION_V5", [boxes, scores, *numbers, Given(np.float32(sigma))], outs=outs)


def drawn(count: int, *rest: Any, **options: Any) -> OneNode:
    rng = np.random.default_rng(count)
    scores = (rng.permutation(count) / max(count, 1)).astype(np.float32)
    return nms(boxes_of(rng, count), scores, *rest, **options)


def every_type(rng: Any, inputs: Any, outputs: Any) -> Any:
    return drawn(40, 10, 0.5, 0.1, None if len(inputs) == 5 else 0.5), {"tolerance": 16 * EPS}


EVERY_TYPE = {"NON_MAX_SUPPRESSION_V4": every_type, "NON_MAX_SUPPRESSION_V5": every_type}


@pytest.mark.parametrize("sigma", [None, 0.0, 0.1, 0.5, 10.0])
@pytest.mark.parametrize("overlap", [0.0, 0.01, 0.3, 0.7, 1.0])
def test_numbers(overlap: float, sigma: Any) -> None:
    """Every number of boxes meets every number of those selected; each of the two meets every least score, and is
    constant and computed."""
    for k, (count, most) in enumerate(itertools.product((0, 1, 7, 100), (0, 1, 5, 100, 200))):
        least, constant = (-1.0, 0.2, 0.99)[k % 3], k % 2 == 0
        oracle = REFERENCE if most or constant else None  # LiteRT gives no values of outputs that became empty
        drawn(count, most, overlap, least, sigma, constant=constant).check(tolerance=64 * EPS, oracle=oracle)


def test_special_boxes() -> None:
    """A box without area overlaps nothing, not even itself, and so is selected again and again, as in LiteRT."""
    boxes = np.array([[0, 0, 1, 1], [0, 0, 0, 1], [1, 1, 0, 0], [np.nan, 0, 1, 1], [5, 5, 6, 6]], np.float32)
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5], np.float32)
    for sigma in (None, 0.3):
        nms(boxes, scores, 5, 0.5, 0.0, sigma).check(tolerance=EPS)
    nms(boxes, np.array([np.nan, 1, np.inf, -np.inf, 0.5], np.float32), 5, 0.5, 0.0).check()
    y = nms(boxes[[0, 4, 0, 4]], np.ones(4, np.float32), 4, 0.5, 0.0).check(oracle=None)  # LiteRT's order is its heap's
    np.testing.assert_array_equal(y, [0, 1, 0, 0])


@pytest.mark.parametrize("sigma", [None, 0.0, 1e-40, 0.5, np.inf, np.nan])
def test_overlaps_that_are_not_numbers(sigma: Any) -> None:
    """A candidate whose score becomes NaN is dropped; otherwise it would stay on top of the heap for ever."""
    special = np.array([0, 1, -1, np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-40], np.float32)
    rng = np.random.default_rng(9)
    for _ in range(40):
        boxes, scores = rng.choice(special, (6, 4)), rng.permutation(6).astype(np.float32) + 1
        nms(boxes, scores, 6, 0.5, 0.0, sigma).check(tolerance=4 * EPS)


def test_refused() -> None:
    for constant in (True, False):
        drawn(5, -1, 0.5, 0.0, constant=constant).refused(ShapeError, "the number to select is -1, expected 0 or more")
    drawn(5, 5, 0.5, 0.0, -1.0).refused(KernelError, "sigma is -1, expected 0 or more")
    rng = np.random.default_rng(0)
    scores = np.zeros(5, np.float32)
    nms(boxes_of(rng, 4), scores, 5, 0.5, 0.0).refused(ShapeError, r"scores have the shape \(5\), expected \(4,\)")
    nms(boxes_of(rng, 5)[:, :3], scores, 5, 0.5, 0.0).refused(ShapeError, r"boxes must be \(count, 4\)")
    many = [boxes_of(rng, 5), scores, np.array([1, 2], np.int32), np.float32(0.5), np.float32(0)]
    node = OneNode("NON_MAX_SUPPRESSION_V4", many, outs=[Out("s32"), Out("s32")])
    node.refused(ShapeError, "the number to select must be one number, it has 2")
