"""Plans, bounds and checks usage records that are given as numpy arrays, without a Python object for each."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from minilite._native.memory import MAX_BYTES, UNPLACED, Refused, plan_table, record_table
from minilite.errors import ArenaError, InputError
from minilite.memory import columns
from minilite.memory.checker import Fault, Say, described, fault_of_one, fault_of_two
from minilite.memory.columns import Columns, IntArray
from minilite.memory.plan import check_strategy, checked_seconds
from minilite.memory.records import FARTHEST, MAX_ALIGNMENT
from minilite.numeric import whole


class MemoryUse(NamedTuple):
    """One memory of a plan: its number, the bytes of its arena, and the largest sum of rounded sizes live in it at
    once."""

    memory: int
    arena_bytes: int
    lower_bound: int
    proved_optimal: bool
    searched: int
    """Passes over all records of the memory, or search nodes visited."""


class ArrayPlan(NamedTuple):
    """Offsets by record, as an array of int64, and what each memory takes."""

    offsets: IntArray
    memories: tuple[MemoryUse, ...]
    """The memories that records name, in ascending order; 0 alone if none was named."""

    @property
    def arena_bytes(self) -> int:
        """The bytes of all arenas."""
        return sum(use.arena_bytes for use in self.memories)

    @property
    def lower_bound(self) -> int:
        """The sum of the lower bounds."""
        return sum(use.lower_bound for use in self.memories)

    @property
    def proved_optimal(self) -> bool:
        """No plan takes less in any memory."""
        return all(use.proved_optimal for use in self.memories)


def plan_arrays(
    sizes: Any,
    first: Any,
    last: Any,
    *,
    alignment: Any = 64,
    offsets: Any = None,
    memory: Any = None,
    in_place: Any = None,
    strategy: str = "default",
    max_seconds: float | None = None,
) -> ArrayPlan:
    """Places records that are given by columns: sizes in bytes, first and last nodes (both inclusive).

    All columns are arrays of integers. `alignment` is a number or a column; `offsets` has -1 where a record is to be
    placed, else the record is fixed there; `memory` numbers the memory in which each record lies, every one planned by
    itself. `in_place` has rows of two records: the second begins at the last node of the first, and takes over its
    place. With `max_seconds` (CPU time) the default strategy goes on until then, unless it meets the lower bound; it
    places every record at least once. Raises: InputError with the index; ArenaError if sizes add up beyond 64 bits.
    """
    check_strategy(strategy)
    seconds = 0.0 if max_seconds is None else checked_seconds(max_seconds)
    given = columns.checked(
        sizes, first, last, alignment=alignment, offsets=offsets, memory=memory, in_place=in_place
    )  # fmt: skip
    _check_sum(given)
    _check_strategy(given, strategy)
    rows, records, rows_of = columns.joined(given)
    _check_fixed(rows, records)
    uses, found, end = [], np.zeros(len(rows.sizes), np.int64), time.process_time() + seconds
    for number, members in columns.by_memory(rows):
        left = max(end - time.process_time(), 1e-9) if seconds else 0.0
        part = rows if members is None else rows.only(members)
        use, places = _plan_memory(number, part, strategy, left, members)
        found[slice(None) if members is None else members] = places
        uses.append(use)
    return ArrayPlan(found if rows_of is None else found[rows_of], tuple(uses))


def _plan_memory(
    number: int, rows: Columns, strategy: str, seconds: float, members: IntArray | None
) -> tuple[MemoryUse, IntArray]:
    least = columns.bound(rows)
    places = UNPLACED if rows.offsets is None else rows.offsets
    table = record_table(rows.sizes, places, rows.first, rows.last, np.arange(len(rows.sizes)))
    made = plan_table(strategy, table, rows.alignment, alignments=rows.alignments, max_seconds=seconds)
    if isinstance(made, Refused):
        assert made.reason == "unsupported", made.reason
        assert rows.offsets is not None
        at = int((rows.offsets != UNPLACED).argmax())
        where = f"record {at if members is None else members[at]} is fixed at {int(rows.offsets[at])}"
        message = f"strategy '{strategy}' takes no fixed records, and {where}"
        raise InputError(message)
    proved = made.proved_optimal or made.arena_bytes == least
    return MemoryUse(number, made.arena_bytes, least, proved, made.searched), table["offset"]


def check_arrays(
    sizes: Any,
    first: Any,
    last: Any,
    offsets: Any,
    *,
    alignment: Any = 1,
    memory: Any = None,
    in_place: Any = None,
    arena_bytes: int | None = None,
) -> Fault | None:
    """The first fault of a plan that is given by columns, None if it is valid. O(n log n). Shares no code with
    strategies. Raises: InputError with the index."""
    rows = columns.checked(sizes, first, last, alignment=alignment, offsets=None, memory=memory, in_place=in_place)
    places = columns.column("offsets", offsets, len(rows.sizes), least=-FARTHEST)
    limit = None if arena_bytes is None else whole("arena_bytes", arena_bytes)
    step = rows.alignment if rows.alignments is None else rows.alignments
    say = _names(rows, places)
    fault = fault_of_one(rows.sizes, places, step, limit, say) or _fault_of_pairs(rows, places, say)
    begin, end = columns.halves(rows)
    for _, members in columns.by_memory(rows):
        cut = [column if members is None else column[members] for column in (rows.sizes, begin, end, places)]
        fault = fault or fault_of_two(cut, say, members)
    return fault


def _names(rows: Columns, places: IntArray) -> Say:
    def say(at: int) -> str:
        return described(f"record {at}", *(int(column[at]) for column in (places, rows.sizes, rows.first, rows.last)))

    return say


def _fault_of_pairs(rows: Columns, places: IntArray, say: Say) -> Fault | None:
    if rows.pairs is None:
        return None
    read, written = rows.pairs.T
    apart = places[read] != places[written]
    if not apart.any():
        return None
    a, b = rows.pairs[int(apart.argmax())].tolist()
    return Fault("in_place", (a, b), f"{say(b)} takes over the place of {say(a)}, which lies elsewhere")


def lower_bound_arrays(sizes: Any, first: Any, last: Any, alignment: int = 64) -> int:
    """The largest sum of sizes, rounded up to the alignment, that are live at once. O(n log n). Raises: InputError with
    the index."""
    step, _ = columns.steps(whole("alignment", alignment), 0)
    rows = Columns(*columns.lives(sizes, first, last), step)
    _check_sum(rows)
    return columns.bound(rows)


def _check_sum(rows: Columns) -> None:
    """Raises: ArenaError if the sizes and fixed offsets add up to more than C counts with."""
    low = sum(int((column & 0xFFFFFFFF).sum()) for column in _addends(rows))
    total = low + (sum(int((column >> 32).sum()) for column in _addends(rows)) << 32)
    total += len(rows.sizes) * MAX_ALIGNMENT  # the most that rounding adds
    if total > MAX_BYTES:
        message = f"{total} bytes needed when added up, {MAX_BYTES} available: sizes are 64-bit"
        raise ArenaError(message)


def _addends(rows: Columns) -> list[IntArray]:
    return [rows.sizes] if rows.offsets is None else [rows.sizes, np.maximum(rows.offsets, 0)]


def _check_strategy(rows: Columns, strategy: str) -> None:
    """Raises: InputError if there are alignments of their own, which only the default strategy takes."""
    if rows.alignments is not None and strategy != "default":
        at = int((rows.alignments != rows.alignment).argmax())
        numbers = f"record {at} has alignment {int(rows.alignments[at])}, others {rows.alignment}"
        message = f"strategy '{strategy}' takes one alignment, and {numbers}"
        raise InputError(message)


def _check_fixed(rows: Columns, records: IntArray | None) -> None:
    """Raises: InputError if fixed records overlap."""
    if rows.offsets is None:
        return
    fixed = np.flatnonzero(rows.offsets != UNPLACED)
    held, places = rows.only(fixed), rows.offsets

    def say(at: int) -> str:
        numbers = (int(column[at]) for column in (places, rows.sizes, rows.first, rows.last))
        return described(f"record {at if records is None else records[at]}", *numbers)

    for _, members in columns.by_memory(held):
        chosen = fixed if members is None else fixed[members]
        cut = [column[chosen] for column in (rows.sizes, rows.first, rows.last, rows.offsets)]
        if fault := fault_of_two(cut, say, chosen):
            message = f"fixed records: {fault.text}"
            raise InputError(message)
