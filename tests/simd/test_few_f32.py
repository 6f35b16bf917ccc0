"""few_f32 at each level: float64 within 8 eps of the sum of |a w|, tails, strides, pieces, limits, NaN, the ends of
memory."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, matmul_f32

from minilite._core import lib

EPS = float(np.finfo(np.float32).eps)
ROWS = 19  # past two of the largest tiles
OUTPUTS = range(1, lib.ML_LEAST_OUTPUTS + 1)
PLACES: list[Callable[[NDArray], NDArray]] = [at_end, at_start, functools.partial(shifted, elements=1)]


def draw(n: int, k: int, low: float = -1.0) -> tuple[NDArray, NDArray, NDArray]:
    """Seeded (rows, weights, bias)."""
    rng = np.random.default_rng(100 * n + k)
    a, w, bias = (rng.uniform(low, 1, shape).astype(np.float32) for shape in [(ROWS, k), (n, k), (n,)])
    return a, w, bias


def check(y: NDArray, a: NDArray, w: NDArray, bias: NDArray) -> None:
    exact = a.astype(np.float64) @ w.T.astype(np.float64) + bias
    bound = 8 * EPS * (np.abs(a).astype(np.float64) @ np.abs(w.T).astype(np.float64) + np.abs(bias))
    assert (np.abs(y - exact) <= bound).all()


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", OUTPUTS)
@pytest.mark.parametrize("k", [0, 1, 3, 4, 15, 16, 17, 33, 72, 300, 5000])
def test_every_number_of_rows(level: str, n: int, k: int) -> None:
    """Each number of rows gives the bits that all of them give together, wherever the operands lie."""
    a, w, bias = draw(n, k)
    whole = matmul_f32(SIMD[level], a, w, n, bias=bias, few=True)
    check(whole, a, w, bias)
    for rows in range(ROWS + 1):
        y = matmul_f32(SIMD[level], a[:rows], w, n, bias=bias, few=True)
        np.testing.assert_array_equal(y, whole[:rows], f"{rows} rows")
    for place in PLACES:
        y = place(np.full((ROWS, n), np.nan, np.float32))
        matmul_f32(SIMD[level], place(a), place(w), n, bias=place(bias), y=y, few=True)
        np.testing.assert_array_equal(y, whole)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", OUTPUTS)
@pytest.mark.parametrize(
    ("height", "width", "depth"), [(9, 9, 1), (3, 3, 3), (2, 1, 5), (9, 9, 8), (3, 3, 33), (5, 5, 40), (3, 1, 700)]
)
def test_windows_are_read_in_place(level: str, n: int, height: int, width: int, depth: int) -> None:
    """Pieces of overlapping rows give the bits of the same windows copied out, however these are cut into pieces;
    nothing beside them is read."""
    rng = np.random.default_rng(depth)
    image = at_end(rng.uniform(-1, 1, (height + 1, ROWS + width, depth)).astype(np.float32))
    image[:, ROWS + width - 1] = np.nan
    image[height] = np.nan
    w = rng.uniform(-1, 1, (n, height * width * depth)).astype(np.float32)
    windows = np.lib.stride_tricks.as_strided(
        image, (ROWS, height, width * depth), (depth * 4, image.strides[0], 4), writeable=False
    )
    y = matmul_f32(SIMD[level], windows, w, n, few=True)
    copied = np.ascontiguousarray(windows)
    check(y, copied.reshape(ROWS, -1), w, np.zeros(n, np.float32))
    for pieces in (1, height, height * width, height * width * depth):
        cut = copied.reshape(ROWS, pieces, -1)
        np.testing.assert_array_equal(y, matmul_f32(SIMD[level], cut, w, n, few=True), f"{pieces} pieces")


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", OUTPUTS)
def test_long_sums_of_one_sign_stay_exact(level: str, n: int) -> None:
    a, w, bias = draw(n, 20_000, low=0.0)
    check(matmul_f32(SIMD[level], a, w, n, bias=bias, few=True), a, w, bias)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("limits", [(-0.5, 0.25), (0.0, np.inf), (-np.inf, 6.0)])
def test_limits(level: str, limits: tuple[float, float]) -> None:
    a, w, bias = draw(3, 40)
    free = matmul_f32(SIMD[level], a, w, 3, bias=bias, few=True)
    y = matmul_f32(SIMD[level], a, w, 3, bias=bias, low=limits[0], high=limits[1], few=True)
    np.testing.assert_array_equal(y, free.clip(*limits))


@pytest.mark.parametrize("level", SIMD)
def test_nan_and_infinity_go_where_they_belong(level: str) -> None:
    a, w = np.ones((9, 21), np.float32), np.ones((3, 21), np.float32)
    a[4, 20], w[1, 3], w[2, 20] = np.nan, np.inf, -np.inf
    y = matmul_f32(SIMD[level], a, w, 3, low=-2, high=50, few=True)
    assert np.isnan(y[4]).all()
    np.testing.assert_array_equal(np.delete(y, 4, axis=0), np.tile(np.float32([21, 50, -2]), (8, 1)))
