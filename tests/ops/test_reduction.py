"""MEAN: integers bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import EPS
from support.node import Array, Given, OneNode, const, dtype_of, quantized, scaled, values

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.quantization import NOT_QUANTIZED, Quantization

KINDS = ["f32", "s32", "s64", "s8", "u8", "s16"]
CASES: list[tuple[Any, Any]] = [
    ((100,), [0]),
    ((4, 5), [1]),
    ((4, 5), [0]),
    ((4, 5), [0, 1]),
    ((4, 5), [-1]),
    ((4, 5), []),
    ((4, 5), [0, 0, -2]),
    ((1, 1), [0]),
    ((3, 1, 4), [1]),
    ((1, 300, 3), [1]),
    ((2, 3, 4, 5), [1, 2]),
    ((2, 3, 4, 5), [2, 1]),
    ((2, 3, 4, 5), [0, 2]),
    ((2, 3, 4, 5), [1, 3]),
    ((2, 7, 7, 33), [1, 2]),
    ((2, 3, 4, 5, 2), [1, 3]),
    ((2, 2, 2, 2, 2), [-1, 0]),
]
EVERY_TYPE = {"MEAN": Case([(3, 17, 5), [1, 2]], version=2, tolerance=16 * EPS)}


def mean(
    x: Any, axes: Any, keep: bool = False, scales: Any = (NOT_QUANTIZED, NOT_QUANTIZED), constant: bool = True
) -> OneNode:
    axes = Given(np.array(axes, np.int32), constant)
    given = x if isinstance(x, Given) else Given(x, quantization=scales[0])
    return OneNode("MEAN", [given, axes], {"keep_dims": keep}, quantization=scales[1], version=2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("constant", [True, False])
def test_axes(kind: str, keep: bool, constant: bool) -> None:
    rng = np.random.default_rng(9)
    for shape, axes in CASES:
        x = values(rng, kind, shape)
        if kind == "s64":
            x = x // 2**20
        ours = scaled(rng, kind, 1e-3, 0.3)
        for other in (ours, scaled(rng, kind, 1e-3, 0.3)):
            mean(x, axes, keep, (ours, other), constant).check(tolerance=16 * EPS)


@pytest.mark.parametrize("kind", KINDS)
def test_no_elements(kind: str) -> None:
    """The mean of nothing is NaN, or 0 for integers."""
    rng = np.random.default_rng(9)
    for shape, axes in (((0, 3), [0]), ((3, 0), [0]), ((0,), [0]), ((2, 0, 3), [1, 2])):
        mean(values(rng, kind, shape), axes, False, (scaled(rng, kind, 0.1, 0.1),) * 2).check()


@pytest.mark.parametrize("kind", ["f32", "s32"])
def test_rank_0(kind: str) -> None:
    mean(values(np.random.default_rng(9), kind, ()), []).check()


@pytest.mark.parametrize("kind", ["s8", "u8", "s16"])
def test_without_quantization(kind: str) -> None:
    """A scale that is missing counts as 0, and so does every mean."""
    x: Array = np.arange(12).reshape(3, 4).astype(dtype_of(kind))
    assert not mean(x, [1]).check().any()


def test_small_multiplier() -> None:
    """The count takes no more bits of the multiplier than there are."""
    for zero_point in (3, -128):
        x = quantized(np.full((1, 8192), 100, np.int8), 1e-6, 0)
        np.testing.assert_array_equal(
            mean(x, [1], scales=(None, Quantization((1.0,), (zero_point,)))).check(), [zero_point]
        )


def test_resized() -> None:
    rng = np.random.default_rng(9)
    for shape in ((1, 7, 7, 64), (3, 2, 9, 5)):
        mean(Given(values(rng, "f32", shape), shape=(1, 2, 2, 1)), [1, 2], True).check(tolerance=16 * EPS)


def test_rank_8() -> None:
    x = values(np.random.default_rng(9), "f32", (2, 3, 2, 3, 2, 3, 2, 3))
    mean(x, [0, 2, 4, 6]).check(tolerance=16 * EPS)


def test_refusals() -> None:
    x = np.zeros((2, 3), np.float32)
    mean(x, [2]).refused(ShapeError, r"MEAN 'y'\): axis 2 is outside rank 2")
    wide = OneNode("MEAN", [x, const([0], np.int64)])
    wide.refused(UnsupportedOpError, "types f32 s64 -> f32 of x axes -> y are not supported, f32 s32 -> f32 are")
    OneNode("MEAN", [x]).refused(UnsupportedOpError, r"input 1 \(axes\) is absent")
