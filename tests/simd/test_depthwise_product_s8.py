"""depthwise_product_s8 at each level: the same bytes as scalar requantize of depthwise_s8's exact sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from depthwise import WINDOWS, Window, depthwise, pack, placed, taps
from guarded import at_end, at_start, shifted
from hypothesis import given, settings
from hypothesis import strategies as st
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
    """All tails, few channels and more than a block of them; the ends of s8 and u8, and limits at which signs do not
    matter."""
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


@pytest.mark.parametrize("level", [name for name, simd in SIMD.items() if simd.depthwise_s8_bytes])
@given(
    sizes=st.tuples(st.integers(1, 9), st.integers(1, 4), st.integers(1, 90), st.integers(1, 3)),
    kind=st.sampled_from([(1, np.uint8), (2, np.int8)]),
    limited=st.booleans(),
    started=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_taps_of_bytes(
    level: str, sizes: tuple[int, int, int, int], kind: tuple[int, type], limited: bool, started: bool
) -> None:
    """Bytes as they lie, in lines at the end of a page; the partner of an odd last line has zeros as weights."""
    height, width, n, pixels = sizes
    window, rng = Window(height, width, pixels, 1, 2), np.random.default_rng(sizes)
    info = np.iinfo(kind[1])
    image = rng.integers(info.min, info.max, (height, window.columns, n), endpoint=True).astype(kind[1])
    weights = rng.integers(-255, 255, (height + height % 2, width, n), endpoint=True)
    weights[height:] = 0
    start = rng.integers(-5000, 5000, n).astype(np.int32) if started else None
    sums = (taps(image, window).astype(np.int64) * weights[:height]).sum((1, 2)) + (0 if start is None else start)
    pairs = np.ascontiguousarray(weights.reshape(-1, 2, width, n).transpose(0, 2, 3, 1).astype(np.int16))
    mantissas, shifts = map(at_end, multipliers(n))
    y = np.full((pixels, n + 2), 77, np.int8)
    to = requantize_args(mantissas, shifts, y[:, :n], limit=1 << 30 if limited else 0, zero=-3)

    def run(args: Any) -> None:
        args.lines_are = kind[0]
        SIMD[level].depthwise_product_s8(SIMD[level], args, to)

    lines = [at_end(np.ascontiguousarray(line)) for line in image]
    lines += lines[-1:] * (height % 2)
    beside = [line[tap:] for two in zip(lines[::2], lines[1::2], strict=True) for tap in range(width) for line in two]
    at, packed = Window(len(beside) // 2, 1, pixels, 1, 2), at_end(pack(pairs.reshape(-1, 1, n, 2)))
    depthwise(run, beside, at, packed, y[:, :n], None if start is None else at_end(start))
    wanted = requantize(SIMD["scalar"], sums.astype(np.int32), mantissas, shifts, zero=-3)
    np.testing.assert_array_equal(y[:, :n], wanted)
    assert (y[:, n:] == 77).all()
