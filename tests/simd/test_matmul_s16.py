"""matmul_s16 at each level: several products of int16 in a call; sums wrap; nothing past the operands."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from primitives import SIMD
from winograd import matmul_s16, packed_pairs


@pytest.mark.parametrize("level", SIMD)
def test_products(level: str) -> None:
    rng = np.random.default_rng(0)
    for rows in [*range(1, 27)]:
        for k, n in ((2, 16), (16, 32), (34, 48)):
            a = rng.integers(-32768, 32768, (3, rows, k)).astype(np.int16)
            w = rng.integers(-32767, 32768, (3, k, n)).astype(np.int16)
            wanted = (a.astype(np.int64) @ w.astype(np.int64)).astype(np.int32)
            packed = packed_pairs(w)
            for place in (at_end, at_start, lambda values: shifted(values, 1)):
                np.testing.assert_array_equal(matmul_s16(SIMD[level], place(a), place(packed), place), wanted)
            apart = np.zeros((3, rows * k + 7), np.int16)
            apart[:, : rows * k] = a.reshape(3, -1)
            strided = np.lib.stride_tricks.as_strided(apart, a.shape, (apart.strides[0], 2 * k, 2))
            np.testing.assert_array_equal(matmul_s16(SIMD[level], strided, packed), wanted)
