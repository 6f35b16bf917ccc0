"""Checks a plan independently, by comparing every pair of records. Shares no code with strategies or bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minilite.memory.records import UsageRecord, checked_records
from minilite.numeric import whole


class Fault(NamedTuple):
    """An error in a plan: its kind ("count", "alignment", "arena", "fixed" or "overlap"), the records, and a line of
    text."""

    kind: str
    records: tuple[int, ...]
    """Positions of the records at fault."""
    text: str


def _say(record: UsageRecord, offset: int) -> str:
    end = offset + record.size
    return f"tensor {record.tensor} (bytes {offset} to {end}, nodes {record.first_node} to {record.last_node})"


def _fault_of_one(
    records: Sequence[UsageRecord], offsets: Sequence[int], alignment: int, arena_bytes: int | None
) -> Fault | None:
    if len(records) != len(offsets):
        return Fault("count", (), f"{len(offsets)} offsets for {len(records)} records")
    for position, (record, offset) in enumerate(zip(records, offsets, strict=True)):
        if record.offset is not None and record.offset != offset:
            text = f"{_say(record, offset)} is fixed at {record.offset}"
            return Fault("fixed", (position,), text)
        if offset < 0 or offset % alignment:
            text = f"{_say(record, offset)} does not lie at a multiple of {alignment}"
            return Fault("alignment", (position,), text)
        if arena_bytes is not None and record.size and offset + record.size > arena_bytes:
            text = f"{_say(record, offset)} ends beyond the arena's {arena_bytes} bytes"
            return Fault("arena", (position,), text)
    return None


def check(
    records: Sequence[UsageRecord], offsets: Sequence[int], *, alignment: int = 1, arena_bytes: int | None = None
) -> Fault | None:
    """The first fault of a plan; None if it is valid. O(n^2). Raises: InputError for numbers that records do not
    have."""
    records, alignment = checked_records(records, alignment)
    offsets = [whole(f"offset {position}", offset) for position, offset in enumerate(offsets)]
    arena_bytes = None if arena_bytes is None else whole("arena_bytes", arena_bytes)
    sizes = [whole(f"record {position}: size", record.size) for position, record in enumerate(records)]
    if fault := _fault_of_one(records, offsets, alignment, arena_bytes):
        return fault
    start = np.array(offsets, np.int64)
    end = start + np.array(sizes, np.int64)
    first = np.array([record.first_node for record in records], np.int64)
    last = np.array([record.last_node for record in records], np.int64)
    filled = end > start
    for i in map(int, np.flatnonzero(filled)):
        rest = slice(i + 1, None)
        meets = (start[rest] < end[i]) & (end[rest] > start[i]) & (first[rest] <= last[i]) & (last[rest] >= first[i])
        meets &= filled[rest]
        if meets.any():
            j = i + 1 + int(meets.argmax())
            text = f"{_say(records[i], offsets[i])} overlaps {_say(records[j], offsets[j])}"
            return Fault("overlap", (i, j), text)
    return None
