"""Plans usage records by a strategy, through ml_memory_plan; looks for records that overlap."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from minilite._core import ffi, lib
from minilite.errors import ArenaError

UNPLACED: int = lib.ML_UNPLACED
MAX_BYTES = (1 << 62) - 1
"""The largest sum of sizes; above it planning is refused with ML_STRATEGY_OVERFLOW."""

RECORD = np.dtype(
    [("size", "i8"), ("offset", "i8"), ("first", "i4"), ("last", "i4"), ("tensor", "i4"), ("memory", "i4")]
)
"""An ml_record, of which arrays consist that C reads and writes in place."""


class Placement(NamedTuple):
    """The figures of a plan whose offsets are in the table of its records."""

    arena_bytes: int
    proved_optimal: bool
    searched: int


class Refused(NamedTuple):
    """The reason why a strategy gave no plan: "unknown_strategy", "overflow", "unsupported" or "over_capacity"."""

    reason: str


_REASONS: dict[int, str] = {
    lib.ML_STRATEGY_UNKNOWN: "unknown_strategy",
    lib.ML_STRATEGY_OVERFLOW: "overflow",
    lib.ML_STRATEGY_UNSUPPORTED: "unsupported",
    lib.ML_STRATEGY_OVER_CAPACITY: "over_capacity",
}


@functools.cache
def strategies() -> tuple[str, ...]:
    """The names of all strategies that `plan` takes."""
    names: list[str] = []
    while name := lib.ml_memory_strategy_name(len(names)):
        names.append(ffi.string(name).decode())
    return tuple(names)


def record_table(sizes: Any, offsets: Any, firsts: Any, lasts: Any, tensors: Any) -> np.ndarray[Any, Any]:
    """Records as an array of RECORD, from a column or a number for each field."""
    table = np.zeros(len(sizes), RECORD)
    for name, column in zip(RECORD.names or (), (sizes, offsets, firsts, lasts, tensors), strict=False):
        table[name] = column
    return table


def _problem(table: np.ndarray[Any, Any], alignment: int) -> Any:
    """An ml_problem over a table, which must outlive it."""
    records = ffi.from_buffer("ml_record[]", table) if len(table) else ffi.NULL
    return ffi.new("ml_problem *", {"records": records, "count": len(table), "alignment": alignment})


def _no_memory(count: int) -> ArenaError:
    return ArenaError(f"no memory to plan {count} records")


def plan_table(
    strategy: str,
    table: np.ndarray[Any, Any],
    alignment: int,
    *,
    alignments: np.ndarray[Any, Any] | None = None,
    capacity: int = 0,
    max_nodes: int = 0,
    max_seconds: float = 0.0,
) -> Placement | Refused:
    """Runs a strategy over checked records, and writes their offsets into the table. Raises: ArenaError if memory for
    planning itself is short."""
    problem = _problem(table, alignment)
    if alignments is not None and len(table):
        problem.alignments = ffi.from_buffer("int32_t[]", alignments)
    problem.capacity, problem.max_nodes, problem.max_seconds = capacity, max_nodes, max_seconds
    status = lib.ml_memory_plan(strategy.encode(), problem)
    if status == lib.ML_STRATEGY_NO_MEMORY:
        raise _no_memory(problem.count)
    if status != lib.ML_STRATEGY_OK:
        return Refused(_REASONS[status])
    return Placement(problem.arena_bytes, bool(problem.proved_optimal), problem.searched)


def memory_lower_bound(table: np.ndarray[Any, Any], alignment: int) -> int:
    """The largest sum of rounded sizes live at once, as C computes it. Raises: ArenaError."""
    bound = int(lib.ml_memory_lower_bound(_problem(table, alignment)))
    if bound < 0:
        raise _no_memory(len(table))
    return bound


def overlapping(*columns: np.ndarray[Any, Any]) -> tuple[int, int] | None:
    """The positions of two records that overlap, ascending; None if there are none. The columns are of int64, all 0 or
    more: offsets, sizes, first nodes, last nodes. Raises: ArenaError."""
    other = ffi.new("int64_t *")
    pointers = [ffi.from_buffer("int64_t[]", column) if len(column) else ffi.NULL for column in columns]
    one = lib.ml_memory_overlap(len(columns[0]), *pointers, other)
    if one == -2:
        message = f"no memory to check {len(columns[0])} records"
        raise ArenaError(message)
    return None if one < 0 else (min(one, other[0]), max(one, other[0]))


class Room(NamedTuple):
    """A memory: its capacity, the cost of each byte moved, the alignment."""

    capacity: int
    cost: int
    alignment: int


class Assignment(NamedTuple):
    """The number of each record's memory, at the least cost."""

    rooms: tuple[int, ...]
    cost: int
    optimal: bool
    """No state was dropped: no assignment costs less."""
    states: int


def assign_memories(
    rows: Iterable[tuple[int, int, int, int, int]], rooms: Iterable[Room], most_states: int
) -> Assignment | None:
    """Assigns records, given as size, traffic, first node, last node and mask of allowed memories; None if they fit in
    no way that was found. Raises: ArenaError if memory for planning itself is short."""
    filled = [(*row, 0) for row in rows]
    choices = ffi.new("ml_choice[]", filled or 1)
    given = ffi.new("ml_memory_room[]", [(*room, 0) for room in rooms])
    assignment = ffi.new(
        "ml_assignment *",
        {"choices": choices, "rooms": given, "count": len(filled), "n_rooms": len(given), "most_states": most_states},
    )
    status = lib.ml_memory_assign(assignment)
    if status == lib.ML_STRATEGY_NO_MEMORY:
        raise _no_memory(len(filled))
    if status != lib.ML_STRATEGY_OK:
        return None
    found = tuple(choice.room for choice in choices[0 : len(filled)])
    return Assignment(found, assignment.cost, bool(assignment.optimal), assignment.states)


MOST_ROOMS: int = lib.ML_MOST_ROOMS
