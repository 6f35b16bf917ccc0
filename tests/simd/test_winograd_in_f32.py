"""winograd_in_f32 at each level: B^T d B of each patch and channel, in place and with nothing past the operands."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from primitives import SIMD
from winograd import B_F32, patches_in_f32

EPS = 2.0**-23


@pytest.mark.parametrize("level", SIMD)
def test_patches(level: str) -> None:
    rng = np.random.default_rng(0)
    for channels in [*range(1, 36), 48, 63, 64, 65]:
        for tiles in (1, 2, 5):
            x = rng.normal(size=(6, 4 * tiles + 2, channels)).astype(np.float32)
            d = np.stack([x[:, 4 * t : 4 * t + 6] for t in range(tiles)]).astype(np.float64)
            wanted, size = (
                np.einsum("ai,tijc,bj->abtc", matrix, patch, matrix).reshape(36, tiles, channels)
                for matrix, patch in ((B_F32, d), (np.abs(B_F32), np.abs(d)))
            )
            first = None
            for place in (at_end, at_start, lambda values: shifted(values, 1)):
                made = patches_in_f32(SIMD[level], place(x), tiles, place)
                assert (np.abs(made - wanted) <= 3 * EPS * size).all()
                first = made if first is None else first
                np.testing.assert_array_equal(made, first)


@pytest.mark.parametrize("level", SIMD)
def test_a_tile_depends_on_its_patch_and_a_channel_on_itself(level: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(6, 14, 37)).astype(np.float32)
    whole = patches_in_f32(SIMD[level], x, 3)
    for tile in range(3):
        alone = patches_in_f32(SIMD[level], x[:, 4 * tile : 4 * tile + 6].copy(), 1)
        np.testing.assert_array_equal(alone[:, 0], whole[:, tile])
    x[2, 7, 20] = np.nan
    other = patches_in_f32(SIMD[level], x, 3)
    np.testing.assert_array_equal(np.delete(other, 20, 2), np.delete(whole, 20, 2))
    assert np.isnan(other[:, 1, 20]).any()
    np.testing.assert_array_equal(other[:, [0, 2]], whole[:, [0, 2]])
