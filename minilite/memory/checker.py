"""Checks a plan independently: by columns, and for overlaps from the bottom up. Shares no code with strategies or
bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minilite._native.memory import overlapping
from minilite.memory.records import UsageRecord, checked_records
from minilite.numeric import whole

IntArray = np.ndarray[Any, np.dtype[Any]]
Say = Callable[[int], str]
"""Names the record at a position, with its bytes and nodes."""


class Fault(NamedTuple):
    """An error in a plan: its kind ("count", "alignment", "arena", "fixed", "in_place" or "overlap"), the records, and
    a line of text."""

    kind: str
    records: tuple[int, ...]
    """Positions of the records at fault."""
    text: str


def described(name: str, offset: int, size: int, first: int, last: int) -> str:
    """A record's name, its bytes, and its nodes."""
    return f"{name} (bytes {offset} to {offset + size}, nodes {first} to {last})"


def fault_of_one(
    sizes: IntArray, offsets: IntArray, alignment: int | IntArray, arena_bytes: int | None, say: Say
) -> Fault | None:
    """The first record that does not lie at a multiple of the alignment, or not in the arena."""
    wrong = (offsets < 0) | (offsets % alignment != 0)
    if wrong.any():
        at = int(wrong.argmax())
        step = int(alignment[at]) if isinstance(alignment, np.ndarray) else alignment
        return Fault("alignment", (at,), f"{say(at)} does not lie at a multiple of {step}")
    if arena_bytes is not None:
        beyond = (sizes > 0) & (offsets > max(arena_bytes, 0) - sizes)
        if beyond.any():
            at = int(beyond.argmax())
            return Fault("arena", (at,), f"{say(at)} ends beyond the arena's {arena_bytes} bytes")
    return None


def fault_of_two(columns: Sequence[IntArray], say: Say, positions: IntArray | None = None) -> Fault | None:
    """Two records that overlap, if there are any. The columns are sizes, first and last nodes, and offsets; `positions`
    are those of their records."""
    sizes, first, last, offsets = (np.ascontiguousarray(column, np.int64) for column in columns)
    pair = overlapping(offsets, sizes, first, last)
    if pair is None:
        return None
    a, b = pair if positions is None else (int(positions[at]) for at in pair)
    return Fault("overlap", (a, b), f"{say(a)} overlaps {say(b)}")


def check(
    records: Sequence[UsageRecord], offsets: Sequence[int], *, alignment: int = 1, arena_bytes: int | None = None
) -> Fault | None:
    """The first fault of a plan; None if it is valid. O(n log n). Raises: InputError for numbers that records do not
    have."""
    records, alignment = checked_records(records, alignment)
    offsets = _checked_offsets(offsets)
    arena_bytes = None if arena_bytes is None else whole("arena_bytes", arena_bytes)
    tensors, sizes, first, last, fixed, _ = zip(*records, strict=True) if records else ((),) * 6
    if sizes and max(sizes) >= 1 << 63:
        for position, size in enumerate(sizes):
            whole(f"record {position}: size", size)
    if len(records) != len(offsets):
        return Fault("count", (), f"{len(offsets)} offsets for {len(records)} records")

    def say(at: int) -> str:
        return described(f"tensor {tensors[at]}", offsets[at], sizes[at], first[at], last[at])

    if {*map(type, fixed)} - {type(None)}:
        for position, (place, offset) in enumerate(zip(fixed, offsets, strict=True)):
            if place is not None and place != offset:
                return Fault("fixed", (position,), f"{say(position)} is fixed at {place}")
    columns = [np.array(column, np.int64) for column in (sizes, first, last, offsets)]
    fault = fault_of_one(columns[0], columns[3], alignment, arena_bytes, say)
    return fault or fault_of_two(columns, say)


def _checked_offsets(offsets: Sequence[int]) -> Sequence[int]:
    """Offsets in Python's own integers. Raises: InputError for those that do not fit 64 bits."""
    if {*map(type, offsets)} == {int} and min(offsets) >= -(1 << 63) and max(offsets) < 1 << 63:
        return offsets
    return [whole(f"offset {position}", offset) for position, offset in enumerate(offsets)]
