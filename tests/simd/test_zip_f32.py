"""zip_f32 at each level: numpy's bits for every function, kind of rows, tail and place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, zip_f32

from minilite._core import lib

FUNCTIONS: dict[str, Any] = {
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "DIV": np.divide,
    "MAX": lambda u, v: np.where(u > v, u, v),
    "MIN": lambda u, v: np.where(u < v, u, v),
    "SQUARED_DIFFERENCE": lambda u, v: (u - v) * (u - v),
    "PRELU": lambda u, v: np.where(u < 0, u * v, u),
}
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1e-45, -1e-40, 3e38, -3e38, 1, -2.5], np.float32)


def drawn(rng: np.random.Generator, *shape: int) -> NDArray:
    return (rng.normal(size=shape) * 3).astype(np.float32)


def test_all_of_them() -> None:
    assert {getattr(lib, f"ML_ZIP_{name}") for name in FUNCTIONS} == set(range(lib.ML_ZIP_COUNT))


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_kinds_and_tails(level: str, name: str) -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100):
        for left, right in (((3, n), (3, n)), ((3, n), (1, n)), ((1, n), (3, n)), ((3, 1), (3, n)), ((3, n), (1, 1))):
            a, b = drawn(rng, *left), drawn(rng, *right)
            expected = np.broadcast_to(FUNCTIONS[name](a, b), (3, n))
            for place in (at_end, at_start, lambda values: shifted(values, 1)):
                y = place(np.full((3, n), 7, np.float32))
                zip_f32(SIMD[level], name, place(a), place(b), y)
                np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special(level: str, name: str) -> None:
    a, b = (np.ascontiguousarray(v) for v in np.broadcast_arrays(SPECIAL[:, None], SPECIAL[None]))
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name](a, b)
    np.testing.assert_array_equal(zip_f32(SIMD[level], name, a, b, np.empty_like(a)), expected)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL", "DIV"])
def test_clamped(level: str, name: str) -> None:
    a, b = (np.ascontiguousarray(v) for v in np.broadcast_arrays(SPECIAL[:, None], SPECIAL[None]))
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name](a, b)
        for low, high in ((0.0, 6.0), (-1.0, np.inf), (-np.inf, 1.0)):
            expected = np.where(exact < low, low, np.where(exact > high, high, exact)).astype(np.float32)
            found = zip_f32(SIMD[level], name, a, b, np.empty_like(a), low=low, high=high)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("level", SIMD)
def test_in_place(level: str) -> None:
    rng = np.random.default_rng(2)
    for n in (1, 5, 16, 37, 64, 99):
        a, b = drawn(rng, 2, n), drawn(rng, 2, n)
        expected = a - b
        left, right = shifted(a, 3), shifted(b, 5)
        np.testing.assert_array_equal(zip_f32(SIMD[level], "SUB", left, b, left), expected)
        np.testing.assert_array_equal(zip_f32(SIMD[level], "SUB", a, right, right), expected)
