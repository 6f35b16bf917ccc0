"""quantize_s8 at each level: one division, rounded half away from zero, limits, NaN, tails, nothing past the
operands."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, pointer

from minilite._core import ffi


def quantize(level: str, x: NDArray, y: NDArray, scale: float, zero: int) -> NDArray:
    fields = {"x": pointer(x, "float *"), "y": pointer(y, "uint8_t *"), "n": x.size, "is_signed": y.dtype == np.int8}
    SIMD[level].quantize_s8(ffi.new("ml_quantize_s8_args *", {**fields, "scale": scale, "zero": zero}))
    return y


def expected(x: NDArray, kind: type, scale: float, zero: int) -> NDArray:
    with np.errstate(over="ignore"):
        v = (x / np.float32(scale)).astype(np.float64)
    steps = np.sign(v) * np.floor(np.abs(v) + 0.5) + zero
    return np.clip(np.nan_to_num(steps, nan=-1e9), np.iinfo(kind).min, np.iinfo(kind).max).astype(kind)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("scale", [1.0, 0.05, 3e-5, 700.0])
def test_tails_places_and_ties(level: str, kind: type, scale: float) -> None:
    rng = np.random.default_rng(0)
    scale, zero = float(np.float32(scale)), -7 if kind == np.int8 else 99
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38], np.float32)
    for n in [0, *range(1, 20), 31, 32, 33, 64, 100, 700]:
        x = (rng.integers(-600, 600, n) / 2 * scale + rng.choice([0, 0, 1e-3 * scale], n)).astype(np.float32)
        x[: min(n, 7) : 2] = odd[: min(n, 7) : 2]
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            y = quantize(level, place(x), place(np.zeros(n, kind)), scale, zero)
            np.testing.assert_array_equal(y, expected(x, kind, scale, zero))


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_next_to_ties(level: str, kind: type) -> None:
    """The last bit of a quotient decides."""
    rng = np.random.default_rng(1)
    ends = np.iinfo(kind)
    for scale in [*rng.uniform(1e-3, 1, 30), 1 / 3, 2.0**-7, 1e-35, 1e35]:
        scale, zero = float(np.float32(scale)), int(rng.choice([ends.min, ends.max, rng.integers(ends.min, ends.max)]))
        x = ((rng.integers(-300, 300, 2048) + 0.5) * scale).astype(np.float32)
        for _ in range(4):
            x = np.where(rng.random(x.size) < 0.5, np.nextafter(x, np.float32(rng.choice([-np.inf, np.inf]))), x)
        y = quantize(level, x, np.zeros(x.size, kind), scale, zero)
        np.testing.assert_array_equal(y, expected(x, kind, scale, zero))
