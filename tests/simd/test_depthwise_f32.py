"""depthwise_f32 at each level: float64 within 8 eps of the sum of |x w|, tails, strides, limits, NaN and infinities."""

from __future__ import annotations

import numpy as np
import pytest
from depthwise import WINDOWS, Window, depthwise, pack, placed, taps
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD

EPS = float(np.finfo(np.float32).eps)
CHANNELS = [1, 3, 4, 7, 8, 15, 16, 17, 40]


def draw(window: Window, n: int, low: float = -1.0) -> tuple[NDArray, NDArray, NDArray]:
    """Seeded (image, weights, start)."""
    rng = np.random.default_rng(n)
    shapes = [(window.height, window.columns, n), (window.height, window.width, n), (n,)]
    image, weights, start = (rng.uniform(low, 1, shape).astype(np.float32) for shape in shapes)
    return image, weights, start


def call(
    level: str, window: Window, image: NDArray, weights: NDArray, start: NDArray | None, **limits: float
) -> NDArray:
    y = np.full((window.pixels, weights.shape[2]), np.nan, np.float32)
    return depthwise(SIMD[level].depthwise_f32, list(image), window, pack(weights), y, start, **limits)


def check(y: NDArray, window: Window, image: NDArray, weights: NDArray, start: NDArray) -> None:
    products = taps(image, window).astype(np.float64) * weights
    exact = products.sum((1, 2)) + start
    bound = 8 * EPS * (np.abs(products).sum((1, 2)) + np.abs(start))
    assert (np.abs(y - exact) <= bound).all()


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows(level: str, window: Window) -> None:
    """Every kind of tile, and every tail; each pixel's bits are those of the pixel computed alone."""
    for n in CHANNELS:
        image, weights, start = draw(window, n)
        y = call(level, window, image, weights, start)
        check(y, window, image, weights, start)
        check(call(level, window, image, weights, None), window, image, weights, 0 * start)
        for pixel in range(window.pixels):
            alone = window._replace(pixels=1, first=window.first + pixel * window.pixel_step)
            np.testing.assert_array_equal(call(level, alone, image, weights, start)[0], y[pixel], f"{n}, {pixel}")


@pytest.mark.parametrize("level", SIMD)
def test_many_channels(level: str) -> None:
    for n in (128, 129, 300, 512):
        window = Window(3, 3, 11)
        image, weights, start = draw(window, n)
        check(call(level, window, image, weights, start), window, image, weights, start)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("window", [Window(3, 3, 9), Window(3, 5, 5, 1, 2), Window(2, 4, 3), Window(2, 2, 1)], ids=str)
def test_nothing_past_the_operands_is_touched(level: str, window: Window) -> None:
    for n in CHANNELS:
        image, weights, start = draw(window, n)
        expected = call(level, window, image, weights, start)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            y = place(np.full((window.pixels, n), np.nan, np.float32))
            lines = placed(image, window, place)
            depthwise(SIMD[level].depthwise_f32, lines, window, place(pack(weights)), y, place(start))
            np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("level", SIMD)
def test_long_sums_of_one_sign_stay_exact(level: str) -> None:
    window = Window(100, 100, 2)
    image, weights, start = draw(window, 20, low=0.0)
    check(call(level, window, image, weights, start), window, image, weights, start)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", [5, 16])
def test_limits_and_what_is_no_number(level: str, n: int) -> None:
    window = Window(1, 3, 10)
    image, weights, start = draw(window, n)
    free = call(level, window, image, weights, start)
    y = call(level, window, image, weights, start, low=-0.25, high=0.5)
    np.testing.assert_array_equal(y, np.clip(free, np.float32(-0.25), np.float32(0.5)))
    image[0, 4] = np.nan
    y = call(level, window, image, weights, start, low=-0.25, high=0.5)
    assert (np.isnan(y).all(1) == [False, False, True, True, True, *[False] * 5]).all()
