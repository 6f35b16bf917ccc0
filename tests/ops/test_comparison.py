"""LESS: bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import ALL_BYTES, Given, OneNode, dtype_of, scaled, values

from minilite.errors import ShapeError, UnsupportedOpError

SHAPES: list[tuple[Any, Any]] = [
    ((), ()), ((33,), (33,)), ((17,), ()), ((3, 1), (1, 5)), ((2, 3, 4), (4,)), ((2, 1, 4, 1), (1, 3, 1, 5)), ((0,), (1,)),
]  # fmt: skip
EVERY_TYPE = {"LESS": Case([(5, 1, 40), (1, 7, 40)])}


def less(a: Any, b: Any) -> OneNode:
    return OneNode("LESS", [a, b], kind="b8")


@pytest.mark.parametrize("kind", ["f32", "f16", "s16", "s32", "s64", "s8", "u8"])
def test_broadcasts(kind: str) -> None:
    rng = np.random.default_rng(7)
    for shapes in SHAPES:
        a, b = (values(rng, kind, shape) for shape in shapes)
        if kind in ("s32", "s64"):
            a, b = a % np.asarray(5, a.dtype), b % np.asarray(5, b.dtype)
        less(
            Given(a, quantization=scaled(rng, kind, 1e-3, 0.9)), Given(b, quantization=scaled(rng, kind, 1e-3, 0.9))
        ).check()


@pytest.mark.parametrize("kind", ["s8", "u8"])
def test_all_pairs_of_bytes(kind: str) -> None:
    rng = np.random.default_rng(7)
    a, b = (x.view(dtype_of(kind)) for x in (ALL_BYTES.reshape(256, 1), ALL_BYTES))
    for _ in range(5):
        less(
            Given(a, quantization=scaled(rng, kind, 1e-3, 0.9)), Given(b, quantization=scaled(rng, kind, 1e-3, 0.9))
        ).check()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_nan_and_infinity(dtype: Any) -> None:
    a = np.array([np.nan, np.inf, -np.inf, 0, -0.0], dtype)
    less(a[:, None], a).check()


def test_refusals() -> None:
    a, b = np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)
    less(a, b).refused(ShapeError, r"LESS 'y'\): shapes \(2, 3\) and \(2, 4\) do not broadcast")
    less(a, a.astype(np.int32)).refused(UnsupportedOpError, "types f32 s32 -> b8 of a b -> y are not supported")
    byte = a.astype(np.int8)
    less(byte, byte).refused(UnsupportedOpError, "tensor 'x0' must have a scale", by_litert=False)  # LiteRT aborts
