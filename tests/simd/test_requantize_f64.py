"""requantize_f64 at each level: float64's product rounded half away from zero, tails, places, strides."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, requantize_f64

EDGES = [-(2**31), -(2**31) + 1, -3, -2, -1, 0, 1, 2, 3, 2**31 - 1]


def expected(sums: NDArray, reals: NDArray, zero: int, low: int, high: int) -> NDArray:
    v = np.clip(sums * reals, -1e9, 1e9)
    v = np.trunc(v + np.copysign(0.49999999999999994, v)).astype(np.int64)
    return np.clip(v + zero, low, high).astype(np.uint8).view(np.int8)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize(("zero", "low", "high"), [(0, -128, 127), (-7, -100, 99), (128, 0, 255), (3, 3, 3)])
def test_values(level: str, zero: int, low: int, high: int) -> None:
    """Ties on both sides, products that saturate, extremes."""
    rng, simd = np.random.default_rng(0), SIMD[level]
    reals = np.array([0.5, 0.25, 1.5, 1e-9, 1e9, 0.0, 1e298, 2.0**-31, *rng.uniform(0, 0.01, 30)])
    sums = np.concatenate([EDGES, rng.integers(-600, 600, 300), rng.integers(-(2**31), 2**31, 90)]).astype(np.int32)
    table = np.ascontiguousarray(np.broadcast_to(sums[:, None], (len(sums), len(reals))))
    y = requantize_f64(simd, table, reals, np.empty(table.shape, np.int8), zero=zero, low=low, high=high)
    np.testing.assert_array_equal(y, expected(table, reals, zero, low, high))


@pytest.mark.parametrize("level", SIMD)
def test_tails_places_and_strides(level: str) -> None:
    rng, simd, rows = np.random.default_rng(0), SIMD[level], 3
    for n in [0, *range(1, 36), 64, 130]:
        sums, reals = rng.integers(-(1 << 20), 1 << 20, (rows, n)).astype(np.int32), rng.uniform(0, 2e-4, n)
        wanted = expected(sums, reals, 3, -128, 127)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            y = requantize_f64(simd, place(sums), place(reals), place(np.full((rows, n), 99, np.int8)), zero=3)
            np.testing.assert_array_equal(y, wanted)
        wide_sums, wide_y = np.full((rows, n + 5), 77, np.int32), np.full((rows, n + 3), 99, np.int8)
        wide_sums[:, :n] = sums
        requantize_f64(simd, wide_sums[:, :n], reals, wide_y[:, :n], zero=3)
        np.testing.assert_array_equal(wide_y[:, :n], wanted)
        assert (wide_y[:, n:] == 99).all()
