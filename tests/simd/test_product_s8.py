"""product_s8 at each level: the same bytes as scalar requantize of scalar matmul_s8's sums."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from primitives import SIMD, matmul_s8, pack_s8, product_s8, requantize, requantize_f64

HIGHEST = (1 << 31) - 1


class Product:
    """Random operands from a seed; with `small`, sums stay below 2^30."""

    def __init__(self, rows: int, pieces: int, k: int, n: int, *, small: bool = True, factored: bool = False) -> None:
        rng = np.random.default_rng([rows, pieces, k, n, small, factored])
        self.a = rng.integers(0, 256, (rows, pieces, k)).astype(np.uint8)
        self.w = rng.integers(-128, 128, (n, pieces * k)).astype(np.int8)
        most = 1 << 20 if small else HIGHEST
        self.bias = rng.integers(-most, most, n).astype(np.int32)
        self.mantissas = rng.integers(1 << 30, HIGHEST, n).astype(np.int32)
        self.shifts = rng.integers(-14, -4, n).astype(np.int32)
        if n > 1:  # a channel that always gives the same
            self.shifts[n // 2], self.bias[n // 2] = -31, (1 << 29)
        self.factors = self.columns = None
        if factored:
            self.factors = rng.integers(-255, 1, rows).astype(np.int32)
            self.columns = rng.integers(-999, 999, n).astype(np.int32)
        self.limit = 1 << 30 if small else 0
        self.pieces, self.n = pieces, n

    def wanted(self, **ends: int) -> NDArray:
        scalar = SIMD["scalar"]
        packed, _ = pack_s8(scalar, self.w, pieces=self.pieces)
        terms = {"bias": self.bias, "factors": self.factors, "columns": self.columns}
        return requantize(
            scalar, matmul_s8(scalar, self.a, packed, self.n, **terms), self.mantissas, self.shifts, **ends
        )


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", [1, 7, 8, 15, 16, 17, 24, 31, 32, 33, 40, 48, 49, 63, 64, 65, 80, 96, 127, 128, 130])
def test_every_tail(level: str, n: int) -> None:
    for k, factored in itertools.product((1, 3, 4, 9, 67), (False, True)):
        for rows in range(36):
            p = Product(rows, 1, k, n, factored=factored)
            packed, _ = pack_s8(SIMD[level], p.w)
            terms = {"bias": p.bias, "factors": p.factors, "columns": p.columns, "zero": -3, "limit": p.limit}
            y = product_s8(SIMD[level], p.a, packed, p.mantissas, p.shifts, np.empty((rows, n), np.int8), **terms)
            np.testing.assert_array_equal(y, p.wanted(zero=-3), f"{rows} rows of {k}")


@pytest.mark.parametrize("level", SIMD)
@given(
    sizes=st.tuples(st.integers(0, 40), st.integers(1, 3), st.integers(1, 90), st.integers(1, 150)),
    small=st.booleans(),
    ends=st.sampled_from([(0, -128, 127), (-128, -128, 127), (-128, 0, 127), (127, -5, 6), (0, 0, 255), (255, 3, 250)]),
)
@settings(max_examples=80, deadline=None)
def test_any_size(level: str, sizes: tuple[int, int, int, int], small: bool, ends: tuple[int, int, int]) -> None:
    """Small sums and sums of any size, clamped to the ends of s8 and of u8."""
    p = Product(*sizes, small=small)
    packed, _ = pack_s8(SIMD[level], p.w, pieces=p.pieces)
    of_bytes = dict(zip(("zero", "low", "high"), ends, strict=True))
    y = np.empty((sizes[0], p.n), np.int8)
    product_s8(SIMD[level], p.a, packed, p.mantissas, p.shifts, y, bias=p.bias, limit=p.limit, **of_bytes)
    np.testing.assert_array_equal(y, p.wanted(**of_bytes))
    again = np.empty_like(y)
    terms = {"bias": p.bias, "limit": p.limit, "flip": 128}
    product_s8(SIMD[level], p.a ^ 128, packed, p.mantissas, p.shifts, again, **terms, **of_bytes)
    np.testing.assert_array_equal(again, y)


@pytest.mark.parametrize("level", SIMD)
def test_nothing_past_the_operands_is_touched(level: str) -> None:
    for rows, n, small in itertools.product([1, 2, 3, 5, 11, 19], [1, 5, 16, 33, 64, 67], (False, True)):
        p = Product(rows, 1, 10, n, small=small, factored=True)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            packed, _ = pack_s8(SIMD[level], p.w, place=place)
            y = place(np.full((rows, n), 99, np.int8))
            terms = {"bias": place(p.bias), "factors": place(p.factors), "columns": place(p.columns)}
            multipliers = place(p.mantissas), place(p.shifts)
            product_s8(SIMD[level], place(p.a[:, 0]), packed, *multipliers, y, limit=p.limit, **terms)
            np.testing.assert_array_equal(y, p.wanted())
            y = place(np.full((rows, n), 99, np.int8))
            product_s8(SIMD[level], place(p.a[:, 0] ^ 128), packed, *multipliers, y, limit=p.limit, flip=128, **terms)
            np.testing.assert_array_equal(y, p.wanted())
        wide = np.full((rows, n + 3), 77, np.int8)
        packed, _ = pack_s8(SIMD[level], p.w)
        terms = {"bias": p.bias, "factors": p.factors, "columns": p.columns}
        product_s8(SIMD[level], p.a, packed, p.mantissas, p.shifts, wide[:, :n], limit=p.limit, **terms)
        np.testing.assert_array_equal(wide[:, :n], p.wanted())
        assert (wide[:, n:] == 77).all()


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", [3, 16, 40, 64, 80, 130])
def test_lines_of_rows(level: str, n: int) -> None:
    """Lines that lie apart; factors and outputs go on from line to line."""
    for lines, width, small in itertools.product((1, 2, 5), (1, 3, 8, 14, 33), (False, True)):
        p = Product(lines * width, 2, 7, n, small=small, factored=True)
        wide = np.full((lines, width + 2, 2, 7), 200, np.uint8)
        wide[:, :width] = p.a.reshape(lines, width, 2, 7)
        packed, _ = pack_s8(SIMD[level], p.w, pieces=2)
        terms = {"bias": p.bias, "factors": p.factors, "columns": p.columns, "limit": p.limit}
        y = np.empty((lines * width, n), np.int8)
        product_s8(SIMD[level], wide[:, :width], packed, p.mantissas, p.shifts, y, **terms)
        np.testing.assert_array_equal(y, p.wanted())
        again = np.empty_like(y)
        product_s8(SIMD[level], (wide ^ 128)[:, :width], packed, p.mantissas, p.shifts, again, flip=128, **terms)
        np.testing.assert_array_equal(again, y)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize(("pieces", "k", "small"), [(1, 9001, True), (3, 5000, False), (1, 70_000, False)])
def test_rows_too_long_for_a_copy_of_a_tile(level: str, pieces: int, k: int, small: bool) -> None:
    p = Product(15, pieces, k, 40, small=small)
    packed, _ = pack_s8(SIMD[level], p.w, pieces=pieces)
    y = np.empty((15, 40), np.int8)
    terms = {"bias": p.bias, "limit": p.limit, "flip": 128}
    product_s8(SIMD[level], p.a ^ 128, packed, p.mantissas, p.shifts, y, **terms)
    np.testing.assert_array_equal(y, p.wanted())


@pytest.mark.parametrize("level", SIMD)
@given(
    sizes=st.tuples(st.integers(0, 16), st.integers(1, 3), st.integers(1, 90), st.integers(1, 150)),
    ends=st.sampled_from([(0, -128, 127), (-128, -128, 127), (127, -5, 6), (0, 0, 255), (255, 3, 250)]),
    factored=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_reals(level: str, sizes: tuple[int, int, int, int], ends: tuple[int, int, int], factored: bool) -> None:
    """Ties on both sides, products beyond int32; single rows and several; operands at the end of a page."""
    p, rng = Product(*sizes, factored=factored), np.random.default_rng(sizes)
    reals = rng.choice([0.5, 0.25, 1.5, 1e9, 0.0, 2.0**-31, 1e-4, 3e-5], p.n)
    of_bytes = dict(zip(("zero", "low", "high"), ends, strict=True))
    packed, _ = pack_s8(SIMD[level], p.w, pieces=p.pieces, place=at_end)
    terms = {"bias": at_end(p.bias), "factors": p.factors, "columns": p.columns if not factored else at_end(p.columns)}
    y = at_end(np.full((sizes[0], p.n), 99, np.int8))
    product_s8(SIMD[level], at_end(p.a), packed, None, None, y, reals=at_end(reals), **terms, **of_bytes)
    sums = matmul_s8(SIMD["scalar"], p.a, packed, p.n, bias=p.bias, factors=p.factors, columns=p.columns)
    wanted = requantize_f64(SIMD["scalar"], sums, reals, np.empty_like(y), **of_bytes)
    np.testing.assert_array_equal(y, wanted)
