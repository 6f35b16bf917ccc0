"""add_s16 at each level: every kind of multiplier, extremes, tails, broadcasting, in place, nothing past the
operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pairs import PLACES
from primitives import SIMD, pointer

from minilite._core import ffi
from minilite.ops_shared.fixed_point import multiply_by_quantized_multiplier

Scale = dict[str, int]
EXTREMES = np.array([-32768, -32767, -1, 0, 1, 2, 3, 16384, 32766, 32767], np.int16)


def scale(mantissa: int, shift: int, zero: int = 0) -> Scale:
    return {"zero": zero, "mantissa": mantissa, "shift": shift}


def add(
    level: str, a: NDArray, b: NDArray, y: NDArray, scales: list[Scale], limits: tuple[int, int], less: bool
) -> NDArray:
    fields: dict[str, Any] = dict(zip(("of_a", "of_b", "of_y"), scales, strict=True))
    for name, x in (("a", a), ("b", b)):
        fields |= {name: pointer(x, "int16_t *"), f"{name}_step": x.ndim > 0}
    fields |= {"y": pointer(y, "int16_t *"), "n": y.size, "subtracts": less, "low": limits[0], "high": limits[1]}
    SIMD[level].add_s16(ffi.new("ml_add_s16_args *", fields))
    return y


def expected(a: NDArray, b: NDArray, scales: list[Scale], limits: tuple[int, int], less: bool) -> NDArray:
    def times(v: NDArray, s: Scale) -> NDArray:
        return np.asarray(multiply_by_quantized_multiplier(v.astype(np.int32), s["mantissa"], s["shift"])).astype(
            np.int64
        )

    terms = [times((x.astype(np.int64) - s["zero"]) << 15, s) for x, s in zip((a, b), scales, strict=False)]
    sums = terms[0] - terms[1] if less else terms[0] + terms[1]
    v = (times(sums, scales[2]) + scales[2]["zero"]).astype(np.int32)
    return np.clip(v, *limits).astype(np.int16)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("less", [False, True])
@pytest.mark.parametrize(
    "shifts", [(0, 0, -14), (0, -3, -15), (-1, 0, -16), (-31, 0, 0), (0, -30, -31), (0, -1, 1), (1, 0, -9)]
)
def test_multipliers_and_extremes(level: str, less: bool, shifts: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    a, b = (
        np.concatenate([x, rng.integers(-32768, 32768, 500)]).astype(np.int16)
        for x in (np.repeat(EXTREMES, 10), np.tile(EXTREMES, 10))
    )
    for mantissas in [
        (1 << 30, 1 << 30, 1 << 30),
        (1 << 30, 0x5A827999, 0x7FFFFFFF),
        (0x60000001, 1 << 30, 0x40000001),
    ]:
        for zeros, limits in [((0, 0, 0), (-32768, 32767)), ((5, -7, 100), (-3000, 20000))]:
            scales = [scale(*three) for three in zip(mantissas, shifts, zeros, strict=True)]
            y = add(level, a, b, np.zeros_like(a), scales, limits, less)
            np.testing.assert_array_equal(y, expected(a, b, scales, limits, less), f"{mantissas}, {zeros}")


@pytest.mark.parametrize("level", SIMD)
def test_tails_broadcasting_and_places(level: str) -> None:
    rng = np.random.default_rng(0)
    scales, limits = [scale(1 << 30, 0), scale(0x5A827999, -2), scale(0x60000000, -14)], (-32768, 32767)
    for n in [0, *range(1, 36), 100]:
        full, other = (rng.integers(-32768, 32768, n).astype(np.int16) for _ in range(2))
        one = np.asarray(rng.integers(-32768, 32768)).astype(np.int16)
        for a, b in [(full, other), (full, one), (one, full)]:
            wanted = np.broadcast_to(expected(a, b, scales, limits, False), (n,))
            for place in PLACES:
                y = place(np.zeros(n, np.int16))
                np.testing.assert_array_equal(add(level, place(a), place(b), y, scales, limits, False), wanted)
        same = full.copy()
        np.testing.assert_array_equal(
            add(level, same, other, same, scales, limits, False), expected(full, other, scales, limits, False)
        )
