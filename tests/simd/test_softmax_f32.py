"""softmax_f32 at each level: within its bound of float64; tails, places, in place, NaN and infinities."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, softmax_f32

EPS = 2.0**-23
LENGTHS = (*range(1, 40), 64, 100, 257, 1001)


def exact(x: NDArray, beta: float, logs: bool) -> NDArray:
    below = (x.astype(np.float64) - np.float64(x.max())) * beta
    total = np.exp(below).sum()
    return below - np.log(total) if logs else np.exp(below) / total


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("logs", [False, True])
def test_tails_and_places(level: str, logs: bool) -> None:
    rng = np.random.default_rng(1)
    for n in LENGTHS:
        x = (rng.normal(size=n) * 5).astype(np.float32)
        beta = 1.0 if logs else 0.7
        expected = exact(x, beta, logs)
        bound = 8 * EPS * (np.abs(expected) + np.abs(x) + 9 if logs else expected * (1 + np.abs(x - x.max())))
        whole = softmax_f32(SIMD[level], x, np.empty_like(x), beta=beta, logs=logs)
        assert (np.abs(whole - expected) <= bound).all()
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            y = place(np.full(n, 7, np.float32))
            np.testing.assert_array_equal(softmax_f32(SIMD[level], place(x), y, beta=beta, logs=logs), whole)
        both = shifted(x, 3)
        np.testing.assert_array_equal(softmax_f32(SIMD[level], both, both, beta=beta, logs=logs), whole)


@pytest.mark.parametrize("level", SIMD)
def test_no_subnormal_numbers(level: str) -> None:
    """Masked scores have no weight at all; the least weight is a normal number."""
    x = np.concatenate([np.linspace(-105, -80, 1001), [0]]).astype(np.float32)
    y = softmax_f32(SIMD[level], x, np.empty_like(x))
    assert not y[x < -87.3].any()
    assert (y[x >= -87.3] >= np.finfo(np.float32).tiny).all()
    assert not softmax_f32(SIMD[level], np.array([0, -1e4], np.float32), np.empty(2, np.float32))[1]


@pytest.mark.parametrize("level", SIMD)
def test_ends(level: str) -> None:
    for n in (2, 17, 33):
        x = np.full(n, -np.inf, np.float32)
        x[-1] = 3
        y = softmax_f32(SIMD[level], x, np.empty_like(x))
        assert y[-1] == 1
        assert not y[:-1].any()
        x[0] = np.nan
        assert np.isnan(softmax_f32(SIMD[level], x, np.empty_like(x))).all()
        even = softmax_f32(SIMD[level], np.full(n, 1e38, np.float32), np.empty_like(x))
        np.testing.assert_allclose(even, 1 / n, rtol=1e-6)
