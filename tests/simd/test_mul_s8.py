"""mul_s8 at each level: all pairs of bytes for multipliers of every shift, tails, broadcasting, in place, nothing past
the operands."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from pairs import PLACES, all_pairs, run, tails
from primitives import SIMD

from minilite.ops_shared.fixed_point import multiply_by_quantized_multiplier

MANTISSAS = [0, 1 << 30, 0x5A827999, 0x7FFFFFFF]


def expected(a: NDArray, b: NDArray, shape: tuple[int, ...], p: Mapping[str, int]) -> NDArray:
    products = (a.astype(np.int64) - p["a_zero"]) * (b.astype(np.int64) - p["b_zero"])
    v = multiply_by_quantized_multiplier(np.broadcast_to(products, shape).astype(np.int32), p["mantissa"], p["shift"])
    return np.clip((v.astype(np.int64) + p["zero"]).astype(np.int32), p["low"], p["high"]).astype(a.dtype)


def real_of(p: Mapping[str, int]) -> dict[str, float]:
    """A factor and a nudge by which all products round to the same bytes, or nothing."""
    products = np.arange(-255 * 255, 255 * 255 + 1)
    v = multiply_by_quantized_multiplier(products.astype(np.int32), p["mantissa"], p["shift"]).astype(np.int64)
    wanted = np.clip(v + p["zero"], p["low"], p["high"])
    for step, more in itertools.product([0, -1, 1], [0, -1, 1, -64, 64]):
        real = np.float32(p["mantissa"] * 2.0 ** (p["shift"] - 31) * (1 + step * 2.0**-23))
        nudge = np.float32(2.0 ** (p["shift"] - 1) * (1 + more * 2.0**-12))
        zero = p["zero"] + np.where(products < 0, -nudge, nudge).astype(np.float64)
        found = np.rint((products * np.float64(real) + zero).astype(np.float32))
        if (np.clip(found, p["low"], p["high"]) == wanted).all():
            return {"real": float(real), "nudge": float(nudge)}
    return {}


def constants(kind: type, mantissa: int, shift: int, zeros: tuple[int, int, int], low: int = -128) -> dict[str, int]:
    off = 0 if kind == np.int8 else 128
    named = dict(zip(("a_zero", "b_zero", "zero"), (z + off for z in zeros), strict=True))
    return {**named, "mantissa": mantissa, "shift": shift, "low": low + off, "high": 127 + off}


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("shift", [-31, -30, -21, -20, -19, *range(-12, 4), 15, 30])
def test_all_pairs(level: str, kind: type, shift: int) -> None:
    a, b = all_pairs(kind)
    for mantissa in MANTISSAS:
        for zeros in [(0, 0, 0), (-128, 127, 5), (-128, -128, -128), (3, -7, 127)]:
            p = constants(kind, mantissa, shift, zeros)
            y = run(level, "mul_s8", a, b, np.empty_like(a), p)
            np.testing.assert_array_equal(y, expected(a, b, a.shape, p), f"{mantissa}, {zeros}")


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("shift", range(-12, 0))
def test_all_pairs_by_a_float(level: str, kind: type, shift: int) -> None:
    a, b = all_pairs(kind)
    found = 0
    for mantissa in (0x5A827999, 0x4CCCCCCD, 0x6789ABCD):
        for zeros in [(-128, 127, 5), (3, -7, 127)]:
            p = constants(kind, mantissa, shift, zeros, low=-120)
            real = real_of(p)
            found += "real" in real
            y = run(level, "mul_s8", a, b, np.empty_like(a), {**p, **real})
            np.testing.assert_array_equal(y, expected(a, b, a.shape, p), f"{mantissa}, {zeros}")
    assert found >= 3


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("zeros", [(300, 0, 0), (-30000, 30000, 0), (0, 0, 1 << 20)])
def test_zero_points_beyond_the_type(level: str, zeros: tuple[int, int, int]) -> None:
    a, b = all_pairs(np.int8)
    p = constants(np.int8, 0x5A827999, -12, zeros)
    np.testing.assert_array_equal(run(level, "mul_s8", a, b, np.empty_like(a), p), expected(a, b, a.shape, p))


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_tails_broadcasting_and_places(level: str, kind: type) -> None:
    p = constants(kind, 0x5A827999, -6, (3, -7, 5), low=-90)
    for a, b in tails(np.random.default_rng(0), kind):
        shape = np.broadcast_shapes(a.shape, b.shape)
        wanted = expected(a, b, shape, p)
        for place in PLACES:
            y = place(np.zeros(shape, kind))
            np.testing.assert_array_equal(run(level, "mul_s8", place(a), place(b), y, p), wanted)
        for x in (a, b):
            if x.shape == shape:
                y = x.copy()
                operands = [y if x is given else given for given in (a, b)]
                np.testing.assert_array_equal(run(level, "mul_s8", *operands, y, p), wanted)
