"""scale_s32 at each level: float32's bits in either order of factors, limits, tails, places, strides."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, scale_s32

F = np.float32


def expected(
    sums: NDArray, scales: NDArray, weights: NDArray, bias: NDArray | None, limits: tuple[float, float], first: bool
) -> NDArray:
    real, each = sums.astype(F), scales[:, None]
    v = (real * weights) * each if first else real * (each * weights)
    v = (F(0) if bias is None else bias) + v
    v = np.where(v < F(limits[0]), F(limits[0]), v)
    return np.where(v > F(limits[1]), F(limits[1]), v)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("limits", [(-np.inf, np.inf), (0.0, 6.0)])
def test_values(level: str, first: bool, limits: tuple[float, float]) -> None:
    rng, simd = np.random.default_rng(0), SIMD[level]
    sums = rng.integers(-(2**31), 2**31, (9, 37)).astype(np.int32) >> rng.integers(0, 31, (9, 37)).astype(np.int32)
    scales, weights = rng.uniform(0, 0.1, 9).astype(F), rng.uniform(0, 0.1, 37).astype(F)
    bias = rng.normal(size=37).astype(F)
    bias[3], weights[4], scales[2] = np.nan, np.inf, 0
    with np.errstate(invalid="ignore"):
        for b in (bias, None):
            y = scale_s32(
                simd,
                sums,
                scales,
                weights,
                np.empty((9, 37), F),
                bias=b,
                low=limits[0],
                high=limits[1],
                weights_first=first,
            )
            np.testing.assert_array_equal(y, expected(sums, scales, weights, b, limits, first))


@pytest.mark.parametrize("level", SIMD)
def test_tails_places_and_strides(level: str) -> None:
    rng, simd, rows = np.random.default_rng(0), SIMD[level], 3
    for n in [0, *range(1, 36), 64]:
        sums = rng.integers(-(1 << 20), 1 << 20, (rows, n)).astype(np.int32)
        scales, weights, bias = (rng.uniform(0, 1, size).astype(F) for size in (rows, n, n))
        wanted = expected(sums, scales, weights, bias, (-np.inf, np.inf), False)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            operands = [place(v) for v in (sums, scales, weights, np.full((rows, n), np.nan, F))]
            np.testing.assert_array_equal(scale_s32(simd, *operands, bias=place(bias)), wanted)
        wide = np.full((rows, n + 3), 7, F)
        scale_s32(simd, sums, scales, weights, wide[:, :n], bias=bias)
        np.testing.assert_array_equal(wide[:, :n], wanted)
        assert (wide[:, n:] == 7).all()
