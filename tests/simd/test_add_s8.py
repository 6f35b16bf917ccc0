"""add_s8 at each level: all pairs of bytes, tails, broadcasting, in place, nothing past the operands."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from pairs import PLACES, all_pairs, run, tails
from primitives import SIMD

CONSTANTS = [
    {"a_factor": 1 << 20, "b_factor": 1 << 20, "offset": 1 << 20, "negative": 1 << 20, "shift": 21, "low": -128, "high": 127},
    {"a_factor": 838861, "b_factor": -1258292, "offset": 7 << 21, "negative": 3 << 20, "shift": 21, "low": -100, "high": 99},
    {"a_factor": 3, "b_factor": 5, "offset": -700, "negative": 0, "shift": 0, "low": -128, "high": 127},
    {"a_factor": 0x7FFFFFF1, "b_factor": -0x7FFFFFF1, "offset": 0x7FFFFFFF, "negative": 5, "shift": 31, "low": -1, "high": 0},
]  # fmt: skip


def limits(kind: type, constants: Mapping[str, int]) -> dict[str, int]:
    """Returns the constants with limits within the range of the type."""
    shift = 0 if kind == np.int8 else 128
    return {**constants, "low": constants["low"] + shift, "high": constants["high"] + shift}


def expected(a: NDArray, b: NDArray, shape: tuple[int, ...], p: Mapping[str, int]) -> NDArray:
    sums = a.astype(np.int64) * p["a_factor"] + b.astype(np.int64) * p["b_factor"] + p["offset"]
    u = np.broadcast_to(sums, shape).astype(np.int32)
    v = (u.astype(np.int64) - (u < p["negative"])).astype(np.int32) >> p["shift"]
    return np.clip(v, p["low"], p["high"]).astype(a.dtype)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_all_pairs(level: str, kind: type) -> None:
    a, b = all_pairs(kind)
    for constants in CONSTANTS:
        p = limits(kind, constants)
        np.testing.assert_array_equal(run(level, "add_s8", a, b, np.empty_like(a), p), expected(a, b, a.shape, p))


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_tails_broadcasting_and_places(level: str, kind: type) -> None:
    p = limits(kind, CONSTANTS[1])
    for a, b in tails(np.random.default_rng(0), kind):
        shape = np.broadcast_shapes(a.shape, b.shape)
        wanted = expected(a, b, shape, p)
        for place in PLACES:
            y = place(np.zeros(shape, kind))
            np.testing.assert_array_equal(run(level, "add_s8", place(a), place(b), y, p), wanted)
        for x in (a, b):
            if x.shape == shape:
                y = x.copy()
                operands = [y if x is given else given for given in (a, b)]
                np.testing.assert_array_equal(run(level, "add_s8", *operands, y, p), wanted)
