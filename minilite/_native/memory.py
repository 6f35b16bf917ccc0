"""Plans usage records by a strategy, through ml_memory_plan."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

from minilite._core import ffi, lib
from minilite.errors import ArenaError

UNPLACED: int = lib.ML_UNPLACED
MAX_BYTES = (1 << 62) - 1
"""The largest sum of sizes; above it planning is refused with ML_STRATEGY_OVERFLOW."""

Row = tuple[int, int, int, int, int]
"""A record in C's order: size, offset (UNPLACED = to be placed), first node, last node, tensor."""


class Placement(NamedTuple):
    """The plan that a strategy has made for a problem."""

    offsets: tuple[int, ...]
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


def _problem(rows: Iterable[Row], alignment: int) -> tuple[Any, Any]:
    filled = [(*row, 0) for row in rows]
    records = ffi.new("ml_record[]", filled or 1)
    return ffi.new("ml_problem *", {"records": records, "count": len(filled), "alignment": alignment}), records


def _no_memory(count: int) -> ArenaError:
    return ArenaError(f"no memory to plan {count} records")


def plan_memory(
    strategy: str,
    rows: Iterable[Row],
    alignment: int,
    *,
    capacity: int = 0,
    max_nodes: int = 0,
    max_seconds: float = 0.0,
) -> Placement | Refused:
    """Runs a strategy over checked records. Raises: ArenaError if memory for planning itself is short."""
    problem, records = _problem(rows, alignment)
    problem.capacity, problem.max_nodes, problem.max_seconds = capacity, max_nodes, max_seconds
    status = lib.ml_memory_plan(strategy.encode(), problem)
    if status == lib.ML_STRATEGY_NO_MEMORY:
        raise _no_memory(problem.count)
    if status != lib.ML_STRATEGY_OK:
        return Refused(_REASONS[status])
    offsets = tuple(record.offset for record in records[0 : problem.count])
    return Placement(offsets, problem.arena_bytes, bool(problem.proved_optimal), problem.searched)


def memory_lower_bound(rows: Iterable[Row], alignment: int) -> int:
    """The largest sum of rounded sizes live at once, as C computes it. Raises: ArenaError."""
    problem, _records = _problem(rows, alignment)
    bound = int(lib.ml_memory_lower_bound(problem))
    if bound < 0:
        raise _no_memory(problem.count)
    return bound


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
