"""range_f32 at each level: the least and the greatest of 0 and all values."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, pointer

from minilite._core import ffi


def range_f32(level: str, x: NDArray) -> tuple[float, float]:
    least, most = ffi.new("float *"), ffi.new("float *")
    SIMD[level].range_f32(pointer(x, "float *"), x.size, least, most)
    return least[0], most[0]


@pytest.mark.parametrize("level", SIMD)
def test_every_size_and_place(level: str) -> None:
    rng = np.random.default_rng(0)
    for n in [*range(140), 1000]:
        for shift in (-2.0, 0.0, 2.0):
            x = (rng.normal(size=n) + shift).astype(np.float32)
            for place in (at_end, at_start, lambda values: shifted(values, 1)):
                assert range_f32(level, place(x)) == (min([0, *x]), max([0, *x]))


@pytest.mark.parametrize("level", SIMD)
def test_the_end_is_anywhere_and_nan_nowhere(level: str) -> None:
    for i in range(100):
        x = np.zeros(100, np.float32)
        x[i], x[(i + 50) % 100], x[(i + 1) % 100] = -3, np.inf, np.nan
        assert range_f32(level, x) == (-3, np.inf)
