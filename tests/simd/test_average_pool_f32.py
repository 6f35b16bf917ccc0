"""average_pool_f32 at each level: sums in order, divided, the same bits at all levels; limits, NaN, nothing past the
operands."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from numpy.typing import NDArray
from pools import CHANNELS, WINDOWS, Window, everywhere, pool, windows
from primitives import SIMD


def in_order(image: NDArray, window: Window) -> NDArray:
    """Sums of each window: line by line, or column by column where there are three."""
    taps = windows(image, window).swapaxes(0, 1)
    groups = [taps[column::3] for column in range(3)] if window.width == 3 else [taps]
    sums = [np.zeros(taps.shape[1:], np.float32) for _ in groups]
    for total, group in zip(sums, groups, strict=True):
        for tap in group:
            total += tap
    return functools.reduce(np.add, sums)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows_tails_and_places(level: str, window: Window) -> None:
    rng = np.random.default_rng(0)
    for n in CHANNELS:
        image = rng.normal(size=(window.height, window.columns, n)).astype(np.float32)
        wanted = in_order(image, window) / np.float32(window.height * window.width)
        for y in everywhere(level, "average_pool_f32", image, window):
            np.testing.assert_array_equal(y, wanted)
        y = pool(level, "average_pool_f32", image, window, np.zeros_like(wanted), (-0.25, 0.5))
        np.testing.assert_array_equal(y, np.clip(wanted, -0.25, 0.5))


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", [5, 40])
def test_average_of_nan_is_nan(level: str, n: int) -> None:
    image = np.ones((2, 4, n), np.float32)
    image[1, 3] = np.nan
    y = pool(level, "average_pool_f32", image, Window(2, 2, 2, 2), np.zeros((2, n), np.float32), (0.0, 0.5))
    assert (y[0] == 0.5).all()
    assert np.isnan(y[1]).all()
