"""Random nodes of every operator that has a drawing function: LiteRT, C kernels and numpy references agree, also in a
loop's body.

Where LiteRT itself is wrong, or reads beyond its tensors, no such node is drawn: tests/support/drawn*.py say where.
What it alone runs for its types is test_litert_types.py's.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from support.drawn import answers, made
from support.drawn_all import DRAWN
from support.in_loop import check_in_loop
from support.node import Given, OneNode

import minilite
from minilite.errors import MiniliteError
from minilite.ops import operators

SEED, FEW, MANY = 20, 12, 300
BY_OPTIMIZED = {"SUM", "LOCAL_RESPONSE_NORMALIZATION"}
"""Operators whose oracle is LiteRT's optimized kernel: docs/numerics.md."""
NOT_DRAWN = {
    "IF", "WHILE", "CALL_ONCE", "STABLEHLO_CASE", "STABLEHLO_COMPOSITE", "STABLEHLO_SCATTER", "VAR_HANDLE", "READ_VARIABLE",
    "ASSIGN_VARIABLE", "STABLEHLO_RNG_BIT_GENERATOR", "HASHTABLE", "HASHTABLE_IMPORT", "HASHTABLE_FIND", "HASHTABLE_SIZE", "DENSIFY",
}  # fmt: skip
"""Operators that need more than a node and its weights: the tests of their families draw such models."""


def faults(op: str, seed: int, count: int) -> list[str]:
    """The faults among so many nodes."""
    wrong = []
    for number, word, text in answers(op, seed, count):
        by_types = word == "REFUSED" and "are not supported" in text
        optimized = word == "optimized" and op not in BY_OPTIMIZED
        if (word.isupper() and not by_types) or optimized:
            wrong.append(f"node {number} of seed {seed}: {word} {text}")
    return wrong


def test_every_operator_is_drawn() -> None:
    builtin = {name for name, row in operators().items() if not row.custom}
    assert builtin - set(DRAWN) == NOT_DRAWN


@pytest.mark.parametrize("op", DRAWN)
def test_few(op: str) -> None:
    assert faults(op, SEED, FEW) == []


@pytest.mark.parametrize("op", DRAWN)
def test_in_loops(op: str) -> None:
    """Nodes that are refused or fail are not put into a loop."""
    for number in range(4):
        with contextlib.suppress(MiniliteError):
            check_in_loop(made(op, SEED + 1, number), ["default"])


HOSTILE = (-(2**31), -70000, -129, -2, -1, 0, 1, 2, 5, 128, 70000, 2**31 - 1)


def hostile(one: OneNode, rng: np.random.Generator) -> OneNode:
    """The node with other numbers in its small tensors of integers: indices, axes, shapes, counts, lengths."""

    def other(given: Given | None) -> Given | None:
        if (
            given is None
            or given.array.dtype.kind not in "iu"
            or given.array.dtype.itemsize < 2
            or given.array.size > 64
        ):
            return given
        info = np.iinfo(given.array.dtype)
        numbers = np.clip(rng.choice(HOSTILE, given.array.shape), info.min, info.max).astype(info.dtype)
        return given._replace(array=np.where(rng.random(numbers.shape) < 0.5, numbers, given.array), shape=None)

    return OneNode(one.op, [other(given) for given in one.given], one.options, outs=one.outs, version=one.version)


@pytest.mark.parametrize("op", DRAWN)
def test_hostile(op: str) -> None:
    """Each node gives outputs or one of our errors; sanitizers see to it that nothing beyond the tensors is touched."""
    rng = np.random.default_rng(SEED)
    for number in range(25):
        one = made(op, SEED + 3, number)
        one = hostile(one, rng) if isinstance(one, OneNode) else one
        with contextlib.suppress(MiniliteError):
            interpreter = minilite.Interpreter(model_content=one.model, max_bytes=1 << 25)
            for detail, array in zip(interpreter.get_input_details(), one.arrays, strict=True):
                interpreter.resize_tensor_input(detail["index"], array.shape)
            interpreter.allocate_tensors()
            for detail, array in zip(interpreter.get_input_details(), one.arrays, strict=True):
                interpreter.set_tensor(detail["index"], array)
            interpreter.invoke()


@pytest.mark.slow
@pytest.mark.parametrize("op", DRAWN)
def test_many(op: str) -> None:
    assert faults(op, SEED + 2, MANY) == []
