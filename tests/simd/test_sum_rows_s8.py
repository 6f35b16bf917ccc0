"""sum_rows_s8 at each level: columns or rows of bytes are added to the sums so far; tails, strides, nothing past the
operands."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, pointer

from minilite._core import ffi


def add(level: str, x: NDArray, n: int, sums: NDArray, *, along: bool = False) -> NDArray:
    fields = {
        "x": pointer(x, "uint8_t *"),
        "rows": len(x),
        "stride": x.shape[1],
        "n": n,
        "is_signed": x.dtype == np.int8,
        "along": along,
    }
    SIMD[level].sum_rows_s8(ffi.new("ml_sum_rows_s8_args *", {**fields, "sums": pointer(sums, "int32_t *")}))
    return sums


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_tails_strides_and_places(level: str, kind: type) -> None:
    rng = np.random.default_rng(0)
    for n in [0, *range(1, 36), 63, 64, 65, 100, 300]:
        for rows in (0, 1, 2, 49):
            x = rng.integers(0, 256, (rows, n)).astype(np.uint8).view(kind)
            begin = rng.integers(-(2**31), 2**31, n).astype(np.int32)
            wanted = (begin.astype(np.int64) + x.astype(np.int64).sum(0)).astype(np.int32)
            for place in (at_end, at_start, lambda values: shifted(values, 1)):
                np.testing.assert_array_equal(add(level, place(x), n, place(begin)), wanted)
            wide = np.zeros((rows, n + 3), kind)
            wide[:, :n] = x
            np.testing.assert_array_equal(add(level, wide, n, begin.copy()), wanted)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("n", [31, 32, 40, 128, 200])
def test_many_rows_of_extremes(level: str, kind: type, n: int) -> None:
    """Sums of hundreds of rows are wider than the 16 bits that hold those of some."""
    ends = np.iinfo(kind)
    for rows in (127, 128, 129, 255, 256, 257, 258, 600):
        for x in (np.full((rows, n), ends.min, kind), np.full((rows, n), ends.max, kind)):
            x[:, n // 3] = ends.min // 2 + ends.max // 2
            wanted = x.astype(np.int64).sum(0).astype(np.int32)
            np.testing.assert_array_equal(add(level, at_end(x), n, at_end(np.zeros(n, np.int32))), wanted)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_along_rows(level: str, kind: type) -> None:
    rng = np.random.default_rng(0)
    for n in [0, *range(1, 36), 63, 64, 65, 100, 300]:
        x = rng.integers(0, 256, (3, n)).astype(np.uint8).view(kind)
        x[1] = np.iinfo(kind).min if n % 2 else np.iinfo(kind).max
        begin = rng.integers(-(2**31), 2**31, 3).astype(np.int32)
        wanted = (begin.astype(np.int64) + x.astype(np.int64).sum(1)).astype(np.int32)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            np.testing.assert_array_equal(add(level, place(x), n, place(begin), along=True), wanted)
        wide = np.full((3, n + 3), 7, kind)
        wide[:, :n] = x
        np.testing.assert_array_equal(add(level, wide, n, begin.copy(), along=True), wanted)
