"""matmul_s4 at each level: sums of int64, which wrap; tails, strides, factors, the ends of memory, extreme bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guarded import at_end, shifted
from numpy.typing import NDArray
from primitives import SIMD, pointer

from minilite._core import ffi, lib

PANEL = lib.ML_PANEL_S4


def pack(w: NDArray) -> NDArray:
    """Weights (n, k) in panels, (panels, groups of 8, outputs, 4)."""
    n, k = w.shape
    whole = np.zeros((-(-n // PANEL) * PANEL, k), np.int64)
    whole[:n] = w
    groups = (whole + 8).reshape(-1, PANEL, k // 8, 2, 4)
    return (groups[:, :, :, 0] | groups[:, :, :, 1] << 4).transpose(0, 2, 1, 3).astype(np.uint8)


def multiply(level: str, a: NDArray, w: NDArray, place: Any = at_end, **more: Any) -> NDArray:
    n = len(w)
    y = place(np.zeros((len(a), n), np.int32))
    held = [place(array) for array in (a, pack(w), w.sum(1).astype(np.int32))]
    fields = {
        "a": pointer(held[0], "uint8_t *"),
        "rows": len(a),
        "a_stride": a.shape[1],
        "pieces": 1,
        "k": a.shape[1],
        "n": n,
        "packed": pointer(held[1], "int8_t *"),
        "sums": pointer(held[2], "int32_t *"),
        "columns": pointer(held[2], "int32_t *"),
        "y": pointer(y, "int32_t *"),
        "y_stride": n,
    }
    extra = {name: value if isinstance(value, int) else pointer(value, "int32_t *") for name, value in more.items()}
    SIMD[level].matmul_s4(ffi.new("ml_matmul_s8_args *", {**fields, **extra}))
    return y


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("k", [8, 16, 24, 32, 40, 72, 1000])
def test_every_tail(level: str, k: int) -> None:
    rng = np.random.default_rng(k)
    for n in [*range(1, 35), 63, 64, 65, 130]:
        a, w = rng.integers(0, 256, (3, k)).astype(np.uint8), rng.integers(-8, 8, (n, k))
        exact = a.astype(np.int64) @ w.T
        np.testing.assert_array_equal(multiply(level, a, w), exact)
        np.testing.assert_array_equal(multiply(level, a, w, lambda values: shifted(values, 1)), exact)


@pytest.mark.parametrize("level", SIMD)
def test_signed_rows_bias_and_factors(level: str) -> None:
    rng = np.random.default_rng(1)
    a, w = rng.integers(-128, 128, (2, 64)).astype(np.int8), rng.integers(-8, 8, (50, 64))
    bias, factors = rng.integers(-(2**31), 2**31, 50).astype(np.int32), np.int32([3, -255])
    exact = (a.astype(np.int64) + 128) @ w.T + bias + factors[:, None] * w.sum(1)
    y = multiply(level, a.view(np.uint8), w, flip=128, bias=bias, factors=factors)
    np.testing.assert_array_equal(y, exact.astype(np.uint64).astype(np.uint32).view(np.int32))


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("byte", [0, 1, 127, 128, 255])
@pytest.mark.parametrize("weight", [-8, -1, 7])
def test_the_largest_sums(level: str, byte: int, weight: int) -> None:
    """Sums in 16 bits hold whatever the bytes are."""
    a, w = np.full((1, 4096), byte, np.uint8), np.full((33, 4096), weight)
    np.testing.assert_array_equal(multiply(level, a, w), a.astype(np.int64) @ w.T)
