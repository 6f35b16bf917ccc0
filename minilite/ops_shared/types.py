"""Operand types in the notation of rows, the same as in csrc/kernel.h: "f32 f32 -> f32", "s16 s8 s64? -> s16", "x4...
->
x4"."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from minilite.format.dtypes import TensorType, element_bits

ABSENT = -1
"""The code of an absent operand, where operands are given by the codes of their types."""


@functools.cache
def _words() -> dict[str, frozenset[int]]:
    """The codes of the types that each word without alternatives means."""
    kinds = tuple(TensorType)
    found = {kind.suffix: frozenset({int(kind)}) for kind in kinds}
    found["any"] = frozenset(map(int, kinds))
    for size in (1, 2, 4, 8, 16):
        found[f"x{size}"] = frozenset(int(kind) for kind in kinds if element_bits(kind) == 8 * size)
    return found


class Operand(NamedTuple):
    """One word of a signature, or of a row's `takes`."""

    word: str
    """A type, "|" between alternatives, or a name; without the marks after it."""
    optional: bool
    """"?": may be absent."""
    repeats: bool
    """"...": one or more; with "?", zero or more."""


class Operands(NamedTuple):
    """Inputs and outputs."""

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]


@functools.cache
def parse(text: str) -> Operands:
    """The operands of "x axis? more... -> y"."""
    inputs, _, outputs = text.partition("->")
    return Operands(*(tuple(_operand(word) for word in side.split()) for side in (inputs, outputs)))


def _operand(word: str) -> Operand:
    name = word.rstrip("?.")
    return Operand(name, "?" in word, "..." in word)


@functools.cache
def types_of(word: str) -> frozenset[int]:
    """The codes of the types that a word means. Raises: KeyError for an unknown word."""
    return frozenset().union(*(_words()[part] for part in word.split("|")))


def each(signature: str, types: str) -> tuple[str, ...]:
    """The signature once for every type of "f32 s8 ...", in the place of the letter T: each("T s32 -> T", "f32 s8")."""
    return tuple(
        " ".join(kind + word[1:] if word.rstrip("?.") == "T" else word for word in signature.split())
        for kind in types.split()
    )


def written_types(text: str) -> tuple[str, ...]:
    """A row's types without its T: "T s32 -> T: f32 s8" is "f32 s32 -> f32" and "s8 s32 -> s8"."""
    signature, marked, types = text.partition(":")
    return each(signature, types) if marked else (text,)


def written_out(signature: str) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The codes of inputs and of outputs in every combination that a signature allows; repeated operands occur
    twice."""
    inputs, outputs = parse(signature)
    yield from itertools.product(_combinations(inputs), _combinations(outputs))


def _combinations(operands: tuple[Operand, ...]) -> list[tuple[int, ...]]:
    kinds = [sorted(types_of(operand.word)) for operand in operands for _ in range(2 if operand.repeats else 1)]
    return list(itertools.product(*kinds))


def at(operands: tuple[Operand, ...], position: int) -> Operand | None:
    """The operand for input or output `position`; None after the last."""
    if position < len(operands):
        return operands[position]
    return operands[-1] if operands and operands[-1].repeats else None


def mismatches(operands: tuple[Operand, ...], kinds: Sequence[int]) -> int:
    """Counts the operands of one side that have the wrong type, are missing, or are too many."""
    wrong = 0
    for position in range(max(len(operands), len(kinds))):
        operand = at(operands, position)
        kind = kinds[position] if position < len(kinds) else ABSENT
        if operand is None:
            wrong += 1
        elif kind == ABSENT:
            wrong += not operand.optional or (operand.repeats and position < len(kinds))
        else:
            wrong += kind not in types_of(operand.word)
    return wrong


def spelled(inputs: Sequence[int], outputs: Sequence[int]) -> str:
    """The signature of a node, with "-" for absent operands."""
    sides = (" ".join("-" if kind < 0 else TensorType(kind).suffix for kind in side) for side in (inputs, outputs))
    return " -> ".join(sides)
