"""fold_u8 at each level: extremes of u8 and s8, rows and columns, all tails and places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, pointer

from minilite._core import ffi

FLIPS: dict[int, tuple[type, Any]] = {0: (np.uint8, np.maximum), 128: (np.int8, np.maximum), 255: (np.uint8, np.minimum), 127: (np.int8, np.minimum)}  # fmt: skip


def fold(level: str, x: NDArray, y: NDArray, *, flip: int, across: bool) -> NDArray:
    rows, n = x.shape
    args = {"x": pointer(x, "uint8_t *"), "y": pointer(y, "uint8_t *"), "n": n, "rows": rows}
    args |= {"stride": x.strides[0], "across": across, "flip": flip}
    SIMD[level].fold_u8(ffi.new("ml_fold_u8_args *", args))
    return y


def check(
    level: str, x: NDArray, before: NDArray, place: Callable[[NDArray], NDArray], flip: int, across: bool
) -> None:
    kind, pair = FLIPS[flip]
    y = fold(level, x, place(before), flip=flip, across=across)
    expected = pair(before.view(kind), pair.reduce(x.view(kind), axis=0 if across else 1))
    np.testing.assert_array_equal(y.view(kind), expected)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("flip", FLIPS)
@pytest.mark.parametrize("across", [False, True])
def test_tails_and_places(level: str, flip: int, across: bool) -> None:
    rng = np.random.default_rng(1)
    for n in [*range(1, 70), 127, 128, 129, 255, 256, 257, 300, 511, 512, 640, 705]:
        x = rng.integers(0, 256, (3, n), np.uint8)
        before = rng.integers(0, 256, n if across else 3, np.uint8)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            check(level, place(x), before, place, flip, across)
        wide = rng.integers(0, 256, (3, n + 5), np.uint8)
        check(level, wide[:, :n], before, at_end, flip, across)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("flip", FLIPS)
def test_the_extreme_wherever_it_lies(level: str, flip: int) -> None:
    """The result is the one byte that differs from the others, or the value from before if that is more extreme."""
    kind, _ = FLIPS[flip]
    dull, far = np.uint8(flip), np.uint8(flip ^ 1)
    for n in (1, 15, 16, 31, 32, 33, 64, 65, 100):
        for at in range(n):
            x = np.full((1, n), dull)
            x[0, at] = far
            assert fold(level, x, np.array([dull]), flip=flip, across=False).view(kind)[0] == far.view(kind)
            kept = np.array([flip ^ 3], np.uint8)
            assert fold(level, x, kept, flip=flip, across=False)[0] == flip ^ 3
