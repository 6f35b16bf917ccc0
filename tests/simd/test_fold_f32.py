"""fold_f32 at each level: sums within their bound of float64, extremes exactly; rows, columns, tails and places."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, fold_f32

from minilite._core import lib

EPS = 2.0**-23
FUNCTIONS = ["SUM", "SQUARES", "MAX", "MIN"]
LENGTHS = (1, 2, 3, 5, 8, 15, 16, 17, 33, 64, 127, 128, 129, 300)


def test_all_of_them() -> None:
    assert {getattr(lib, f"ML_FOLD_{name}") for name in FUNCTIONS} == set(range(lib.ML_FOLD_COUNT))


def check(level: str, name: str, x: NDArray, before: NDArray, place: object, across: bool) -> None:
    y = place(before)  # type: ignore[operator]
    fold_f32(SIMD[level], name, place(x) if x.flags.c_contiguous else x, y, across=across)  # type: ignore[operator]
    axis, wide = 0 if across else 1, x.astype(np.float64)
    if name in ("MAX", "MIN"):
        of, pair = (np.max, np.maximum) if name == "MAX" else (np.min, np.minimum)
        np.testing.assert_array_equal(y, pair(before, of(x, axis=axis)))
        return
    wide = wide**2 if name == "SQUARES" else wide
    bound = EPS * (2 + x.shape[axis] / 2) * (np.abs(wide).sum(axis=axis) + np.abs(before))
    assert (np.abs(y - (before + wide.sum(axis=axis))) <= bound).all()


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("across", [False, True])
def test_tails_and_places(level: str, name: str, across: bool) -> None:
    rng = np.random.default_rng(1)
    for n in LENGTHS:
        for rows in (1, 2, 7):
            x = (rng.normal(size=(rows, n)) * 3 - 1).astype(np.float32)
            before = rng.normal(size=n if across else rows).astype(np.float32)
            for place in (at_end, at_start, lambda values: shifted(values, 1)):
                check(level, name, x, before, place, across)
            check(level, name, np.repeat(x, 2, axis=1)[:, :n], before, at_end, across)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("across", [False, True])
def test_no_numbers(level: str, across: bool) -> None:
    """NaN is passed over by extremes, and makes a sum one."""
    for n in (3, 16, 200):
        for at in (0, n // 2, n - 1):
            x = np.full((2, n), -2, np.float32)
            x[:, at] = np.nan
            before = np.full(n if across else 2, -5, np.float32)
            most = fold_f32(SIMD[level], "MAX", x, before.copy(), across=across)
            assert (np.delete(most, at) == -2).all() if across else (most == -2).all()
            total = fold_f32(SIMD[level], "SUM", x, before.copy(), across=across)
            assert np.isnan(total[at] if across else total).all()
    x = np.full((1, 40), -np.inf, np.float32)
    assert fold_f32(SIMD[level], "MAX", x, np.float32([-1.0]), across=False) == -1
