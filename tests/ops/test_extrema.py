"""MAXIMUM, MINIMUM: bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.halves import LONG, any_halves
from support.node import Given, OneNode, scaled, values

from minilite.errors import ShapeError, UnsupportedOpError

OPS = ["MAXIMUM", "MINIMUM"]
SHAPES: list[tuple[Any, Any]] = [
    ((), ()), ((33,), (33,)), ((17,), ()), ((3, 1), (1, 5)), ((2, 3, 4), (4,)), ((2, 1, 4, 1), (1, 3, 1, 5)), ((0,), (1,)),
]  # fmt: skip


EVERY_TYPE = dict.fromkeys(OPS, Case([(5, 40), (5, 40)]))


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", ["f32", "f16", "s8", "u8", "s16", "s32", "s64"])
def test_broadcasts(op: str, kind: str) -> None:
    rng = np.random.default_rng(7)
    for shapes in SHAPES:
        a, b = (Given(values(rng, kind, shape), quantization=scaled(rng, kind)) for shape in shapes)
        OneNode(op, [a, b], quantization=scaled(rng, kind)).check()


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_nan_and_infinity(op: str, dtype: Any) -> None:
    """The second operand is the result if neither is greater."""
    a = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1], dtype)
    y = OneNode(op, [a[:, None].repeat(6, 1), a[None].repeat(6, 0)]).check()
    assert y[0, 1] == np.inf
    assert np.isnan(y[1, 0])


@pytest.mark.parametrize("op", OPS)
def test_halves_of_all_kinds(op: str) -> None:
    rng = np.random.default_rng(8)
    for shapes in LONG:
        OneNode(op, [any_halves(rng, shape) for shape in shapes]).check()


def test_bfloat() -> None:
    bits = np.array([0x3F80, 0xBF80, 0x7FC0, 0x4000], np.uint16)  # 1, -1, NaN, 2
    a, b = (Given(x, kind="bf16") for x in (bits, bits[::-1].copy()))
    assert OneNode("MAXIMUM", [a, b], kind="bf16").run().view(np.uint16).tolist() == [0x4000, 0x7FC0, 0xBF80, 0x4000]
    OneNode("MAXIMUM", [a, b], kind="bf16").check()


def test_refusals() -> None:
    a, b = np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)
    OneNode("MAXIMUM", [a, b]).refused(ShapeError, r"shapes \(2, 3\) and \(2, 4\) do not broadcast")
    x = np.zeros(3, np.uint16)
    OneNode("MINIMUM", [x, x]).refused(UnsupportedOpError, "types u16 u16 -> u16 of a b -> y are not supported")
