"""Floats of 16 bits of all kinds, for tests of kernels that compute them in stretches of float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LONG: list[tuple[Any, Any]] = [((3000,), (3000,)), ((), (2049,)), ((1025,), ()), ((2, 1500), (2, 1)), ((700, 3), (3,))]
"""Shapes of two operands whose rows are longer than a stretch, or are short and repeated."""


def any_halves(rng: np.random.Generator, shape: Any) -> NDArray[Any]:
    """Any bits: denormals, infinities and NaN among them."""
    return rng.integers(0, 1 << 16, shape, np.uint16).view(np.float16)


def steps_apart(found: NDArray[Any], exact: NDArray[Any]) -> NDArray[Any]:
    """Counts the floats of 16 bits by which `found` misses the one nearest to `exact`; 0 if both are NaN."""
    with np.errstate(over="ignore"):
        nearest = exact.astype(np.float16)
    places = [
        np.where(x.view(np.int16) < 0, -(x.view(np.int16) & 0x7FFF).astype(int), x.view(np.int16))
        for x in (found, nearest)
    ]
    return np.where(np.isnan(found) & np.isnan(nearest), 0, abs(places[0] - places[1]))
