"""lookup_u8 at each level: all bytes of random tables, tails, in place, nothing past the operands."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from primitives import SIMD, ffi, pointer


@pytest.mark.parametrize("level", SIMD)
def test_every_byte_and_every_tail(level: str) -> None:
    rng = np.random.default_rng(0)
    for n in [0, *range(1, 70), 127, 128, 129, 1000]:
        table = rng.integers(0, 256, 256).astype(np.uint8)
        x = rng.permutation(np.arange(n) % 256).astype(np.uint8)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            placed, given, y = place(table), place(x), place(np.zeros(n, np.uint8))
            pointers = [pointer(array, "uint8_t *") for array in (placed, given, y)]
            SIMD[level].lookup_u8(pointers[0], ffi.NULL, pointers[1], n, pointers[2])
            np.testing.assert_array_equal(y, table[x])
            SIMD[level].lookup_u8(pointers[0], ffi.NULL, pointers[1], n, pointers[1])
            np.testing.assert_array_equal(given, table[x])
