"""matmul_s8 at each level: the exact sums for every tail, place, stride and piece, extremes, and sums that wrap."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from primitives import SIMD, matmul_s8, pack_s8

ROWS = 31
PLACES: list[Callable[[NDArray], NDArray]] = [at_end, at_start, lambda values: shifted(values, 1)]


def draw(rows: int, k: int, n: int) -> tuple[NDArray, NDArray, NDArray]:
    """Seeded (rows, weights, bias), ends of ranges among them."""
    rng = np.random.default_rng([rows, k, n])
    a, w = rng.integers(0, 256, (rows, k)).astype(np.uint8), rng.integers(-128, 128, (n, k)).astype(np.int8)
    a[rng.random(a.shape) < 0.1] = 255
    w[rng.random(w.shape) < 0.1] = -128
    return a, w, rng.integers(-(1 << 31), 1 << 31, n).astype(np.int32)


def sums_of(a: NDArray, w: NDArray, bias: NDArray | None = None) -> NDArray:
    return (a.astype(np.int64) @ w.T.astype(np.int64) + (0 if bias is None else bias)).astype(np.int32)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 49, 63, 64, 65, 80, 96, 127, 128, 130])
def test_every_tail(level: str, n: int) -> None:
    simd = SIMD[level]
    for k in [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 64, 67]:
        a, w, bias = draw(ROWS, k, n)
        packed, _ = pack_s8(simd, w)
        wanted = sums_of(a, w, bias)
        for rows in range(ROWS + 1):
            y = matmul_s8(simd, a[:rows], packed, n, bias=bias)
            np.testing.assert_array_equal(y, wanted[:rows], f"{rows} rows of {k}")


@pytest.mark.parametrize("level", SIMD)
@given(
    rows=st.integers(0, 20),
    k=st.integers(1, 600),
    n=st.integers(1, 130),
    pieces=st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_any_size(level: str, rows: int, k: int, n: int, pieces: int) -> None:
    simd = SIMD[level]
    a, w, bias = draw(rows, pieces * k, n)
    packed, _ = pack_s8(simd, w, pieces=pieces)
    y = matmul_s8(simd, a.reshape(rows, pieces, k), packed, n, bias=bias)
    np.testing.assert_array_equal(y, sums_of(a, w, bias))
    flipped = matmul_s8(simd, (a ^ 128).reshape(rows, pieces, k), packed, n, bias=bias, flip=128)
    np.testing.assert_array_equal(flipped, y)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("k", [1, 2, 3, 6, 16, 130])
def test_nothing_past_the_operands_is_touched(level: str, k: int) -> None:
    simd = SIMD[level]
    for rows, n in itertools.product([1, 2, 3, 6, 7, 14, 19], [1, 5, 16, 33, 64, 67]):
        a, w, bias = draw(rows, k, n)
        factors, columns = np.arange(rows, dtype=np.int32) - 3, np.arange(n, dtype=np.int32) * 1001
        wanted = (sums_of(a, w, bias).astype(np.int64) + np.outer(factors, columns)).astype(np.int32)
        for place in PLACES:
            packed, _ = pack_s8(simd, w, place=place)
            y = place(np.full((rows, n), -1, np.int32))
            terms = {"bias": place(bias), "factors": place(factors), "columns": place(columns)}
            matmul_s8(simd, place(a), packed, n, y=y, **terms)
            np.testing.assert_array_equal(y, wanted, f"{rows} rows, {n} outputs")
            y = place(np.full((rows, n), -1, np.int32))
            matmul_s8(simd, place(a ^ 128), packed, n, y=y, flip=128, **terms)
            np.testing.assert_array_equal(y, wanted, f"{rows} rows, {n} outputs, signed")


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", [1, 8, 16, 43, 64])
def test_rows_may_lie_apart(level: str, n: int) -> None:
    """Strides of a and y are wider than their rows; bytes between rows are not written."""
    simd = SIMD[level]
    a, w, _ = draw(ROWS, 22, n)
    packed, _ = pack_s8(simd, w)
    for gap in (1, 3, 64):
        wide_a, wide_y = np.full((ROWS, 22 + gap), 200, np.uint8), np.full((ROWS, n + gap), 7, np.int32)
        wide_a[:, :22] = a
        matmul_s8(simd, wide_a[:, :22], packed, n, y=wide_y[:, :n])
        np.testing.assert_array_equal(wide_y[:, :n], sums_of(a, w))
        assert (wide_y[:, n:] == 7).all()
        flipped = matmul_s8(simd, (wide_a ^ 128)[:, :22], packed, n, flip=128)
        np.testing.assert_array_equal(flipped, wide_y[:, :n])


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize(
    ("height", "width", "depth"), [(3, 3, 1), (1, 3, 3), (3, 3, 3), (3, 3, 50), (5, 2, 64), (2, 1, 2), (3, 1, 700)]
)
def test_windows_need_no_copy(level: str, height: int, width: int, depth: int) -> None:
    """Pieces of overlapping rows give the sums of the same windows copied out; no byte after the image is read."""
    simd, n = SIMD[level], 67
    rng = np.random.default_rng(depth)
    image = at_end(rng.integers(0, 256, (height, ROWS + width - 1, depth)).astype(np.uint8))
    w = rng.integers(-128, 128, (n, height * width * depth)).astype(np.int8)
    shape, strides = (ROWS, height, width * depth), (depth, image.strides[0], 1)
    windows = np.lib.stride_tricks.as_strided(image, shape, strides, writeable=False)
    y = matmul_s8(simd, windows, pack_s8(simd, w, pieces=height)[0], n)
    np.testing.assert_array_equal(y, sums_of(np.ascontiguousarray(windows).reshape(ROWS, -1), w))
    image ^= 128
    np.testing.assert_array_equal(matmul_s8(simd, windows, pack_s8(simd, w, pieces=height)[0], n, flip=128), y)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize(("byte", "weight"), [(255, -128), (255, 127), (0, -128), (128, -128)])
def test_extremes_do_not_saturate(level: str, byte: int, weight: int) -> None:
    """Sums of two of the largest products exceed 16 bits; long sums of them exceed 32 bits and wrap."""
    simd = SIMD[level]
    for k in (2, 600, 9_001, 40_000, 70_000):
        a, w = np.full((15, k), byte, np.uint8), np.full((17, k), weight, np.int8)
        packed, wanted = pack_s8(simd, w)[0], sums_of(a, w)
        np.testing.assert_array_equal(matmul_s8(simd, a, packed, 17), wanted)
        np.testing.assert_array_equal(matmul_s8(simd, a ^ 128, packed, 17, flip=128), wanted)
