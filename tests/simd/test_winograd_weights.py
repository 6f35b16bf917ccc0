"""winograd_weights at each level: G w G^T of each output and channel, in place and with nothing past the operands."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from primitives import SIMD
from winograd import PANEL, TILES, G, filters, weights_in


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("tile", TILES)
def test_filters(level: str, tile: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    high, wide = (G[side].shape[1] for side in tile)
    for zero in (0, 1, -128, 127, -255, 255):
        w = rng.integers(-128, 128, (high, wide, PANEL, 2)).astype(np.int8)
        if zero % 2:  # the greatest sums
            w = np.where(rng.integers(0, 2, w.shape) > 0, 127, -128).astype(np.int8)
        wanted = filters(w.transpose(2, 0, 1, 3).astype(np.int64) - zero, tile).transpose(0, 2, 1)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            np.testing.assert_array_equal(weights_in(SIMD[level], place(w), zero, tile, place), wanted)
