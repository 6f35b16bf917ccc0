"""winograd_out at each level: A^T m A without the scales of the filters; and all steps, beside a plain convolution, up
to the greatest sums that come out."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from primitives import SIMD
from winograd import SCALE, A, convolved, sums_out


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("size", [2, 4])
def test_sums(level: str, size: int) -> None:
    """The products are multiples of the scale, so that each sum is whole."""
    rng = np.random.default_rng(0)
    positions = (size + 2) ** 2
    for tiles in (1, 2, 5):
        for n in (16, 48):
            m = SCALE[size] * rng.integers(-2000, 2000, (positions, tiles, n)).astype(np.int32)
            start = rng.integers(-(2**31), 2**31, n).astype(np.int32)
            square = m.astype(np.int64).reshape(size + 2, size + 2, tiles, n)
            sums = np.einsum("ai,ijtn,bj->atbn", A[size], square, A[size]) // SCALE[size]
            wanted = (sums.reshape(size, size * tiles, n) + start).astype(np.int32)
            for place in (at_end, at_start, lambda values: shifted(values, 1)):
                np.testing.assert_array_equal(sums_out(SIMD[level], place(m), place(start), size, place), wanted)


def plain(x: np.ndarray, w: np.ndarray, size: int) -> np.ndarray:
    wide = x.shape[1] - 2
    sums = np.zeros((size, wide, len(w)), np.int64)
    for i in range(3):
        for j in range(3):
            sums += x[i : i + size, j : j + wide].astype(np.int64) @ w[:, i, j].astype(np.int64).T
    return sums


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("zero", [0, 128, -127])
def test_all_steps(level: str, size: int, zero: int) -> None:
    """Weights less a zero point have 9 bits. With 226 channels sums reach 2^25 where all have one sign."""
    rng = np.random.default_rng(0)
    for channels in (2, 16, 34, 226):
        x = rng.integers(-128, 128, (size + 2, 3 * size + 2, channels)).astype(np.int8)
        w = rng.integers(-128, 128, (16, 3, 3, channels)) - zero
        w[0], w[1] = 127 - zero, -128 - zero
        x[:, : size + 2] = -128
        most = 2 ** (25 if size == 4 else 29)
        w = np.where(np.abs(w).sum(axis=(1, 2, 3), keepdims=True) * 128 < most, w, np.sign(w))
        wanted = plain(x, w, size)
        made = convolved(SIMD[level], x, w, np.zeros(16, np.int32), size)
        np.testing.assert_array_equal(made, wanted)
