"""RFFT2D: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import EPS
from support.node import Given, OneNode, Out, const, values
from support.weighted import same_for_any_number_of_threads

from minilite.errors import ShapeError

EVERY_TYPE = {"RFFT2D": Case([(2, 8, 16), [8, 16]], tolerance=256 * EPS)}


def rfft(x: Any, lengths: Any, constant: bool = True) -> OneNode:
    return OneNode("RFFT2D", [x, Given(np.array(lengths, np.int32), constant)], outs=[Out("c64")])


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("height", [1, 2, 4, 32])
@pytest.mark.parametrize("width", [2, 4, 8, 64, 512])
def test_lengths(height: int, width: int, constant: bool) -> None:
    rng = np.random.default_rng(width)
    for shape in ((height, width), (3, height, width), (height, width - 1), (height + 3, width + 5), (2, 1, 1, 3)):
        x = values(rng, "f32", shape)
        tolerance = 8 * EPS * float(np.abs(x).sum() / max(1, np.prod(shape[:-2])))
        rfft(x, (height, width), constant).check(tolerance=tolerance)


def test_a_width_of_one() -> None:
    """LiteRT reads beyond its arrays."""
    x = values(np.random.default_rng(1), "f32", (2, 8, 3))
    y = rfft(x, (8, 1)).check(tolerance=64 * EPS, oracle=None)
    np.testing.assert_allclose(y[..., 0], np.fft.fft(x[..., 0]), atol=1e-5)


def test_a_wave_is_one_number() -> None:
    x = np.cos(2 * np.pi * 5 * np.arange(512) / 512).astype(np.float32).reshape(1, 512)
    y = rfft(x, (1, 512)).check(tolerance=512 * EPS)
    assert np.abs(y).argmax() == 5
    np.testing.assert_allclose(y[0, 5], 256, rtol=1e-6)


def test_nothing() -> None:
    rfft(np.zeros((0, 4, 4), np.float32), (4, 4)).check()
    rfft(np.zeros((2, 0, 4), np.float32), (4, 4)).check()


def test_nan() -> None:
    x = np.ones((2, 4, 4), np.float32)
    x[0, 1, 2] = np.nan
    y = rfft(x, (4, 4)).check()
    assert np.isnan(y[0]).all()
    assert not np.isnan(y[1]).any()


def test_threads() -> None:
    same_for_any_number_of_threads(rfft(values(np.random.default_rng(1), "f32", (64, 4, 256)), (4, 256)))


def test_refused() -> None:
    x = np.zeros((4, 4), np.float32)
    for constant in (True, False):
        rfft(x, (4, 6), constant).refused(ShapeError, "length 1 is 6, must be a power of two")
        rfft(x, (0, 4), constant).refused(ShapeError, "length 0 is 0, must be a power of two")
    rfft(x[0], (1, 4)).refused(ShapeError, "the input has rank 1, expected 2 or more")
    OneNode("RFFT2D", [x, const([4])], outs=[Out("c64")]).refused(ShapeError, r"must be two, their shape is \(1\)")
