"""max_pool_s8 at each level: the largest byte, signed or not, limits, tails, nothing past the operands."""

from __future__ import annotations

import numpy as np
import pytest
from pools import CHANNELS, WINDOWS, Window, everywhere, pool, windows
from primitives import SIMD


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows_tails_and_places(level: str, kind: type, window: Window) -> None:
    rng = np.random.default_rng(0)
    low, high = (-50, 60) if kind == np.int8 else (150, 251)
    for n in CHANNELS:
        image = rng.integers(0, 256, (window.height, window.columns, n)).astype(np.uint8).view(kind)
        wanted = windows(image, window).max(1)
        for y in everywhere(level, "max_pool_s8", image, window):
            np.testing.assert_array_equal(y, wanted)
        y = pool(level, "max_pool_s8", image, window, np.zeros_like(wanted), (low, high))
        np.testing.assert_array_equal(y, np.clip(wanted, low, high))
