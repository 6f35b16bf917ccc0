"""blend_f32 at each level: one order of rounding, tails, nothing past the operands."""

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
    return left + d * (one - lower) * right + e * lower * right


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("down", [0.0, 0.25, 0.7, 1.0, -0.5])
def test_tails_and_places(level: str, down: float) -> None:
    rng = np.random.default_rng(0)
    down = float(np.float32(down))
    for n in CHANNELS:
        lines = rng.normal(size=(2, 5, n)).astype(np.float32)
        across = rng.uniform(0, 1, len(COLUMNS)).astype(np.float32)
        for y in everywhere(level, "blend_f32", lines, down, across):
            np.testing.assert_array_equal(y, expected(lines, down, across))
