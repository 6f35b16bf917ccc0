"""dequantize_s8 at each level: one rounding, all bytes, tails, nothing past the operands."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from primitives import SIMD, pointer

from minilite._core import ffi


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize(("scale", "zero"), [(1.0, 0), (0.0123, -128), (3e-5, 200), (1e30, 7)])
def test_all_bytes_tails_and_places(level: str, kind: type, scale: float, zero: int) -> None:
    for n in [0, *range(1, 36), 63, 64, 65, 256]:
        y = (np.arange(n) * 37 % 256).astype(np.uint8).view(kind)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            given, x = place(y), place(np.zeros(n, np.float32))
            fields = {
                "x": pointer(x, "float *"),
                "y": pointer(given, "uint8_t *"),
                "n": n,
                "is_signed": kind == np.int8,
            }
            SIMD[level].dequantize_s8(ffi.new("ml_quantize_s8_args *", {**fields, "scale": scale, "zero": zero}))
            np.testing.assert_array_equal(x, np.float32(scale) * (y.astype(np.float32) - zero))
