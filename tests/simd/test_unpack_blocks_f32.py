"""unpack_blocks_f32 at each level: the weights times their scales, rounded once, in the level's panels."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end
from primitives import SIMD, block_panel, blocks_f32, pack_f32

from minilite._core import lib

PANEL = lib.ML_BLOCK_PANEL


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("sizes", [(1, 1, 8), (9, 3, 8), (64, 32, 8), (2, 2, 4), (18, 6, 4), (64, 32, 4)], ids=str)
def test_panels(level: str, sizes: tuple[int, int, int]) -> None:
    k, block, bits = sizes
    rng = np.random.default_rng(k)
    most = 1 << bits - 1
    w, scales = rng.integers(-most, most, (PANEL, k)), rng.uniform(0.1, 1, (PANEL, k // block)).astype(np.float32)
    y = blocks_f32(SIMD[level], "unpack_blocks", at_end(block_panel(w, scales, bits)), sizes)
    real = w.astype(np.float32) * np.repeat(scales, block, axis=1)
    np.testing.assert_array_equal(y, pack_f32(SIMD[level], real)[: y.size].reshape(-1))
