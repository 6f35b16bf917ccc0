"""widen_f16 at each level: every float of 16 bits, exact to the bit, NaN quiet; tails and places."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, pointer

EVERY = np.arange(1 << 16, dtype=np.uint16)


def widen(level: str, x: NDArray, y: NDArray) -> NDArray:
    SIMD[level].widen_f16(pointer(x, "uint16_t *"), x.size, pointer(y, "float *"))
    return y


@pytest.mark.parametrize("level", SIMD)
def test_every_half(level: str) -> None:
    nan = (EVERY & 0x7FFF) > 0x7C00
    wide = EVERY.view(np.float16).astype(np.float32).view(np.uint32)
    expected = np.where(
        nan, (EVERY & 0x8000).astype(np.uint32) << 16 | 0x7FC00000 | (EVERY & 0x03FF).astype(np.uint32) << 13, wide
    )
    np.testing.assert_array_equal(widen(level, EVERY, np.empty(1 << 16, np.float32)).view(np.uint32), expected)


@pytest.mark.parametrize("level", SIMD)
def test_tails_and_places(level: str) -> None:
    for n in [0, *range(1, 36), 63, 64, 65]:
        x = EVERY[0x3C00 : 0x3C00 + n]
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            y = widen(level, place(x), place(np.full(n, 7, np.float32)))
            np.testing.assert_array_equal(y, x.view(np.float16).astype(np.float32))
