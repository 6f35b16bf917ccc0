"""pack_f32 at each level: every weight in its place in its panel, and zeros in the padding."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from primitives import SIMD, pointer


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 130])
def test_panels(level: str, k: int) -> None:
    simd = SIMD[level]
    panel = simd.matmul_f32_panel
    for n in [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40]:
        w = (np.arange(n * k, dtype=np.float32) + 1).reshape(n, k)
        panels = -(-n // panel)
        padded = np.zeros((panels * panel, k), np.float32)
        padded[:n] = w
        expected = np.ascontiguousarray(padded.reshape(panels, panel, k).transpose(0, 2, 1))
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            source, packed = place(w), place(np.full_like(expected, np.nan))
            simd.pack_f32(pointer(source, "float *"), n, k, pointer(packed, "float *"))
            np.testing.assert_array_equal(packed, expected, f"{n} outputs")
            np.testing.assert_array_equal(source, w)


@pytest.mark.parametrize("level", SIMD)
def test_bits_are_kept(level: str) -> None:
    """NaNs, infinities, denormals and negative zeros keep their bits."""
    bits = np.array([[0x7FC12345, 0xFFC00001, 0x7F800000, 0x80000000, 0x00000001]] * 5, np.uint32)
    w, simd = bits.view(np.float32), SIMD[level]
    packed = np.empty((-(-5 // simd.matmul_f32_panel), 5, simd.matmul_f32_panel), np.float32)
    simd.pack_f32(pointer(w, "float *"), 5, 5, pointer(packed, "float *"))
    columns = packed.view(np.uint32).transpose(0, 2, 1).reshape(-1, 5)
    np.testing.assert_array_equal(columns[:5], bits)
