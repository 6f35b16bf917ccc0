"""sum_u8 at each level: every size and place, sums beyond 16 bits."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from primitives import SIMD, pointer


@pytest.mark.parametrize("level", SIMD)
def test_every_size_and_place(level: str) -> None:
    rng = np.random.default_rng(0)
    for n in [*range(140), 100_000]:
        for x in (rng.integers(0, 256, n).astype(np.uint8), np.full(n, 255, np.uint8)):
            for place in (at_end, at_start, lambda values: shifted(values, 1)):
                assert SIMD[level].sum_u8(pointer(place(x), "uint8_t *"), n) == x.sum(dtype=np.int64)
