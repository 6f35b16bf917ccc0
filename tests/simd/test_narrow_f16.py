"""narrow_f16 at each level: nearest, ties to even, denormals, infinity from 65520 on, one NaN per sign; tails and
places."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, pointer

POSITIVE = np.arange(0x7C01, dtype=np.uint16).view(np.float16).astype(np.float32)
"""0, every denormal, every other number and infinity."""


def narrow(level: str, x: NDArray, y: NDArray) -> NDArray:
    SIMD[level].narrow_f16(pointer(x, "float *"), x.size, pointer(y, "uint16_t *"))
    return y


def check(level: str, x: NDArray) -> None:
    x = np.concatenate([x, -x])
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16).view(np.uint16)
    expected = np.where(np.isnan(x), np.where(np.signbit(x), 0xFE00, 0x7E00), expected)
    np.testing.assert_array_equal(narrow(level, x, np.empty(x.size, np.uint16)), expected)


@pytest.mark.parametrize("level", SIMD)
def test_all_ties_and_their_neighbours(level: str) -> None:
    middles = (POSITIVE[:-2] + POSITIVE[1:-1]) / 2
    middles = np.append(middles, np.float32(65520))
    for x in (POSITIVE, middles, np.nextafter(middles, np.float32(0)), np.nextafter(middles, np.float32(np.inf))):
        check(level, x)


@pytest.mark.parametrize("level", SIMD)
def test_any_bits(level: str) -> None:
    """NaN of all kinds and denormals of float32 among them."""
    rng = np.random.default_rng(0)
    check(level, rng.integers(0, 1 << 31, 1 << 16, np.uint32).view(np.float32))
    check(level, np.array([0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0x7FBFFFFF, 1, 0x007FFFFF], np.uint32).view(np.float32))


@pytest.mark.parametrize("level", SIMD)
def test_tails_and_places(level: str) -> None:
    for n in [0, *range(1, 36), 63, 64, 65]:
        x = POSITIVE[0x3C00 : 0x3C00 + n]
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            y = narrow(level, place(x), place(np.full(n, 7, np.uint16)))
            np.testing.assert_array_equal(y.view(np.float16), x)
