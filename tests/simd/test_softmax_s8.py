"""softmax_s8 at each level equals scalar, which the operator's tests compare with LiteRT: tails, in place, sums of
every size."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, pointer

from minilite._core import ffi


def exps(scale: float) -> NDArray:
    """exp(-i * scale) in Q0.31."""
    return np.minimum(np.exp(-np.arange(256) * scale) * 2.0**31, 2.0**31 - 1).astype(np.int32)


def softmax(level: str, x: NDArray, table: NDArray, y: NDArray) -> NDArray:
    rows, n = x.shape
    fields = {
        "x": pointer(x, "uint8_t *"),
        "y": pointer(y, "uint8_t *"),
        "rows": rows,
        "n": n,
        "is_signed": x.dtype == np.int8,
    }
    SIMD[level].softmax_s8(ffi.new("ml_softmax_s8_args *", {**fields, "exps": pointer(table, "int32_t *")}))
    return y


def reals(x: NDArray, scale: float) -> NDArray:
    e = np.exp((x.astype(np.float64) - x.max(1, keepdims=True)) * scale)
    return e / e.sum(1, keepdims=True) * 256 + np.iinfo(x.dtype).min


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("scale", [0.001, 0.05, 0.4])
def test_tails_places_and_rows(level: str, kind: type, scale: float) -> None:
    rng = np.random.default_rng(0)
    for n in [*range(1, 20), 63, 64, 65, 127, 128, 300]:
        x = rng.integers(0, 256, (3 if n > 16 else 41, n)).astype(np.uint8).view(kind)
        x[1] = x[1, 0]
        wanted = softmax("scalar", x, exps(scale), np.zeros_like(x))
        assert np.abs(wanted - np.minimum(reals(x, scale), np.iinfo(kind).max)).max() <= 1
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            y = softmax(level, place(x), place(exps(scale)), place(np.zeros_like(x)))
            np.testing.assert_array_equal(y, wanted)
        np.testing.assert_array_equal(softmax(level, same := x.copy(), exps(scale), same), wanted)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", [511, 512, 513, 40_000])
def test_sums_that_no_reciprocal_is_made_of(level: str, n: int) -> None:
    """Rows with 512 or more exponentials of 1 give 0 everywhere; their sum is exact in rows of any length."""
    for value in (-128, 0, 127):
        x = np.full((1, n), value, np.int8)
        wanted = softmax("scalar", x, exps(0.1), np.zeros_like(x))
        np.testing.assert_array_equal(softmax(level, x, exps(0.1), np.zeros_like(x)), wanted)
        assert (wanted == wanted[0, 0]).all()
        assert wanted[0, 0] == (-127 if n < 512 else -128)
