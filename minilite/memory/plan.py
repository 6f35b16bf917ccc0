"""Plans usage records by a strategy; MemoryPlan is the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from minilite._native.memory import (
    MAX_BYTES,
    UNPLACED,
    Refused,
    memory_lower_bound,
    plan_table,
    record_table,
    strategies,
)
from minilite.errors import ArenaError, InputError, shown
from minilite.memory import picture, svg
from minilite.memory.checker import Fault, check
from minilite.memory.csv_file import csv_text
from minilite.memory.lower_bound import rounded, sections
from minilite.memory.records import MAX_ALIGNMENT, UsageRecord, checked_records, record_fault
from minilite.names import short_names
from minilite.numeric import real, whole

MOST_DRAWN = 100_000
"""The most pixels or characters that a picture may have in one direction."""
_NAMED = 8
"""The number of tensors that an error names."""


@dataclass(frozen=True)
class MemoryPlan:
    """The offset of each record. It prints as a table, is drawn in notebooks, and `diff` compares two of them."""

    records: tuple[UsageRecord, ...]
    offsets: tuple[int, ...]
    """The offsets by position in `records`, in bytes; multiples of the alignment."""
    arena_bytes: int
    """The high-water mark, rounded up to the alignment."""
    lower_bound: int
    """The largest sum of rounded sizes live at once: no plan is smaller."""
    proved_optimal: bool
    """No plan is smaller: it meets the lower bound, or a search has proved it."""
    strategy: str
    searched: int
    """Search nodes visited, or greedy passes run."""
    alignment: int = 64
    names: Mapping[int, str] = field(default_factory=dict)
    """Names of tensors, by tensor number, where they are known."""
    title: str = ""
    """The title of the plan's picture; the strategy if empty."""

    @property
    def naive_bytes(self) -> int:
        """The bytes if no memory were shared."""
        return sum(rounded(record.size, self.alignment) for record in self.records)

    @property
    def reuse_factor(self) -> float:
        """The mean use of each byte of the arena: naive bytes divided by arena bytes."""
        return self.naive_bytes / self.arena_bytes if self.arena_bytes else 1.0

    def short_labels(self) -> list[str]:
        """The records' names in order, as tables and pictures show them: what tells them apart."""
        tensors = [record.tensor for record in self.records]
        short = short_names({tensor: self.names[tensor] for tensor in tensors if tensor in self.names})
        return [short.get(tensor, f"tensor {tensor}") for tensor in tensors]

    def label(self, position: int) -> str:
        """A name for a record, given by position: its tensor's name, or its number. Raises: InputError."""
        tensor = self.records[whole("position", position, least=0, most=len(self.records) - 1)].tensor
        return self.names.get(tensor, f"tensor {tensor}")

    def check(self) -> Fault | None:
        """The first fault that the independent checker finds; None for a valid plan."""
        return check(self.records, self.offsets, alignment=self.alignment, arena_bytes=self.arena_bytes)

    def table(self) -> str:
        """Live bytes node by node, the peak, the lower bound, the reuse factor."""
        return picture.table(self)

    def memory_map(self, columns: int = 80) -> str:
        """The plan in the text form of TFLM's PrintMemoryPlan; `columns` are the characters that show the arena.

        Raises: InputError.
        """
        return picture.memory_map(self, whole("columns", columns, least=1, most=MOST_DRAWN))

    def to_svg(self, width: int = 900, height: int = 420) -> str:
        """Rectangles over time (across) and offset (up); hovering names the tensor. Raises: InputError."""
        across, up = (whole(n, v, least=1, most=MOST_DRAWN) for n, v in (("width", width), ("height", height)))
        return svg.to_svg(self, across, up)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The plan in MiniMalloc's format, offsets included; also written to `path` if one is given."""
        text = csv_text(self.records, self.offsets)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def diff(self, other: MemoryPlan) -> str:
        """The differences in `other`: the arena, and records that were changed, moved, added or removed."""
        return picture.diff(self, other)

    def __str__(self) -> str:
        return self.table()

    def _repr_svg_(self) -> str:
        return self.to_svg()


