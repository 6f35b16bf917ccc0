"""quantize_s16 at each level: one division, rounded half away from zero, limits, NaN, tails, nothing past the
operands."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from primitives import SIMD, pointer

from minilite._core import ffi


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("scale", [1.0, 0.05, 3e-5, 700.0])
def test_tails_places_and_ties(level: str, scale: float) -> None:
    rng = np.random.default_rng(0)
    scale, zero = float(np.float32(scale)), -7
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38], np.float32)
    for n in [0, *range(1, 20), 31, 32, 33, 100]:
        x = (rng.integers(-140000, 140000, n) / 2 * scale).astype(np.float32)
        x[: min(n, 7) : 2] = odd[: min(n, 7) : 2]
        with np.errstate(over="ignore"):
            v = np.nan_to_num((x / np.float32(scale)).astype(np.float64), nan=-1e9)
        wanted = np.clip(np.sign(v) * np.floor(np.abs(v) + 0.5) + zero, -32768, 32767).astype(np.int16)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            placed, y = place(x), place(np.zeros(n, np.int16))
            fields = {"x": pointer(placed, "float *"), "y": pointer(y, "int16_t *"), "n": n}
            SIMD[level].quantize_s16(ffi.new("ml_quantize_s16_args *", {**fields, "scale": scale, "zero": zero}))
            np.testing.assert_array_equal(y, wanted)
