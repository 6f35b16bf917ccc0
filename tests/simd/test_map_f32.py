"""map_f32 at each level: each function within its bound of float64; tails, places, in place, NaN and infinities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, map_f32

from minilite._core import lib


class Function(NamedTuple):
    """A function in float64, its bound in ULP, and the range from which numbers are drawn."""

    exact: Callable[[NDArray], NDArray]
    ulp: float
    low: float
    high: float
    a: float = 0.0
    b: float = 0.0
    of_half: bool = False
    """The bound is of x / 2."""


def erf(x: NDArray) -> NDArray:
    return np.array([math.erf(v) for v in x.ravel()]).reshape(x.shape)


def gelu(x: NDArray, factor: NDArray) -> NDArray:
    return x / 2 * (1 + factor)


FUNCTIONS = {
    "CLAMP": Function(lambda x: np.minimum(np.maximum(x, -0.5), 2.25), 0, -9, 9, -0.5, 2.25),
    "LEAKY": Function(lambda x: np.where(x > 0, x, x * np.float64(np.float32(0.3))), 0.5, -9, 9, 0.3),
    "ABS": Function(np.abs, 0, -9, 9),
    "NEG": Function(np.negative, 0, -9, 9),
    "SQUARE": Function(np.square, 0.5, -9, 9),
    "SQRT": Function(np.sqrt, 0.5, 0, 1e9),
    "RSQRT": Function(lambda x: 1 / np.sqrt(x), 2, 1e-9, 100),
    "FLOOR": Function(np.floor, 0, -9, 9),
    "CEIL": Function(np.ceil, 0, -9, 9),
    "ROUND": Function(np.rint, 0, -9, 9),
    "EXP": Function(np.exp, 2, -104, 88.7),
    "LOG": Function(np.log, 2, 0, 5),
    "SIN": Function(np.sin, 3, -20000, 20000),
    "COS": Function(np.cos, 3, -20000, 20000),
    "LOGISTIC": Function(lambda x: 1 / (1 + np.exp(-x)), 4, -87, 87),
    "TANH": Function(np.tanh, 6, -10, 10),
    "ELU": Function(lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x), 2, -20, 3),
    "HARD_SWISH": Function(lambda x: x * np.clip(x + 3, 0, 6) / 6, 2.5, -4, 9),
    "GELU": Function(lambda x: gelu(x, erf(x / math.sqrt(2))), 6, -9, 9, of_half=True),
    "GELU_TANH": Function(
        lambda x: gelu(x, np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), 6, -9, 9, of_half=True
    ),
}
NAN, INF = np.float32(np.nan), np.float32(np.inf)
ENDS = np.array([0, -0.0, INF, -INF, NAN, 1e-45, -1e-45, 1e-40, 3e38, -3e38, 8388609, -8388609, 2.5, -0.5], np.float32)
OF_ENDS = {
    "EXP": [1, 1, INF, 0, NAN, 1, 1, 1, INF, 0, INF, 0],
    "LOG": [-INF, -INF, INF, NAN, NAN, -103.278929, NAN, -92.103416, 88.596855, NAN],
    "SIN": [0, 0, NAN, NAN, NAN, 1e-45, -1e-45, 1e-40],
    "COS": [1, 1, NAN, NAN, NAN, 1, 1, 1],
    "LOGISTIC": [0.5, 0.5, 1, 0, NAN, 0.5, 0.5, 0.5, 1, 0, 1, 0],
    "TANH": [0, 0, 1, -1, NAN, 1e-45, -1e-45, 1e-40, 1, -1, 1, -1],
    "ELU": [0, 0, INF, -1, NAN, 1e-45, -1e-45, 1e-40, 3e38, -1, 8388609, -1],
    "SQRT": [0, 0, INF, NAN, NAN, 3.7433921e-23, NAN],
    "RSQRT": [INF, -INF, 0, NAN, NAN, 2.6713738e22, NAN, 1.00000275e20],
    "FLOOR": [0, 0, INF, -INF, NAN, 0, -1, 0, 3e38, -3e38, 8388609, -8388609, 2, -1],
    "CEIL": [0, 0, INF, -INF, NAN, 1, 0, 1, 3e38, -3e38, 8388609, -8388609, 3, 0],
    "ROUND": [0, 0, INF, -INF, NAN, 0, 0, 0, 3e38, -3e38, 8388609, -8388609, 2, 0],
    "CLAMP": [0, 0, 2.25, -0.5, NAN, 1e-45, -1e-45, 1e-40, 2.25, -0.5, 2.25, -0.5, 2.25, -0.5],
    "GELU": [0, 0, INF, NAN, NAN, 0, 0, 5e-41, 3e38, 0, 8388609, 0],
    "GELU_TANH": [0, 0, INF, NAN, NAN, 0, 0, 5e-41, 3e38, 0, 8388609, 0],
}


def made(level: str, name: str, x: NDArray, y: NDArray | None = None) -> NDArray:
    return map_f32(SIMD[level], name, x, y, FUNCTIONS[name].a, FUNCTIONS[name].b)


def test_all_of_them() -> None:
    listed = {lib.ML_MAP_COUNT} | {getattr(lib, f"ML_MAP_{name}") for name in FUNCTIONS}
    assert listed == set(range(lib.ML_MAP_COUNT + 1))


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bound(level: str, name: str) -> None:
    f, rng = FUNCTIONS[name], np.random.default_rng(1)
    for low, high in ((f.low, f.high), (max(f.low, -1.0), min(f.high, 1.0)), (max(f.low, -1e-3), 1e-3)):
        x = rng.uniform(low, high, 20011).astype(np.float32)
        with np.errstate(under="ignore", divide="ignore"):
            exact = f.exact(x.astype(np.float64))
        step = np.spacing(np.abs(x / 2 if f.of_half else exact).astype(np.float32))
        far = np.abs(made(level, name, x) - exact) / step
        assert far[np.isfinite(exact)].max() <= f.ulp, f"{x[far.argmax()]}"


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("name", ["SIN", "COS"])
def test_near_multiples_of_pi(level: str, name: str) -> None:
    """Results so small that what is left of x depends on pi's last bits."""
    turns = np.arange(1, 6366) * np.pi - (np.pi / 2 if name == "COS" else 0)
    x = turns.astype(np.float32)
    exact = getattr(np, name.lower())(x.astype(np.longdouble)).astype(np.float64)
    assert (np.abs(made(level, name, x) - exact) <= 3 * np.spacing(np.abs(exact).astype(np.float32))).all()


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("name", ["SIN", "COS"])
def test_far_numbers(level: str, name: str) -> None:
    """One in a stretch: its neighbours stay within the bound, and all are equal where they are alone."""
    x = np.random.default_rng(2).uniform(-9, 9, 1500).astype(np.float32)
    x[[3, 700]] = 1e9, -3e38
    exact = getattr(np, name.lower())(x.astype(np.float64))
    assert np.abs(made(level, name, x) - exact).max() < 1e-6


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("name", OF_ENDS)
def test_ends(level: str, name: str) -> None:
    expected = np.array(OF_ENDS[name], np.float32)
    found = made(level, name, np.repeat(ENDS, 16))[::16][: len(expected)]
    np.testing.assert_allclose(found, expected, rtol=4e-7, atol=0, equal_nan=True)