def plan(
    records: Iterable[UsageRecord],
    strategy: str = "default",
    alignment: int = 64,
    *,
    capacity: int | None = None,
    max_nodes: int | None = None,
    max_seconds: float | None = None,
    names: Mapping[int, str] | None = None,
) -> MemoryPlan:
    """Places usage records in an arena.

    `capacity` is the most bytes that the arena may take. A search stops at the first plan within it. If `max_nodes` or
    `max_seconds` (0 or None = no limit) end a search, the best plan found is returned, with `proved_optimal` False.
    Other strategies ignore these limits. Raises: InputError for records, alignment or strategy that are not valid;
    ArenaError if the capacity is too small, or if sizes add up beyond 64 bits.
    """
    rows, alignment = _checked_problem(records, strategy, alignment)
    capacity, max_nodes = _limit("capacity", capacity, whole), _limit("max_nodes", max_nodes, whole)
    max_seconds = _limit("max_seconds", max_seconds, real)
    total = sum(rounded(record.size, alignment) + (record.offset or 0) for record in rows)
    if total > MAX_BYTES:
        raise _overflow(total)
    table = _table(rows)
    bound = max(memory_lower_bound(table, alignment), *_fixed_ends(rows, alignment), 0)
    if capacity is not None and bound > capacity:
        raise _too_small(rows, alignment, bound, capacity, names or {})
    result = plan_table(
        strategy, table, alignment, capacity=capacity or 0, max_nodes=max_nodes or 0, max_seconds=max_seconds or 0.0
    )
    if isinstance(result, Refused):
        if result.reason == "unsupported":
            message = f"strategy '{strategy}' takes no fixed records, and {_fixed(rows)}"
            raise InputError(message)
        if result.reason == "over_capacity" and capacity is not None:
            message = (
                f"no plan of {len(rows)} records fits {capacity} bytes: a search proved it; the lower bound is {bound}; "
                f"{_at_peak(rows, alignment, names or {})}"
            )
            raise ArenaError(message)
        raise _overflow(total)
    made = MemoryPlan(
        tuple(rows), tuple(table["offset"].tolist()), result.arena_bytes, bound,
        result.proved_optimal or result.arena_bytes == bound, strategy, result.searched, alignment, dict(names or {}),
    )  # fmt: skip
    if capacity is not None and made.arena_bytes > capacity and strategy != "exact":
        needed = f"strategy '{strategy}' needs {made.arena_bytes} bytes, {capacity} available"
        message = f"{needed}; the lower bound is {bound}"
        raise ArenaError(message)
    return made


def _table(rows: list[UsageRecord]) -> np.ndarray[Any, Any]:
    """The records as C takes them."""
    tensors, sizes, firsts, lasts, offsets, _ = zip(*rows, strict=True) if rows else ((),) * 6
    is_free = {*map(type, offsets)} == {type(None)}
    places = UNPLACED if is_free else [UNPLACED if offset is None else offset for offset in offsets]
    return record_table(sizes, places, firsts, lasts, tensors)


def _fixed_ends(rows: list[UsageRecord], alignment: int) -> list[int]:
    return [rounded(r.offset + r.size, alignment) for r in rows if r.offset is not None and r.size]


def _fixed(rows: list[UsageRecord]) -> str:
    return ", ".join(f"tensor {r.tensor} is fixed at {r.offset}" for r in rows if r.offset is not None)


def _overflow(total: int) -> ArenaError:
    return ArenaError(f"{total} bytes needed when added up, {MAX_BYTES} available: sizes are 64-bit")


def _too_small(
    rows: list[UsageRecord], alignment: int, bound: int, capacity: int, names: Mapping[int, str]
) -> ArenaError:
    """The error that names the tensors live at the peak, largest first."""
    head = f"{bound} bytes needed, {capacity} available"
    if all(section.breadth < bound for section in sections(rows, alignment)):
        return ArenaError(f"{head}: {_fixed(rows)}")
    return ArenaError(f"{head}: {_at_peak(rows, alignment, names)}")


def _at_peak(rows: list[UsageRecord], alignment: int, names: Mapping[int, str]) -> str:
    peak = max(sections(rows, alignment), key=lambda section: section.breadth)
    live = sorted((rows[i] for i in peak.live if rows[i].size), key=lambda r: -r.size)
    tensors = [f"{names.get(r.tensor, f'tensor {r.tensor}')} ({r.size} bytes)" for r in live]
    more = f" and {len(tensors) - _NAMED} more" if len(tensors) > _NAMED else ""
    return f"live at node {peak.first} are {', '.join(tensors[:_NAMED])}{more}"


def _checked_problem(records: Iterable[UsageRecord], strategy: str, alignment: int) -> tuple[list[UsageRecord], int]:
    """Records and alignment in Python's own integers. Raises: InputError."""
    check_strategy(strategy)
    rows, alignment = checked_records(records, alignment)
    if alignment > MAX_ALIGNMENT or alignment & (alignment - 1):
        message = f"alignment {alignment}, must be a power of two from 1 to {MAX_ALIGNMENT}"
        raise InputError(message)
    held = [record for record in rows if record.offset is not None]
    for position, record in enumerate(rows if held else ()):
        if fault := record_fault(record, alignment):
            message = f"record {position}, tensor {record.tensor}: {fault}"
            raise InputError(message)
    if held and (clash := check(held, [record.offset or 0 for record in held])):
        message = f"fixed records: {clash.text}"
        raise InputError(message)
    return rows, alignment


def check_strategy(strategy: str) -> None:
    """Refuses a name that no strategy has. Raises: InputError."""
    if strategy not in strategies():
        message = f"there is no planning strategy {shown(strategy)}: there are {', '.join(strategies())}"
        raise InputError(message)


def checked_seconds(max_seconds: float) -> float:
    """A limit of CPU time as a number. Raises: InputError."""
    return float(_limit("max_seconds", max_seconds, real))


def _limit(name: str, value: Any, taken: Callable[[str, Any], Any]) -> Any:
    """A limit, None for none, checked as a number of its kind. Raises: InputError."""
    number = None if value is None else taken(name, value)
    if number is not None and not 0 <= number <= MAX_BYTES:
        message = f"{name} {shown(value)}, must be from 0 to {MAX_BYTES}"
        raise InputError(message)
    return number
