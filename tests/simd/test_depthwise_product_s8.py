"""depthwise_product_s8 at each level: the same bytes as scalar requantize of depthwise_s8's exact sums."""

from __future__ import annotations

import numpy as np
import pytest
from depthwise import WINDOWS, Window, depthwise, pack, placed
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, requantize, requantize_args
from test_depthwise_s8 import draw, expected

HIGHEST = (1 << 31) - 1


def multipliers(n: int) -> tuple[NDArray, NDArray]:
    rng = np.random.default_rng(n)
    return rng.integers(1 << 30, HIGHEST, n).astype(np.int32), rng.integers(-14, -4, n).astype(np.int32)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_windows(level: str, window: Window, limit: int) -> None:
    """All tails, few channels and more than a block of them; ends of s8 and u8, and those that take no sign."""
    for n in (1, 3, 15, 16, 17, 40, 130, 300):
        image, weights, start = draw(level, window, n)
        mantissas, shifts = multipliers(n)
        for ends in ({}, {"zero": -128, "low": -128, "high": 100}, {"zero": 7, "low": 0, "high": 255}):
            y = np.full((window.pixels, n + 2), 77, np.int8)
            to = requantize_args(mantissas, shifts, y[:, :n], limit=limit, **ends)
            sums = np.empty((window.pixels, n), np.int32)

            def run(args: object, to: object = to) -> None:
                SIMD[level].depthwise_product_s8(SIMD[level], args, to)

            depthwise(run, list(image), window, pack(weights), sums, start)
            wanted = requantize(SIMD["scalar"], expected(window, image, weights, start), mantissas, shifts, **ends)
            np.testing.assert_array_equal(y[:, :n], wanted, f"{n} channels")
            assert (y[:, n:] == 77).all()


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_nothing_past_the_operands_is_touched(level: str, limit: int) -> None:
    window = Window(3, 3, 9)
    for n in (1, 5, 16, 33, 129):
        image, weights, start = draw(level, window, n)
        mantissas, shifts = multipliers(n)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            y = place(np.full((window.pixels, n), 77, np.int8))
            placed_multipliers = place(mantissas), place(shifts)
            to = requantize_args(*placed_multipliers, y, limit=limit)

            def run(args: object, to: object = to) -> None:
                SIMD[level].depthwise_product_s8(SIMD[level], args, to)

            sums = np.empty((window.pixels, n), np.int32)
            depthwise(run, placed(image, window, place), window, place(pack(weights)), sums, place(start))
            wanted = requantize(SIMD["scalar"], expected(window, image, weights, start), mantissas, shifts)
            np.testing.assert_array_equal(y, wanted)
