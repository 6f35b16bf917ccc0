"""blend_u8 at each level: float sums in one order, rounded half up, tails, nothing past the operands."""

from __future__ import annotations

import numpy as np
import pytest
from blends import CHANNELS, COLUMNS, corners, everywhere
from numpy.typing import NDArray
from primitives import SIMD


def expected(lines: NDArray, down: float, across: NDArray) -> NDArray:
    one, right, lower = np.float32(1), across[:, None], np.float32(down)
    a, b, d, e = (corner.astype(np.float32) for corner in corners(lines))
    left = a * (one - lower) * (one - right) + b * lower * (one - right)
    return (left + d * (one - lower) * right + e * lower * right + np.float32(0.5)).astype(np.uint8)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("down", [0.0, 0.25, 0.5, 0.7, 1.0])
def test_tails_and_places(level: str, down: float) -> None:
    rng = np.random.default_rng(0)
    down = float(np.float32(down))
    for n in CHANNELS:
        lines = rng.integers(0, 256, (2, 5, n)).astype(np.uint8)
        across = rng.choice([0, 0.25, 0.5, 1 / 3, 0.9, 1], len(COLUMNS)).astype(np.float32)
        for weighs in (False, True):
            for y in everywhere(level, "blend_u8", lines, down, across, weighs):
                np.testing.assert_array_equal(y, expected(lines, down, across))
