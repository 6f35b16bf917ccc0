"""LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL: bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import REFERENCE
from support.halves import LONG, any_halves
from support.node import ALL_BYTES, Given, OneNode, dtype_of, scaled, values

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.quantization import Quantization

SHAPES: list[tuple[Any, Any]] = [
    ((), ()), ((33,), (33,)), ((17,), ()), ((3, 1), (1, 5)), ((2, 3, 4), (4,)), ((2, 1, 4, 1), (1, 3, 1, 5)), ((0,), (1,)),
]  # fmt: skip
OPS = ["LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL"]
EVERY_TYPE = dict.fromkeys(OPS, Case([(5, 1, 40), (1, 7, 40)]))


def less(a: Any, b: Any, op: str = "LESS") -> OneNode:
    return OneNode(op, [a, b], kind="b8")


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", ["f32", "f16", "s16", "s32", "s64", "s8", "u8"])
def test_broadcasts(op: str, kind: str) -> None:
    rng = np.random.default_rng(7)
    for shapes in SHAPES:
        a, b = (values(rng, kind, shape) for shape in shapes)
        if kind in ("s32", "s64"):
            a, b = a % np.asarray(5, a.dtype), b % np.asarray(5, b.dtype)
        x, y = scaled(rng, kind, 1e-3, 0.9), scaled(rng, kind, 1e-3, 0.9)
        less(Given(a, quantization=x), Given(b, quantization=y), op).check()


@pytest.mark.parametrize("op", OPS)
def test_halves_of_all_kinds(op: str) -> None:
    rng = np.random.default_rng(8)
    for shapes in LONG:
        a, b = (any_halves(rng, shape) for shape in shapes)
        less(a, b, op).check()
        less(a, a, op).check()


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", ["s8", "u8"])
def test_all_pairs_of_bytes(op: str, kind: str) -> None:
    rng = np.random.default_rng(7)
    a, b = (x.view(dtype_of(kind)) for x in (ALL_BYTES.reshape(256, 1), ALL_BYTES))
    for _ in range(5):
        x, y = scaled(rng, kind, 1e-3, 0.9), scaled(rng, kind, 1e-3, 0.9)
        less(Given(a, quantization=x), Given(b, quantization=y), op).check()
        less(Given(a, quantization=x), Given(b, quantization=x), op).check()


def test_words() -> None:
    """Equality of int16 with scales, and of plain integers without; there LiteRT's NOT_EQUAL takes the scales for 0."""
    rng = np.random.default_rng(3)
    a = values(rng, "s16", (300,))
    for op in ("EQUAL", "NOT_EQUAL"):
        for scale in (1e-4, 0.01, 0.4):
            x, y = Quantization((scale,), (0,)), Quantization((scale * 2,), (0,))
            less(Given(a * 2, quantization=x), Given(a, quantization=y), op).check()
        less(a, a[::-1].copy(), op).check(oracle=REFERENCE if op == "EQUAL" else None)


def test_strings() -> None:
    a, b, c = (
        Given(np.array(v, object), kind="string") for v in ([b"a", b"", b"bc", b"b"], [b"a", b"b", b"b", b""], [b"bc"])
    )
    assert less(a, b, "EQUAL").check().tolist() == [True, False, False, False]
    assert less(a, c, "NOT_EQUAL").check().tolist() == [True, True, False, True]


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_nan_and_infinity(op: str, dtype: Any) -> None:
    a = np.array([np.nan, np.inf, -np.inf, 0, -0.0], dtype)
    less(a[:, None], a, op).check()


def test_refusals() -> None:
    a, b = np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)
    less(a, b).refused(ShapeError, r"LESS 'y'\): shapes \(2, 3\) and \(2, 4\) do not broadcast")
    less(a, a.astype(np.int32)).refused(UnsupportedOpError, "types f32 s32 -> b8 of a b -> y are not supported")
    byte = a.astype(np.int8)
    less(byte, byte).refused(UnsupportedOpError, "tensor 'x0' must have a scale", by_litert=False)  # LiteRT aborts
