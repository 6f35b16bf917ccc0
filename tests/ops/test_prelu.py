"""PRELU: bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import ALL_BYTES, Given, OneNode, dtype_of, scaled, values

from minilite.errors import ShapeError, UnsupportedOpError

KINDS = [("f32", "f32"), ("s8", "s8"), ("u8", "u8"), ("s16", "s8")]
EVERY_TYPE = {"PRELU": Case([(4, 7, 30), (1, 30)])}


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("constant", [False, True])
def test_broadcasts(kinds: Any, constant: bool) -> None:
    """Alpha of one number, a channel's, an element's; LiteRT takes at most 4 dimensions."""
    rng = np.random.default_rng(7)
    for shapes in (
        ((2, 3, 4, 5), (5,)),
        ((2, 3, 4, 5), (1, 1, 5)),
        ((33,), (33,)),
        ((3, 7), ()),
        ((2, 3), (2, 1)),
        ((0, 3), (3,)),
    ):
        x, alpha = (
            Given(values(rng, kind, shape), constant and i == 1, scaled(rng, kind))
            for i, (kind, shape) in enumerate(zip(kinds, shapes, strict=True))
        )
        OneNode("PRELU", [x, alpha], quantization=scaled(rng, kinds[0])).check()


@pytest.mark.parametrize("kind", ["s8", "u8"])
def test_all_pairs_of_bytes(kind: str) -> None:
    rng = np.random.default_rng(7)
    x, alpha = (np.broadcast_to(a.view(dtype_of(kind)), (256, 256)) for a in (ALL_BYTES.reshape(256, 1), ALL_BYTES))
    for _ in range(4):
        given = [Given(a.copy(), quantization=scaled(rng, kind, 1e-2, 1)) for a in (x, alpha)]
        OneNode("PRELU", given, quantization=scaled(rng, kind, 1e-2, 1)).check()


def test_special_floats() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0, -0.0, -1], np.float32)
    OneNode("PRELU", [x, np.float32([0.1, 0, 0, 1, 1, np.nan])]).check()


def test_refusals() -> None:
    x, wide = np.zeros((2, 1), np.float32), np.zeros((3,), np.float32)
    OneNode("PRELU", [x, wide]).refused(ShapeError, r"alpha's shape \(3\) does not broadcast to the input's \(2, 1\)")
    byte = np.zeros(3, np.int8)
    OneNode("PRELU", [byte, byte]).refused(
        UnsupportedOpError,
        "tensor 'x0' must have a scale",
        by_litert=False,  # LiteRT divides by 0
    )
