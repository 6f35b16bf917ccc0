"""Calls of the primitives of two rows of bytes, add_s8 and mul_s8, and the operands that their tests share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, Place, pointer

from minilite._core import ffi

PLACES: list[Place] = [at_end, at_start, lambda values: shifted(values, 1)]


def run(level: str, name: str, a: NDArray, b: NDArray, y: NDArray, constants: Mapping[str, float]) -> NDArray:
    """Bytes a and b, each (n,), or () where one byte is broadcast, into y, (n,)."""
    fields: dict[str, Any] = {"n": y.size, "is_signed": y.dtype == np.int8, "y": pointer(y, "uint8_t *")}
    for key, x in (("a", a), ("b", b)):
        fields[key] = pointer(x, "uint8_t *")
        fields[f"{key}_step"] = x.ndim > 0
    getattr(SIMD[level], name)(ffi.new(f"ml_{name}_args *", {**fields, **constants}))
    return y


def all_pairs(kind: type) -> tuple[NDArray, NDArray]:
    """Every pair of bytes."""
    values = np.arange(256, dtype=np.uint8).view(kind)
    return np.repeat(values, 256), np.tile(values, 256)


def tails(rng: np.random.Generator, kind: type) -> Iterator[tuple[NDArray, NDArray]]:
    """Operands of every length up to some vectors, and those that broadcast."""

    def draw(*shape: int) -> NDArray:
        return np.asarray(rng.integers(0, 256, shape)).astype(np.uint8).view(kind)

    for n in [0, *range(1, 36), 63, 64, 65, 80, 127, 130, 300]:
        yield draw(n), draw(n)
        yield draw(n), draw()
        yield draw(), draw(n)
