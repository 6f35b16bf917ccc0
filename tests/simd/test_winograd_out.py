"""winograd_out at each level: A^T m A without the scales of the filters; and all steps, beside a plain convolution, up
to the greatest sums that come out."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from primitives import SIMD
from winograd import SCALE, TILES, A, convolved, lines_of, sums_out


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("tile", TILES)
def test_sums(level: str, tile: tuple[int, int]) -> None:
    """The products are multiples of the scale, so that each sum is whole."""
    rng = np.random.default_rng(0)
    (high, wide), scale = lines_of(tile, 1), SCALE[tile[0]] * SCALE[tile[1]]
    for tiles in (1, 2, 5):
        for n in (16, 48):
            m = scale * rng.integers(-2000, 2000, (high * wide, tiles, n)).astype(np.int32)
            start = rng.integers(-(2**31), 2**31, n).astype(np.int32)
            square = m.astype(np.int64).reshape(high, wide, tiles, n)
            sums = np.einsum("ai,ijtn,bj->atbn", A[tile[0]], square, A[tile[1]]) // scale
            wanted = (sums.reshape(tile[0], tile[1] * tiles, n) + start).astype(np.int32)
            for place in (at_end, at_start, lambda values: shifted(values, 1)):
                np.testing.assert_array_equal(sums_out(SIMD[level], place(m), place(start), tile, place), wanted)


def plain(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    n, kh, kw, _ = w.shape
    high, wide = x.shape[0] - kh + 1, x.shape[1] - kw + 1
    sums = np.zeros((high, wide, n), np.int64)
    for i in range(kh):
        for j in range(kw):
            sums += x[i : i + high, j : j + wide].astype(np.int64) @ w[:, i, j].astype(np.int64).T
    return sums


MOST = {(2, 2): 2**29, (4, 4): 2**25, (1, 4): 2**28, (4, 1): 2**28}
"""Sums below it come out."""


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("zero", [0, 128, -127])
def test_all_steps(level: str, tile: tuple[int, int], zero: int) -> None:
    """Weights less a zero point have 9 bits. Where all of 226 channels have one sign, 4 x 4 reaches its limit."""
    rng = np.random.default_rng(0)
    window = [1 if side == 1 else 3 for side in tile]
    for channels in (2, 16, 34, 226):
        x = rng.integers(-128, 128, (*lines_of(tile, 3), channels)).astype(np.int8)
        w = rng.integers(-128, 128, (16, *window, channels)) - zero
        w[0], w[1] = 127 - zero, -128 - zero
        x[:, : tile[1] + 2] = -128
        w = np.where(np.abs(w).sum(axis=(1, 2, 3), keepdims=True) * 128 < MOST[tile], w, np.sign(w))
        made = convolved(SIMD[level], x, w, np.zeros(16, np.int32), tile, 3)
        np.testing.assert_array_equal(made, plain(x, w))


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("tile", [tile for tile in TILES if tile != (2, 2)])
def test_the_greatest_sum(level: str, tile: tuple[int, int]) -> None:
    """Sums just below the limit come out; the limit itself, which is 2^31 without the scale's odd factor, does not."""
    window = [1 if side == 1 else 3 for side in tile]
    k = MOST[tile] // 2**14
    channels = 2 * (k // (2 * np.prod(window)) + 1)
    x = np.full((*lines_of(tile, 1), channels), -128, np.int8)
    w = np.zeros((16, *window, channels), np.int64)
    flat = w.reshape(16, -1)
    flat[:3, :k] = -128
    flat[0, 0], flat[1] = -127, -flat[1]
    made, sums = convolved(SIMD[level], x, w, np.zeros(16, np.int32), tile, 1), plain(x, w)
    assert sums[0, 0, :3].tolist() == [MOST[tile] - 128, -MOST[tile], MOST[tile]]
    np.testing.assert_array_equal(made[..., :2], sums[..., :2])
    np.testing.assert_array_equal(made[..., 2], -sums[..., 2])
