"""product_f32 at each level: the same bits as scalar scale_s32 of scalar matmul_s8's sums."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from primitives import SIMD, matmul_s8, pack_s8, product_f32, scale_s32

F = np.float32
INTEGERS = ("start", "factors", "columns")


class Product:
    """Seeded operands of rows in lines; `terms` are what product_f32 may take beside them."""

    def __init__(self, rows: int, pieces: int, k: int, n: int, *, odd: int = 0) -> None:
        rng = np.random.default_rng([rows, pieces, k, n, odd])
        self.a = rng.integers(0, 256, (rows, pieces, k)).astype(np.uint8)
        self.w = rng.integers(-128, 128, (n, pieces * k)).astype(np.int8)
        self.scales, self.weights = rng.uniform(0, 0.1, rows).astype(F), rng.uniform(0, 0.1, n).astype(F)
        self.pieces, self.n = pieces, n
        self.terms: dict[str, Any] = {"weights_first": odd % 2 == 1}
        if odd & 2:
            self.terms |= {"bias": rng.normal(size=n).astype(F), "low": 0.0, "high": 6.0}
        if odd & 4:
            self.terms |= {"start": rng.integers(-(1 << 31), 1 << 31, n).astype(np.int32)}
            self.weights[n // 2] = np.inf
        if odd & 8:
            self.terms |= {"factors": rng.integers(-255, 1, rows).astype(np.int32)}
            self.terms |= {"columns": rng.integers(-999, 999, n).astype(np.int32)}

    def wanted(self) -> NDArray:
        scalar, y = SIMD["scalar"], np.empty((len(self.a), self.n), F)
        packed, _ = pack_s8(scalar, self.w, pieces=self.pieces)
        start, factors, columns = (self.terms.get(name) for name in INTEGERS)
        sums = matmul_s8(scalar, self.a, packed, self.n, bias=start, factors=factors, columns=columns)
        floats = {name: value for name, value in self.terms.items() if name not in INTEGERS}
        return scale_s32(scalar, sums, self.scales, self.weights, y, **floats)

    def made(
        self, level: str, a: NDArray, place: Callable[[NDArray], NDArray] = lambda values: values, flip: int = 0
    ) -> NDArray:
        """Computes the product at a level, from rows of `a`; all operands are placed."""
        packed, _ = pack_s8(SIMD[level], self.w, pieces=self.pieces, place=place)
        terms = {name: place(v) if isinstance(v, np.ndarray) else v for name, v in self.terms.items()}
        y = place(np.full((len(self.a), self.n), 99, F))
        return product_f32(SIMD[level], a, packed, place(self.scales), place(self.weights), y, flip=flip, **terms)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", [1, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65, 96, 130])
def test_every_tail(level: str, n: int) -> None:
    for k, odd in itertools.product((1, 3, 4, 9, 67), (0, 3, 10, 15)):
        for rows in range(20):
            p = Product(rows, 1, k, n, odd=odd)
            np.testing.assert_array_equal(p.made(level, p.a), p.wanted(), f"{rows} rows of {k}")


@pytest.mark.parametrize("level", SIMD)
@given(
    sizes=st.tuples(st.integers(0, 40), st.integers(1, 3), st.integers(1, 90), st.integers(1, 150)),
    odd=st.integers(0, 15),
)
@settings(max_examples=80, deadline=None)
def test_any_size(level: str, sizes: tuple[int, int, int, int], odd: int) -> None:
    p = Product(*sizes, odd=odd)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(p.made(level, p.a), p.wanted())
    np.testing.assert_array_equal(p.made(level, p.a ^ 128, flip=128), p.wanted())


@pytest.mark.parametrize("level", SIMD)
def test_nothing_past_the_operands_is_touched(level: str) -> None:
    for rows, n in itertools.product([1, 2, 3, 5, 11, 19], [1, 5, 16, 33, 64, 67]):
        p = Product(rows, 1, 10, n, odd=10)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            np.testing.assert_array_equal(p.made(level, place(p.a[:, 0]), place), p.wanted())
            np.testing.assert_array_equal(p.made(level, place(p.a[:, 0] ^ 128), place, 128), p.wanted())
        wide = np.full((rows, n + 3), 77, F)
        packed, _ = pack_s8(SIMD[level], p.w)
        product_f32(SIMD[level], p.a, packed, p.scales, p.weights, wide[:, :n], **p.terms)
        np.testing.assert_array_equal(wide[:, :n], p.wanted())
        assert (wide[:, n:] == 77).all()


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", [3, 16, 40, 64, 80, 130])
def test_lines_of_rows(level: str, n: int) -> None:
    """Lines that lie apart; factors, scales and outputs go on from line to line."""
    for lines, width in itertools.product((1, 2, 5), (1, 3, 8, 14, 33)):
        p = Product(lines * width, 2, 7, n, odd=11)
        wide = np.full((lines, width + 2, 2, 7), 200, np.uint8)
        wide[:, :width] = p.a.reshape(lines, width, 2, 7)
        np.testing.assert_array_equal(p.made(level, wide[:, :width]), p.wanted())
        np.testing.assert_array_equal(p.made(level, (wide ^ 128)[:, :width], flip=128), p.wanted())


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize(("rows", "pieces", "k"), [(15, 1, 9001), (1, 1, 9001), (1, 3, 2700), (7, 3, 5000)])
def test_long_rows(level: str, rows: int, pieces: int, k: int) -> None:
    """Sums of several stretches become floats after the last one."""
    p = Product(rows, pieces, k, 40, odd=15)
    np.testing.assert_array_equal(p.made(level, p.a ^ 128, flip=128), p.wanted())
