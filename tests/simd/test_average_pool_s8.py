"""average_pool_s8 at each level: means rounded half away from zero, of small and large windows, limits, nothing past
the operands."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from pools import CHANNELS, WINDOWS, Window, everywhere, pool, windows
from primitives import SIMD


def mean(seen: NDArray) -> NDArray:
    count, sums = seen.shape[1], seen.astype(np.int64).sum(1)
    return np.sign(sums) * ((np.abs(sums) + count // 2) // count)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows_tails_and_places(level: str, kind: type, window: Window) -> None:
    rng = np.random.default_rng(0)
    low, high = (-20, 10) if kind == np.int8 else (120, 130)
    for n in CHANNELS:
        image = rng.integers(0, 256, (window.height, window.columns, n)).astype(np.uint8).view(kind)
        wanted = mean(windows(image, window))
        for y in everywhere(level, "average_pool_s8", image, window):
            np.testing.assert_array_equal(y, wanted)
        y = pool(level, "average_pool_s8", image, window, np.zeros((window.pixels, n), kind), (low, high))
        np.testing.assert_array_equal(y, np.clip(wanted, low, high))


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("count", [*range(2, 40), 255, 1023, 4095, 8191, 8192, 8193, 70001])
def test_sums_next_to_ties(level: str, count: int) -> None:
    """Each sum within two of a tie, on both sides of zero."""
    halves = [k * count + count // 2 + d for k in (0, 1, 2, 63, 126) for d in (-2, -1, 0, 1, 2)]
    sums = np.array([sign * min(half, 127 * count) for half in halves for sign in (-1, 1)])
    base, rest = np.abs(sums) // count, np.abs(sums) % count
    image = np.sign(sums) * (base + (np.arange(count)[:, None] < rest))
    image = np.ascontiguousarray(image.astype(np.int8)[None])
    y = pool(level, "average_pool_s8", image, Window(1, count, 1, 1), np.zeros((1, len(sums)), np.int8))
    np.testing.assert_array_equal(y, mean(image))
