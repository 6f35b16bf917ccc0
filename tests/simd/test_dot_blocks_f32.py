"""dot_blocks_f32 at each level: float64 within 8 eps of the sum of |x w|, blocks of every length, memory's end."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end
from primitives import SIMD, block_panel, blocks_f32

from minilite._core import lib

EPS = float(np.finfo(np.float32).eps)
PANEL = lib.ML_BLOCK_PANEL
SIZES = [(k, block, 8) for k, block in ((1, 1), (9, 3), (32, 32), (35, 7), (129, 129), (4096, 256), (600, 300))]
SIZES += [(k, block, 4) for k, block in ((2, 2), (12, 6), (64, 32), (130, 130), (4096, 32), (600, 300))]


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_products(level: str, sizes: tuple[int, int, int]) -> None:
    k, block, bits = sizes
    rng = np.random.default_rng(k)
    most = 1 << bits - 1
    w, scales = rng.integers(-most, most, (PANEL, k)), rng.uniform(0.1, 1, (PANEL, k // block)).astype(np.float32)
    x = rng.uniform(-1, 1, k).astype(np.float32)
    y = blocks_f32(SIMD[level], "dot_blocks", at_end(block_panel(w, scales, bits)), sizes, at_end(x))
    real = w * np.repeat(scales.astype(np.float64), block, axis=1)
    assert (np.abs(y - real @ x) <= 8 * EPS * (np.abs(real) @ np.abs(x.astype(np.float64)))).all()


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("bits", [4, 8])
def test_nan_and_infinity_pass_on(level: str, bits: int) -> None:
    x = np.ones(64, np.float32)
    w, scales = np.ones((PANEL, 64), int), np.ones((PANEL, 2), np.float32)
    w[5] = 0
    for bad in (np.nan, np.inf):
        x[40] = bad
        y = blocks_f32(SIMD[level], "dot_blocks", block_panel(w, scales, bits), (64, 32, bits), x)
        assert np.isnan(y[5])
        assert (np.isnan(y) if np.isnan(bad) else np.delete(y, 5) == np.inf).all()
