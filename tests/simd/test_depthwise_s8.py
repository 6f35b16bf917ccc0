"""depthwise_s8 at each level: exact sums of groups of small integers, tails, strides, extremes, sums that wrap."""

from __future__ import annotations

import numpy as np
import pytest
from depthwise import WINDOWS, Window, depthwise, pack, placed, taps
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD

CHANNELS = [1, 3, 4, 7, 8, 15, 16, 17, 40]


def draw(level: str, window: Window, n: int, extreme: bool = False) -> tuple[NDArray, NDArray, NDArray]:
    """Seeded (image, weights, start) of this level's groups: 4 of u8, or of s8, times s8, or 2 of bytes in s16 times 9
    bits in s16."""
    rng = np.random.default_rng(n)
    group = SIMD[level].depthwise_s8_group
    image_type, weight_type = (np.uint8, np.int8) if group == 4 else (np.int16, np.int16)
    least, most = (-128, 127) if group == 4 else (-255, 255)
    shapes = [(window.height, window.columns, n, group), (window.height, window.width, n, group)]
    if extreme:
        image = rng.choice([0, 255], shapes[0], p=[0.1, 0.9])
        weights = rng.choice([least, most], shapes[1], p=[0.9, 0.1])
    else:
        image, weights = rng.integers(0, 256, shapes[0]), rng.integers(least, most, shapes[1], endpoint=True)
    start = rng.integers(-(2**31), 2**31, n) if extreme else rng.integers(-5000, 5000, n)
    less = SIMD[level].depthwise_s8_less
    if less:
        image, image_type = image - less, np.int8
    return image.astype(image_type), weights.astype(weight_type), start.astype(np.int32)


def call(level: str, window: Window, image: NDArray, weights: NDArray, start: NDArray | None) -> NDArray:
    y = np.full((window.pixels, weights.shape[2]), 77, np.int32)
    return depthwise(SIMD[level].depthwise_s8, list(image), window, pack(weights), y, start)


def expected(window: Window, image: NDArray, weights: NDArray, start: NDArray | None) -> NDArray:
    products = taps(image, window).astype(np.int64) * weights
    sums = products.sum((1, 2, 4)) + (0 if start is None else start.astype(np.int64))
    return sums.astype(np.int32)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows(level: str, window: Window) -> None:
    for n in CHANNELS:
        for extreme in (False, True):
            image, weights, start = draw(level, window, n, extreme)
            for given in (start, None):
                y = call(level, window, image, weights, given)
                np.testing.assert_array_equal(y, expected(window, image, weights, given), f"{n} channels")


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("window", [Window(1, 3, 9), Window(2, 5, 5, 1, 2), Window(2, 4, 3), Window(2, 2, 1)], ids=str)
def test_nothing_past_the_operands_is_touched(level: str, window: Window) -> None:
    for n in [*CHANNELS, 129]:
        image, weights, start = draw(level, window, n)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            y = place(np.full((window.pixels, n), 77, np.int32))
            lines = placed(image, window, place)
            depthwise(SIMD[level].depthwise_s8, lines, window, place(pack(weights)), y, place(start))
            np.testing.assert_array_equal(y, expected(window, image, weights, start))
