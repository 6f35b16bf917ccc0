"""max_pool_f32 at each level: the largest, limits, NaN, tails, nothing past the operands."""

from __future__ import annotations

import numpy as np
import pytest
from pools import CHANNELS, WINDOWS, Window, everywhere, pool, windows
from primitives import SIMD


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows_tails_and_places(level: str, window: Window) -> None:
    rng = np.random.default_rng(0)
    for n in CHANNELS:
        image = rng.normal(size=(window.height, window.columns, n)).astype(np.float32)
        wanted = windows(image, window).max(1)
        for y in everywhere(level, "max_pool_f32", image, window):
            np.testing.assert_array_equal(y, wanted)
        y = pool(level, "max_pool_f32", image, window, np.zeros_like(wanted), (-0.5, 1.0))
        np.testing.assert_array_equal(y, np.clip(wanted, -0.5, 1.0))


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", [5, 40])
def test_nan_is_never_the_largest(level: str, n: int) -> None:
    window = Window(2, 2, 2, 2)
    image = np.full((2, 4, n), -np.inf, np.float32)
    image[0, 1] = np.nan
    image[1, 0] = 3
    y = pool(level, "max_pool_f32", image, window, np.zeros((2, n), np.float32))
    assert (y == np.array([[3], [-np.finfo(np.float32).max]], np.float32)).all()
