"""requantize at each level: the bits of the numpy rule for every shift, tie, extreme, tail and place."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, requantize

from minilite.ops_shared.fixed_point import multiply_by_quantized_multiplier

LOWEST, HIGHEST = -(2**31), 2**31 - 1
MANTISSAS = np.array([0, 1 << 30, (1 << 30) + 1, 0x5A827999, 0x60000000, 0x7FFFFFFE, HIGHEST], np.int32)
EXTREMES = np.array(
    [
        LOWEST,
        LOWEST + 1,
        LOWEST // 2,
        -(1 << 16),
        -3,
        -2,
        -1,
        0,
        1,
        2,
        3,
        1 << 16,
        (1 << 30) - 1,
        1 << 30,
        HIGHEST - 1,
        HIGHEST,
    ],
    np.int64,
).astype(np.int32)
LIMITS = [(0, -128, 127), (-128, -128, 127), (127, -100, 99), (128, 0, 255), (255, 17, 200), (0, 0, 0)]


def expected(
    sums: NDArray, mantissas: NDArray, shifts: NDArray, bias: NDArray | None, zero: int, low: int, high: int
) -> NDArray:
    v = (sums.astype(np.int64) + (0 if bias is None else bias.astype(np.int64))).astype(np.int32)
    v = multiply_by_quantized_multiplier(v, mantissas, shifts)
    return np.clip((v.astype(np.int64) + zero).astype(np.int32), low, high).astype(np.uint8).view(np.int8)


def check(
    level: str,
    *operands: Any,
    zero: int = 0,
    low: int = -128,
    high: int = 127,
    bias: NDArray | None = None,
    limit: int = 1 << 30,
) -> None:
    """Checks the sums as they are; and those below a limit again, with that limit given."""
    wanted = expected(*operands, bias, zero, low, high)
    np.testing.assert_array_equal(requantize(SIMD[level], *operands, bias=bias, zero=zero, low=low, high=high), wanted)
    sums, *multipliers = operands
    small = np.abs(sums.astype(np.int64) + (0 if bias is None else bias)) < limit
    y = requantize(
        SIMD[level], np.where(small, sums, 0), *multipliers, bias=bias, zero=zero, low=low, high=high, limit=limit
    )
    known = small if bias is None else small & (np.abs(bias.astype(np.int64)) < limit)
    np.testing.assert_array_equal(y[known], wanted[known])


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("shift", range(-31, 32))
def test_every_shift(level: str, shift: int) -> None:
    """Extremes, values of every magnitude, and ties on both sides."""
    rng = np.random.default_rng(shift + 31)
    magnitudes = np.int64(1) << np.arange(31, dtype=np.int64)
    ties = np.concatenate([d + s * (m + m // 2) for m in magnitudes for d in (-1, 0, 1) for s in [np.array([-1, 1])]])
    anything = rng.integers(LOWEST, HIGHEST, 300) >> rng.integers(0, 31, 300)
    sums = np.concatenate([EXTREMES, np.clip(ties, LOWEST, HIGHEST), anything]).astype(np.int32)
    mantissas = np.concatenate([MANTISSAS, rng.integers(1 << 30, HIGHEST, 12).astype(np.int32)])
    table = np.ascontiguousarray(np.broadcast_to(sums[:, None], (len(sums), len(mantissas))))
    shifts = np.full(len(mantissas), shift, np.int32)
    for zero, low, high in LIMITS:
        check(level, table, mantissas, shifts, zero=zero, low=low, high=high)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("lefts", [False, True])
def test_bytes_that_do_not_saturate(level: str, lefts: bool) -> None:
    """Sums that land within a byte, each column with a shift of its own, left ones among them or not."""
    rng = np.random.default_rng(lefts)
    n = 200
    mantissas = rng.integers(1 << 30, HIGHEST, n).astype(np.int32)
    shifts = rng.integers(-22, 4 if lefts else 1, n).astype(np.int32)
    reals = mantissas / 2.0**31 * 2.0**shifts
    sums = np.round(rng.uniform(-140, 140, (50, n)) / reals).astype(np.int64)
    sums = np.clip(sums, LOWEST, HIGHEST).astype(np.int32)
    bias = rng.integers(-1000, 1000, n).astype(np.int32)
    check(level, sums, mantissas, shifts)
    check(level, sums - bias, mantissas, shifts, bias=bias, zero=-5)
    check(level, sums, mantissas, shifts, zero=128, low=0, high=255)


@pytest.mark.parametrize("level", SIMD)
def test_sums_and_zero_points_wrap(level: str) -> None:
    sums = np.array([[HIGHEST, LOWEST, HIGHEST, LOWEST, 5]], np.int32)
    bias = np.array([1, -1, HIGHEST, LOWEST, HIGHEST], np.int32)
    mantissas, shifts = np.full(5, HIGHEST, np.int32), np.zeros(5, np.int32)
    for zero in (0, 100, -100):
        check(level, sums, mantissas, shifts, bias=bias, zero=zero)
        check(level, sums, mantissas, shifts, zero=zero)


@pytest.mark.parametrize("level", SIMD)
def test_tails_places_and_strides(level: str) -> None:
    """Nothing past the operands is touched, nor between rows that lie apart."""
    rng = np.random.default_rng(0)
    simd, rows = SIMD[level], 9
    for n in [0, *range(1, 36), 63, 64, 65, 127, 130]:
        sums, bias = (rng.integers(-(1 << 20), 1 << 20, shape).astype(np.int32) for shape in ((rows, n), (n,)))
        mantissas = rng.integers(1 << 30, HIGHEST, n).astype(np.int32)
        shifts = rng.integers(-14, 0, n).astype(np.int32)
        if n > 20:
            shifts[n // 2] = 1
        wanted = expected(sums, mantissas, shifts, bias, 3, -128, 127)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            y = place(np.full((rows, n), 99, np.int8))
            operands = [place(values) for values in (sums, mantissas, shifts)]
            for limit in (0, 1 << 30):
                y[...] = 99
                requantize(simd, *operands, bias=place(bias), y=y, zero=3, limit=limit)
                np.testing.assert_array_equal(y, wanted)
        wide_sums = np.full((rows, n + 5), 77, np.int32)
        wide_sums[:, :n] = sums
        for limit, gap in itertools.product((0, 1 << 30), {3, -n % 16, 64}):
            wide_y = np.full((rows, n + gap), 99, np.int8)
            requantize(simd, wide_sums[:, :n], mantissas, shifts, bias=bias, y=wide_y[:, :n], zero=3, limit=limit)
            np.testing.assert_array_equal(wide_y[:, :n], wanted)
            assert (wide_y[:, n:] == 99).all()


@pytest.mark.parametrize("limit", [1 << 30, 5 << 28, HIGHEST])
@pytest.mark.parametrize("level", SIMD)
def test_small_sums_of_every_shift(level: str, limit: int) -> None:
    """Ties and their neighbours on both sides of 0, each column with a shift of its own, up to the limit."""
    rng, n = np.random.default_rng(1), 32
    mantissas = np.concatenate([MANTISSAS, rng.integers(1 << 30, HIGHEST, n - len(MANTISSAS))]).astype(np.int32)
    shifts = -np.arange(n, dtype=np.int32)
    ties = np.array([s * (2 * k + 1) for k in range(300) for s in (-1, 1)], np.int64)[:, None] << np.arange(n) >> 1
    sums = np.concatenate([ties + d for d in (-1, 0, 1)] + [np.array([[limit - 1] * n, [1 - limit] * n])])
    sums = np.clip(sums, 1 - limit, limit - 1).astype(np.int32)
    for order in (slice(None), slice(None, None, -1)):
        for zero, low, high in LIMITS:
            check(
                level, sums, np.ascontiguousarray(mantissas[order]), shifts, zero=zero, low=low, high=high, limit=limit
            )
            check(level, sums[:, :-1], np.ascontiguousarray(mantissas[order][:-1]), shifts[:-1], zero=zero, limit=limit)


@pytest.mark.parametrize("level", SIMD)
def test_many_rows_of_few_columns(level: str) -> None:
    """Rows side by side, any number of them."""
    rng = np.random.default_rng(2)
    for n, rows in itertools.product(range(1, 17), (1, 15, 16, 17, 31, 40)):
        sums, bias = (rng.integers(-(1 << 20), 1 << 20, shape).astype(np.int32) for shape in ((rows, n), (n,)))
        mantissas = rng.integers(1 << 30, HIGHEST, n).astype(np.int32)
        check(level, sums, mantissas, rng.integers(-14, 0, n).astype(np.int32), bias=bias, zero=-7)
        check(level, sums, mantissas, rng.integers(-14, 3, n).astype(np.int32))
