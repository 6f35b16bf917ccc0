"""LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT, BITWISE_XOR, RIGHT_SHIFT: bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import ALL_BYTES, OneNode, dtype_of, values

from minilite.errors import ShapeError, UnsupportedOpError

PAIR = Case([(5, 1, 40), (1, 7, 40)])
EVERY_TYPE = {
    "LOGICAL_NOT": Case([(5, 40)]),
    "LOGICAL_AND": PAIR,
    "LOGICAL_OR": PAIR,
    "BITWISE_XOR": PAIR,
    "RIGHT_SHIFT": PAIR,
}


@pytest.mark.parametrize("op", ["LOGICAL_AND", "LOGICAL_OR", "BITWISE_XOR", "RIGHT_SHIFT"])
def test_broadcasts(op: str) -> None:
    rng = np.random.default_rng(7)
    kind = "b8" if op.startswith("LOGICAL") else "s32"
    shapes: list[Any] = [
        ((), ()),
        ((33,), (33,)),
        ((17,), ()),
        ((3, 1), (1, 5)),
        ((2, 1, 4, 1), (1, 3, 1, 5)),
        ((0,), (1,)),
    ]
    for left, right in shapes:
        OneNode(op, [values(rng, kind, left), values(rng, kind, right)]).check()


@pytest.mark.parametrize("kind", ["s8", "u8"])
def test_shifts_of_all_bytes(kind: str) -> None:
    """Shifts by negative numbers and by more bits than there are, too."""
    a, b = (x.view(dtype_of(kind)) for x in (ALL_BYTES.reshape(256, 1), ALL_BYTES))
    OneNode("RIGHT_SHIFT", [a, b]).check()


def test_refusals() -> None:
    a, b = np.zeros((2, 3), np.bool_), np.zeros((2, 4), np.bool_)
    OneNode("LOGICAL_OR", [a, b]).refused(ShapeError, r"shapes \(2, 3\) and \(2, 4\) do not broadcast")
    OneNode("LOGICAL_NOT", [np.zeros(3, np.int8)]).refused(
        UnsupportedOpError, "types s8 -> s8 of x -> y are not supported"
    )
