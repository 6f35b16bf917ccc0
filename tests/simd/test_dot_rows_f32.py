"""dot_rows_f32 at each level: float64 within 8 eps of the sum of |x w|, tails, the end of memory, and single rows."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end
from primitives import SIMD, rows_f32

EPS = float(np.finfo(np.float32).eps)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize(("k", "n"), [(0, 3), (1, 1), (3, 5), (8, 16), (17, 33), (64, 130), (300, 70), (5000, 2)])
def test_every_number_of_rows(level: str, k: int, n: int) -> None:
    rng = np.random.default_rng(k)
    x, w = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((9, k), (n, k)))
    whole = rows_f32(SIMD[level], "dot_rows", at_end(x), at_end(w))
    exact = x.astype(np.float64) @ w.T.astype(np.float64)
    assert (np.abs(whole - exact) <= 8 * EPS * (np.abs(x).astype(np.float64) @ np.abs(w.T))).all()
    for rows in range(1, 9):
        np.testing.assert_array_equal(rows_f32(SIMD[level], "dot_rows", at_end(x[:rows]), w), whole[:rows])


@pytest.mark.parametrize("level", SIMD)
def test_nan_and_infinity_go_where_they_belong(level: str) -> None:
    x, w = np.ones((3, 20), np.float32), np.ones((20, 20), np.float32)
    w[7, 7], w[9, 9] = np.nan, np.inf
    y = rows_f32(SIMD[level], "dot_rows", x, w)
    assert np.isnan(y[:, 7]).all()
    assert (y[:, 9] == np.inf).all()
    assert (np.delete(y, [7, 9], axis=1) == 20).all()
