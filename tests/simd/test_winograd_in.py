"""winograd_in at each level: B^T d B of each patch and channel, in place and with nothing past the operands."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from primitives import SIMD
from winograd import TILES, B, lines_of, patches_in


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("tile", TILES)
def test_patches(level: str, tile: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    for channels in [*range(1, 36), 48, 63, 64, 65]:
        for tiles in (1, 2, 5):
            shape = (*lines_of(tile, tiles), channels)
            x = rng.integers(-128, 128, shape).astype(np.int8)
            if channels % 3 == 0:  # the greatest sums
                x = np.where(rng.integers(0, 2, shape) > 0, 127, -128).astype(np.int8)
            _, wide = lines_of(tile, 1)
            d = np.stack([x[:, t * tile[1] : t * tile[1] + wide] for t in range(tiles)]).astype(np.int64)
            wanted = np.einsum("ai,tijc,bj->abtc", B[tile[0]], d, B[tile[1]]).reshape(-1, tiles, channels)
            for place in (at_end, at_start, lambda values: shifted(values, 1)):
                np.testing.assert_array_equal(patches_in(SIMD[level], place(x), tile, tiles, place), wanted)
