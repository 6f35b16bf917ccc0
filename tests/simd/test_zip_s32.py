"""zip_s32 at each level: sums that wrap, limits, shift counts beyond the width, scalars, in place, nothing past the
operands."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start
from numpy.typing import NDArray
from primitives import SIMD, pointer

from minilite._core import ffi, lib

ENDS = np.iinfo(np.int32)


def expected(function: int, a: NDArray, b: NDArray) -> NDArray:
    u, v = a.astype(np.int64), b.astype(np.int64)
    shifted = np.where((v >= 0) & (v < 32), u << np.clip(v, 0, 31), 0)
    made = {
        lib.ML_ZIP_S32_ADD: u + v,
        lib.ML_ZIP_S32_SUB: u - v,
        lib.ML_ZIP_S32_MUL: u * v,
        lib.ML_ZIP_S32_MAX: np.maximum(u, v),
        lib.ML_ZIP_S32_MIN: np.minimum(u, v),
        lib.ML_ZIP_S32_SHIFT_LEFT: shifted,
    }
    return (made[function] & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("function", range(lib.ML_ZIP_S32_COUNT))
@pytest.mark.parametrize("kind", range(3))
def test_functions_kinds_and_tails(level: str, function: int, kind: int) -> None:
    rng = np.random.default_rng(0)
    for n in [1, *range(2, 20), 64, 100]:
        a, b = (rng.integers(ENDS.min, ENDS.max, 1 if kind == scalar else n, np.int32) for scalar in (1, 2))
        if function == lib.ML_ZIP_S32_SHIFT_LEFT:
            b = rng.choice(np.array([-1, 0, 1, 5, 31, 32, 33, ENDS.min], np.int32), b.size)
        for place in (at_end, at_start):
            x = [place(a), place(b)]
            for low, high, in_place in ((ENDS.min, ENDS.max, False), (-1000, 5, True)):
                y = x[0] if in_place and kind != 1 else place(np.zeros(n, np.int32))
                wanted = np.clip(expected(function, x[0], x[1]), low, high)
                fields = {"a": pointer(x[0], "uint32_t *"), "b": pointer(x[1], "uint32_t *")}
                fields |= {"y": pointer(y, "uint32_t *"), "n": n, "function": function, "kind": kind}
                SIMD[level].zip_s32(ffi.new("ml_zip_s32_args *", {**fields, "low": low, "high": high}))
                np.testing.assert_array_equal(y, wanted)