@pytest.mark.parametrize("level", SIMD)
def test_saturation(level: str) -> None:
    """tanh never leaves [-1, 1], and gelu goes to 0."""
    x = np.linspace(-20, 20, 400_001, dtype=np.float32)
    assert np.abs(made(level, "TANH", x)).max() == 1
    for name in ("GELU", "GELU_TANH"):
        assert (made(level, name, x[x < -14.5]) == 0).all()
        assert (made(level, name, x[x > 14.5]) == x[x > 14.5]).all()


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("name", ["GELU", "GELU_TANH"])
def test_negative_tails_keep_their_digits(level: str, name: str) -> None:
    x = np.linspace(-9, -1, 40_001, dtype=np.float32)
    v = x.astype(np.float64)
    tail = np.array([math.erfc(-a / math.sqrt(2)) / 2 for a in v])
    if name == "GELU_TANH":
        tail = 1 / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))
    np.testing.assert_allclose(made(level, name, x), v * tail, rtol=4e-5)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_tails_and_places(level: str, name: str) -> None:
    """The same bits for any length and place, in place too, and nothing touched beside."""
    f = FUNCTIONS[name]
    x = np.random.default_rng(3).uniform(f.low, f.high, 1100).astype(np.float32)
    whole = made(level, name, x)
    for n in (*range(40), 1040):
        expected = whole[:n]
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            y = place(np.full(n, 7, np.float32))
            made(level, name, place(x[:n]), y)
            np.testing.assert_array_equal(y, expected)
        both = shifted(x[:n], 3)
        np.testing.assert_array_equal(made(level, name, both, both), expected)
