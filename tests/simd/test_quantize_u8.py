"""quantize_u8 at each level: steps away from zero at ties, before the zero point is added; limits, NaN, tails."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, pointer

from minilite._core import ffi

F = np.float32


def quantize_u8(level: str, x: NDArray, zero: int, inverse: float, low: int, y: NDArray) -> NDArray:
    fields = {"x": pointer(x, "float *"), "n": x.size, "y": pointer(y, "uint8_t *")}
    SIMD[level].quantize_u8(ffi.new("ml_quantize_u8_args *", {**fields, "zero": zero, "inverse": inverse, "low": low}))
    return y


def expected(x: NDArray, zero: int, inverse: float, low: int) -> NDArray:
    with np.errstate(invalid="ignore", over="ignore"):
        v = x * F(inverse)
    v = np.where(np.isnan(v), -1000, np.clip(v, -1000, 1000)).astype(np.float64)
    steps = zero + np.trunc(v + np.copysign(0.5, v))
    return (np.clip(steps, low, 127) + 128).astype(np.uint8)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize(("zero", "low"), [(0, -127), (-128, -128), (127, -128), (-3, -128)])
def test_values(level: str, zero: float, low: float) -> None:
    rng = np.random.default_rng(0)
    ties = np.arange(-300, 300, dtype=F) / 2
    x = np.concatenate([ties, np.nextafter(ties, F(np.inf)), np.nextafter(ties, F(-np.inf)), rng.normal(0, 50, 500)])
    x = np.append(x, [np.nan, np.inf, -np.inf, -0.0, 1e38, -1e38]).astype(F)
    for inverse in (1.0, 0.37, 3.0):
        y = quantize_u8(level, x, zero, inverse, low, np.zeros(x.size, np.uint8))
        np.testing.assert_array_equal(y, expected(x, zero, inverse, low))


@pytest.mark.parametrize("level", SIMD)
def test_tails_and_places(level: str) -> None:
    rng = np.random.default_rng(0)
    for n in range(100):
        x = rng.normal(0, 50, n).astype(F)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            y = quantize_u8(level, place(x), 5, 1.1, -128, place(np.full(n, 77, np.uint8)))
            np.testing.assert_array_equal(y, expected(x, 5, 1.1, -128))
