"""winograd_out_f32 at each level: A^T m A with bias and limits, parts of tiles, places; and all steps, beside a plain
convolution."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from primitives import SIMD, matmul_f32, pack_f32
from winograd import A_F32, G_F32, patches_in_f32, sums_out_f32

EPS = 2.0**-23
F = np.float32


def exact(m: np.ndarray, absolute: bool = False) -> np.ndarray:
    """Lines (4, 4 * tiles, n) of the products, in float64."""
    matrix, square = A_F32, m.astype(np.float64).reshape(6, 6, *m.shape[1:])
    if absolute:
        matrix, square = np.abs(matrix), np.abs(square)
    return np.einsum("ai,ijtn,bj->atbn", matrix, square, matrix).reshape(4, 4 * m.shape[1], m.shape[2])


@pytest.mark.parametrize("level", SIMD)
def test_sums(level: str) -> None:
    rng = np.random.default_rng(0)
    for n in [*range(1, 36), 48, 63, 64, 65]:
        for tiles, lines, pixels in ((1, 4, 4), (2, 4, 8), (3, 4, 11), (2, 3, 5), (1, 1, 1), (2, 2, 6)):
            m = rng.normal(size=(36, tiles, n)).astype(F)
            bias = rng.normal(size=n).astype(F) if n % 2 else None
            limits = (-1.0, 2.0) if n % 3 else (-np.inf, np.inf)
            wanted = exact(m)[:lines, :pixels] + (0 if bias is None else bias)
            size = exact(m, True)[:lines, :pixels] + (0 if bias is None else np.abs(bias))
            first = None
            for place in (at_end, at_start, lambda values: shifted(values, 1)):
                given = None if bias is None else place(bias)
                made = sums_out_f32(SIMD[level], place(m), place(np.full((lines, pixels, n), 9, F)), given, *limits)
                assert (np.abs(made - np.clip(wanted, *limits)) <= 4 * EPS * size).all()
                first = made if first is None else first
                np.testing.assert_array_equal(made, first)


@pytest.mark.parametrize("level", SIMD)
def test_lines_apart_and_values_that_are_not_finite(level: str) -> None:
    rng = np.random.default_rng(1)
    m = rng.normal(size=(36, 3, 21)).astype(F)
    whole = np.full((4, 15, 21), 7, F)
    made = sums_out_f32(SIMD[level], m, whole[:, :10])
    np.testing.assert_array_equal(whole[:, 10:], 7)
    plain = made.copy()
    m[14, 1, 5] = np.nan
    made = sums_out_f32(SIMD[level], m, whole[:, :10], None, 0.0, 6.0)
    assert np.isnan(made[1:3, 5:7, 5]).all()
    others = np.ones(plain.shape, bool)
    others[:, 4:8, 5] = False
    np.testing.assert_array_equal(made[others], np.clip(plain, 0, 6)[others])


@pytest.mark.parametrize("level", SIMD)
def test_all_steps(level: str) -> None:
    rng, simd = np.random.default_rng(0), SIMD[level]
    for channels in (1, 3, 16, 34):
        x = rng.normal(size=(6, 14, channels)).astype(F)
        w = rng.normal(size=(20, 3, 3, channels)).astype(F)
        u = np.einsum("ai,nijc,bj->abnc", G_F32, w.astype(np.float64), G_F32).reshape(36, 20, channels).astype(F)
        v = np.ascontiguousarray(patches_in_f32(simd, x, 3))
        m = np.stack([matmul_f32(simd, v[i], pack_f32(simd, np.ascontiguousarray(u[i])), 20) for i in range(36)])
        made = sums_out_f32(simd, m, np.empty((4, 12, 20), F))
        wanted = np.zeros((4, 12, 20))
        for i in range(3):
            for j in range(3):
                wanted += x[i : i + 4, j : j + 12].astype(np.float64) @ w[:, i, j].astype(np.float64).T
        most = np.stack([np.abs(x[:, 4 * t : 4 * t + 6]).max(axis=(0, 1)) for t in range(3)])
        unit = np.repeat(most @ np.abs(w).sum(axis=(1, 2)).T, 4, axis=0)
        assert (np.abs(made - wanted) <= 8 * EPS * unit).all()
