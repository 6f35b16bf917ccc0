"""blend_s8 at each level: units of 1 / 1024 rounded half away from zero, parts beyond them, tails, nothing past the
operands."""

from __future__ import annotations

import numpy as np
import pytest
from blends import CHANNELS, COLUMNS, blend, corners, everywhere
from numpy.typing import NDArray
from primitives import SIMD


def expected(lines: NDArray, down: int, across: NDArray) -> NDArray:
    right = across.astype(np.int64)[:, None]
    a, b, d, e = (corner.astype(np.int64) for corner in corners(lines))
    sums = (a * (1024 - down) + b * down) * (1024 - right) + (d * (1024 - down) + e * down) * right
    return (np.sign(sums) * ((np.abs(sums) + (1 << 19)) >> 20)).astype(np.int8)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("down", [0, 1, 256, 512, 700, 1023])
def test_tails_and_places(level: str, down: int) -> None:
    rng = np.random.default_rng(0)
    for n in CHANNELS:
        lines = rng.integers(-128, 128, (2, 5, n)).astype(np.int8)
        across = rng.choice([0, 256, 512, 333, 1023], len(COLUMNS)).astype(np.int32)
        for y in everywhere(level, "blend_s8", lines, down, across):
            np.testing.assert_array_equal(y, expected(lines, down, across))


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("part", [-512, 1536, -(1 << 19), (1 << 19) + 7])
def test_parts_beyond_the_unit_of_equal_pixels(level: str, part: int) -> None:
    """They are what columns and lines at the edge have, both of which are the same one: products wrap, results do
    not."""
    n = 40
    lines = np.broadcast_to(np.arange(-20, 20, dtype=np.int8) * 6, (2, 5, n)).copy()
    y = blend(
        level, "blend_s8", lines, part, np.full(len(COLUMNS), part, np.int32), np.zeros((len(COLUMNS), n), np.int8)
    )
    np.testing.assert_array_equal(y, np.broadcast_to(lines[0, 0], y.shape))
