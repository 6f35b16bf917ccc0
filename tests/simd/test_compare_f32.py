"""compare_f32 at each level: numpy's answers for every function, kind of rows, tail and place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, pointer

from minilite._core import ffi, lib

FUNCTIONS: dict[str, Any] = {
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
}
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1e-45, -1e-40, 3e38, 1, -2.5], np.float32)


def compare(level: str, name: str, a: NDArray, b: NDArray, y: NDArray) -> NDArray:
    """Floats a and b, each (n,), or () where one is broadcast, to bytes y, (n,)."""
    kind = 1 if a.ndim == 0 else 2 if b.ndim == 0 else 0
    fields = {"a": pointer(a, "float *"), "b": pointer(b, "float *"), "y": pointer(y, "uint8_t *"), "n": y.size}
    function = getattr(lib, f"ML_COMPARE_{name}")
    SIMD[level].compare_f32(ffi.new("ml_compare_f32_args *", {**fields, "function": function, "kind": kind}))
    return y


def test_all_of_them() -> None:
    assert {getattr(lib, f"ML_COMPARE_{name}") for name in FUNCTIONS} == set(range(lib.ML_COMPARE_COUNT))


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_kinds_tails_and_places(level: str, name: str) -> None:
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100):
        for left, right in (((n,), (n,)), ((), (n,)), ((n,), ())):
            a, b = (np.asarray(rng.integers(-2, 3, shape), np.float32) for shape in (left, right))
            expected = np.broadcast_to(FUNCTIONS[name](a, b), (n,))
            for place in (at_end, at_start, lambda values: shifted(values, 1)):
                y = compare(level, name, place(a), place(b), place(np.full(n, 7, np.uint8)))
                np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special(level: str, name: str) -> None:
    a, b = (np.ascontiguousarray(v).ravel() for v in np.broadcast_arrays(SPECIAL[:, None], SPECIAL[None]))
    np.testing.assert_array_equal(compare(level, name, a, b, np.empty(a.size, np.uint8)), FUNCTIONS[name](a, b))
