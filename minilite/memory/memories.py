"""Plans records into several memories: which record lies in which, at the least cost of bytes moved, and where.

A record lies in one memory for its life. First a sweep over time finds the assignment that costs least while what is
live at once fits each memory (csrc/memory/assign.c); then a strategy places the records of each memory within its
capacity. If it is proved that they cannot be placed, the next cheapest assignment is tried.
"""

from __future__ import annotations

import heapq
import os
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from minilite._native.memory import MAX_BYTES, MOST_ROOMS, Assignment, Room, assign_memories
from minilite.errors import ArenaError, InputError, InputTypeError, shown
from minilite.memory import svg
from minilite.memory.checker import Fault
from minilite.memory.lower_bound import rounded, sections
from minilite.memory.plan import MOST_DRAWN, MemoryPlan, checked_seconds, plan
from minilite.memory.records import FOREVER, MAX_ALIGNMENT, UsageRecord, checked_records
from minilite.numeric import whole
from minilite.text import table

MOST_STATES = 20_000
_MOST_STATES = 1 << 17
"""The largest number that may be asked for."""
_LINKS = 1 << 24
"""The most states that are remembered over all records, of 4 bytes each."""
_FEWEST, _BRANCHES = 32, 20_000
"""Assignments that are made to replace those that cannot be placed: so many divided by the number of records, and never
fewer than the first number."""
_SHARES = (1, 2, 4, 8, 16, 24, 32)
"""The 64ths of the capacities that are then left free in turn, until the records can be placed."""


class Memory(NamedTuple):
    """A memory of a device."""

    name: str
    capacity: int
    base: int | None = None
    """The address of its first byte."""
    alignment: int = 64
    cost: int | None = None
    """The cost of each byte moved to or from it; if None, its position in the list, so that the first costs nothing."""


@dataclass(frozen=True)
class MemoriesPlan:
    """The memory and the offset of each record. It prints as a table."""

    memories: tuple[Memory, ...]
    records: tuple[UsageRecord, ...]
    rooms: tuple[int, ...]
    """The number of each record's memory, by position in `records`."""
    offsets: tuple[int, ...]
    """The offsets in that memory, in bytes."""
    plans: tuple[MemoryPlan, ...]
    """The plan of each memory, with its own lower bound."""
    traffic: tuple[int, ...]
    """The bytes that a run moves to and from each record."""
    cost: int
    """The sum of bytes moved times the cost of their memory; with two memories, the bytes moved to and from the
    second."""
    lower_bound: int
    """No plan costs less."""
    cut: bool
    """States were dropped: a cheaper assignment may exist, even if the cost is above the lower bound."""
    states: int
    """The most states kept at once."""
    names: Mapping[int, str] = field(default_factory=dict)
    """Names of tensors, by tensor number, where they are known."""

    @property
    def proved_optimal(self) -> bool:
        """No plan costs less."""
        return self.cost == self.lower_bound

    def label(self, position: int) -> str:
        """A name for a record, given by position: its tensor's name, or its number. Raises: InputError."""
        tensor = self.records[self._position(position)].tensor
        return self.names.get(tensor, f"tensor {tensor}")

    def address(self, position: int) -> int:
        """The address of a record, given by position; its offset if its memory has no base. Raises: InputError."""
        at = self._position(position)
        return (self.memories[self.rooms[at]].base or 0) + self.offsets[at]

    def _position(self, position: int) -> int:
        return whole("position", position, least=0, most=len(self.records) - 1)

    def moved(self) -> tuple[int, ...]:
        """The bytes that a run moves to and from each memory."""
        sums = [0] * len(self.memories)
        for room, moved in zip(self.rooms, self.traffic, strict=True):
            sums[room] += moved
        return tuple(sums)

    def check(self) -> Fault | None:
        """The first fault that the independent checker finds; None for a valid plan."""
        for number, (memory, made) in enumerate(zip(self.memories, self.plans, strict=True)):
            if made.arena_bytes > memory.capacity:
                text = f"memory '{memory.name}': {made.arena_bytes} bytes, its capacity is {memory.capacity}"
                return Fault("arena", (), text)
            inside = [position for position, room in enumerate(self.rooms) if room == number]
            if made.records != tuple(self.records[position] for position in inside):
                return Fault("count", tuple(inside), f"memory '{memory.name}': its plan has other records")
            for position in inside:
                if memory.name not in _allowed(self.records[position], self.memories):
                    return Fault("memory", (position,), f"{self.label(position)} may not lie in '{memory.name}'")
            if fault := made.check():
                return fault
        return None

    def table(self) -> str:
        """The memories, with their bytes, lower bounds and traffic."""
        rows = [
            (memory.name, memory.capacity, made.arena_bytes, made.lower_bound, len(made.records), moved)
            for memory, made, moved in zip(self.memories, self.plans, self.moved(), strict=True)
        ]
        head = ("memory", "capacity", "bytes", "lower bound", "records", "bytes moved")
        return f"{table(head, rows)}\ncost {self.cost}, {self.verdict()}"

    def verdict(self) -> str:
        """The distance from the optimum, in words."""
        if self.proved_optimal:
            return "optimal"
        reason = "the sweep was cut" if self.cut else "the best assignment cannot be placed"
        return f"the optimum is at least {self.lower_bound}: {reason}"

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The records with their memories, offsets and traffic; also written to `path` if one is given."""
        lines = ["id,lower,upper,size,memory,offset,address,traffic"]
        for position, record in enumerate(self.records):
            memory = self.memories[self.rooms[position]]
            address = "" if memory.base is None else self.address(position)
            lines.append(
                f"{record.tensor},{record.first_node},{record.last_node + 1},{record.size},{memory.name},"
                f"{self.offsets[position]},{address},{self.traffic[position]}"
            )
        text = "\n".join(lines) + "\n"
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_svg(self, width: int = 900, height: int = 420) -> str:
        """The plans of all memories, one below the other. Raises: InputError."""
        across, up = (whole(n, v, least=1, most=MOST_DRAWN) for n, v in (("width", width), ("height", height)))
        shown_plans = [
            replace(made, title=f"memory '{memory.name}', {memory.capacity} bytes")
            for memory, made in zip(self.memories, self.plans, strict=True)
            if made.records
        ]
        parts = [
            svg.to_svg(made, across, up).replace("<svg ", f'<svg y="{number * up}" ', 1)
            for number, made in enumerate(shown_plans)
        ]
        tall = up * max(1, len(parts))
        size = f'viewBox="0 0 {across} {tall}" width="{across}" height="{tall}"'
        return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', *parts, "</svg>"])

    def __str__(self) -> str:
        return self.table()

    def _repr_svg_(self) -> str:
        return self.to_svg()


def checked_memories(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Memories with their costs, in Python's own integers. Raises: InputError."""
    given = [*memories]
    for position, memory in enumerate(given):
        if not isinstance(memory, Memory):
            message = f"memory {position} is {shown(memory)}, must be a Memory"
            raise InputTypeError(message)
    if not 1 <= len(given) <= MOST_ROOMS:
        message = f"{len(given)} memories, must be from 1 to {MOST_ROOMS}"
        raise InputError(message)
    found: list[Memory] = []
    for position, (name, capacity, base, alignment, cost) in enumerate(given):
        if not isinstance(name, str) or not name or name in {memory.name for memory in found}:
            message = f"memory {position} has the name {shown(name)}, must be text that no other has"
            raise InputError(message)
        where = f"memory '{name}'"
        step = whole(f"{where}: alignment", alignment, least=1, most=MAX_ALIGNMENT)
        start = None if base is None else whole(f"{where}: base", base, least=0, most=MAX_BYTES)
        if step & (step - 1) or (start or 0) % step:
            message = f"{where}: alignment {step} and base {start}: the base must be a multiple of a power of two"
            raise InputError(message)
        room = whole(f"{where}: capacity", capacity, least=1, most=MAX_BYTES)
        price = position if cost is None else whole(f"{where}: cost", cost, least=0, most=FOREVER)
        found.append(Memory(name, room, start, step, price))
    placed = sorted((memory for memory in found if memory.base is not None), key=lambda memory: memory.base or 0)
    for lower, upper in pairwise(placed):
        end = (lower.base or 0) + lower.capacity
        if end > (upper.base or 0):
            message = f"memories overlap: '{lower.name}' ends at {end:#x}, '{upper.name}' begins at {upper.base:#x}"
            raise InputError(message)
    return tuple(found)


def _allowed(record: UsageRecord, memories: Sequence[Memory]) -> tuple[str, ...]:
    if record.memory is None:
        return tuple(memory.name for memory in memories)
    return (record.memory,) if isinstance(record.memory, str) else record.memory


def _where(position: int, record: UsageRecord, names: Mapping[int, str]) -> str:
    return f"record {position}, {names.get(record.tensor, f'tensor {record.tensor}')}"


def _masks(rows: Sequence[UsageRecord], memories: Sequence[Memory], names: Mapping[int, str]) -> list[int]:
    """The memories of each record as bits. Raises: InputError for a name that no memory has; ArenaError for a record
    larger than each of its memories."""
    bits = {memory.name: 1 << number for number, memory in enumerate(memories)}
    masks = []
    for position, record in enumerate(rows):
        allowed = _allowed(record, memories)
        if record.offset is not None:
            message = (
                f"{_where(position, record, names)} is fixed at {record.offset}: records of several memories are not"
            )
            raise InputError(message)
        for name in allowed:
            if name not in bits:
                message = f"{_where(position, record, names)}: memory '{name}', there are {', '.join(bits)}"
                raise InputError(message)
        mask = sum({bits[name] for name in allowed})
        fits = [m for m in memories if bits[m.name] & mask and rounded(record.size, m.alignment) <= m.capacity]
        if not fits:
            rooms = ", ".join(f"'{name}' has {memories[bits[name].bit_length() - 1].capacity}" for name in allowed)
            message = f"{_where(position, record, names)}: {record.size} bytes needed, {rooms}"
            raise ArenaError(message)
        masks.append(mask)
    return masks


def _check_loads(rows: Sequence[UsageRecord], memories: Sequence[Memory], masks: Sequence[int]) -> None:
    """Raises: ArenaError if what must lie in a memory, or in all of them, is too much at some node."""
    for number, memory in enumerate(memories):
        bound = [row for row, mask in zip(rows, masks, strict=True) if mask == 1 << number]
        peak = max(sections(bound, memory.alignment), key=lambda section: section.breadth, default=None)
        if peak is not None and peak.breadth > memory.capacity:
            message = (
                f"memory '{memory.name}': what must lie there takes {peak.breadth} bytes at node {peak.first}, "
                f"its capacity is {memory.capacity}"
            )
            raise ArenaError(message)
    peak = max(sections(rows, 1), key=lambda section: section.breadth, default=None)
    together = sum(memory.capacity for memory in memories)
    if peak is not None and peak.breadth > together:
        message = f"{peak.breadth} bytes are live at node {peak.first}, the memories have {together} together"
        raise ArenaError(message)


def _placed(
    rows: Sequence[UsageRecord], memory: Memory, seconds: float | None, names: Mapping[int, str]
) -> tuple[MemoryPlan | None, bool]:
    """The plan of one memory, None if none was found within its capacity; and True if that is proved. The search ends
    after so many seconds of CPU time, 0 for no search."""
    made = plan(rows, "default", memory.alignment, names=names)
    if made.arena_bytes <= memory.capacity:
        return made, True
    if seconds == 0:
        return None, False
    try:
        made = plan(rows, "exact", memory.alignment, capacity=memory.capacity, max_seconds=seconds, names=names)
    except ArenaError:
        return None, True
    return (made, True) if made.arena_bytes <= memory.capacity else (None, False)


def _least_cost(
    rows: Sequence[UsageRecord], memories: Sequence[Memory], masks: Sequence[int], traffic: Sequence[int]
) -> int:
    """A bound that needs no search: at each node, what does not fit into the cheapest memory costs more, the cheapest
    excess first and the last record of it in part. Nodes count together if no record is live at two of them."""
    prices = [memory.cost or 0 for memory in memories]
    first = min(range(len(prices)), key=prices.__getitem__)
    memory = memories[first]
    sizes = [rounded(row.size, memory.alignment) for row in rows]
    base, more = 0, []  # what each record costs at least, and more outside the cheapest memory
    for mask, moved in zip(masks, traffic, strict=True):
        cheapest, *others = sorted(price for k, price in enumerate(prices) if mask >> k & 1)
        base += moved * cheapest
        more.append(moved * (others[0] - cheapest) if others and mask >> first & 1 else -1)
    ends = []
    for section in sections(rows, memory.alignment):
        inside = [i for i in section.live if more[i] >= 0]
        excess, extra = sum(sizes[i] for i in inside) - memory.capacity, 0.0
        for i in sorted(inside, key=lambda i: more[i] / max(1, sizes[i])) if excess > 0 else ():
            extra += more[i] * min(1.0, excess / max(1, sizes[i]))
            excess -= sizes[i]
            if excess <= 0:
                break
        if extra:
            ends.append((max(rows[i].last_node for i in inside), section.first, extra))
    nodes, sums = [-1], [0.0]  # the most by nodes up to here
    for end, node, extra in sorted(ends):
        sums.append(max(sums[-1], extra + sums[bisect_left(nodes, node) - 1]))
        nodes.append(end)
    return base + int(sums[-1] * (1 - 1e-9))


def plan_memories(
    records: Iterable[UsageRecord],
    memories: Iterable[Memory],
    traffic: Sequence[int] | None = None,
    *,
    most_states: int = MOST_STATES,
    max_seconds: float | None = 10.0,
    names: Mapping[int, str] | None = None,
) -> MemoriesPlan:
    """Assigns each record to a memory, at the least cost of bytes moved, and places it there.

    `traffic` has the bytes that a run moves to and from each record; if it is None, each is written and read once. At
    most `most_states` states are kept at each record; if there were more, the plan's `cut` is True. Searches for
    layouts end after `max_seconds` of CPU time, None for no limit. Raises: InputError for records or memories that are
    not valid; ArenaError if the records do not fit.
    """
    rows, _ = checked_records(records)
    rooms = checked_memories(memories)
    told = dict(names or {})
    moved = [2 * row.size for row in rows] if traffic is None else _checked_traffic(rows, traffic)
    most = whole("most_states", most_states, least=1, most=_MOST_STATES)
    seconds = None if max_seconds is None else checked_seconds(max_seconds)
    dearest = max(memory.cost or 0 for memory in rooms)
    if sum(moved) * max(1, dearest) > MAX_BYTES or sum(row.size for row in rows) > MAX_BYTES:
        message = f"the traffic adds up to {sum(moved)} bytes, at a cost of {dearest} that is above {MAX_BYTES}"
        raise ArenaError(message)
    masks = _masks(rows, rooms, told)
    _check_loads(rows, rooms, masks)
    problem = _Problem(rows, rooms, moved, max(1, min(most, _LINKS // max(1, len(rows)))), seconds, told)
    return problem.solved(masks)


def _checked_traffic(rows: Sequence[UsageRecord], traffic: Sequence[int]) -> list[int]:
    if len(traffic) != len(rows):
        message = f"traffic has {len(traffic)} numbers, must have one for each of {len(rows)} records"
        raise InputError(message)
    return [whole(f"traffic {i}", number, least=0, most=MAX_BYTES) for i, number in enumerate(traffic)]


class _Problem:
    """Records to be assigned and placed."""

    def __init__(
        self, rows: Sequence[UsageRecord], memories: tuple[Memory, ...], traffic: Sequence[int], most_states: int,
        seconds: float | None, names: dict[int, str],
    ) -> None:  # fmt: skip
        self.rows, self.memories, self.traffic = rows, memories, traffic
        self.most_states, self.seconds, self.names = most_states, seconds, names
        self.end = None if seconds is None else time.process_time() + seconds

    def left(self) -> float | None:
        """The seconds that a search for one layout may take; None without a limit."""
        if self.seconds is None or self.end is None:
            return None
        return max(0.0, min(self.end - time.process_time(), self.seconds / 4))

    def assigned(self, masks: Sequence[int], share: int = 0) -> Assignment | None:
        """The cheapest assignment that leaves so many 64ths of each capacity free."""
        rooms = [Room(m.capacity - m.capacity * share // 64, m.cost or 0, m.alignment) for m in self.memories]
        table = [
            (row.size, moved, row.first_node, row.last_node, mask)
            for row, moved, mask in zip(self.rows, self.traffic, masks, strict=True)
        ]
        return assign_memories(table, rooms, self.most_states)

    def inside(self, found: Assignment, number: int) -> list[int]:
        """The positions of the records in a memory."""
        return [position for position, room in enumerate(found.rooms) if room == number]

    def placed(self, found: Assignment) -> tuple[list[MemoryPlan], int, bool]:
        """The plans of all memories, the number of the first that has none (else -1), and True if that is proved."""
        plans: list[MemoryPlan] = []
        for number, memory in enumerate(self.memories):
            rows = [self.rows[position] for position in self.inside(found, number)]
            made, proved = _placed(rows, memory, self.left(), self.names)
            if made is None:
                return plans, number, proved
            plans.append(made)
        return plans, -1, True

    def solved(self, masks: list[int]) -> MemoriesPlan:
        """Tries assignments, the cheapest first. Where one cannot be placed, some record of that memory has to leave
        it: each of them in turn does, and those before it stay."""
        first = self.assigned(masks)
        if first is None:
            raise self.refusal()
        proved, cut = first.optimal, not first.optimal
        waiting = [(first.cost, 0, masks, first)]
        made, most = 1, max(_FEWEST, _BRANCHES // max(1, len(self.rows)))
        while waiting and made <= most and self.left() != 0:
            _, _, masks, found = heapq.heappop(waiting)
            plans, failed, known = self.placed(found)
            if failed < 0:
                least = found.cost if proved else self.bound(first)
                return self.plan_of(found, plans, least, cut)
            proved = proved and known
            for branch in self.branches(masks, found, failed):
                other = self.assigned(branch)
                made += 1
                if other is not None:
                    proved, cut = proved and other.optimal, cut or not other.optimal
                    heapq.heappush(waiting, (other.cost, made, branch, other))
                if made > most or self.left() == 0:
                    break
        return self.loosened(first, cut)

    def branches(self, masks: list[int], found: Assignment, number: int) -> Iterator[list[int]]:
        """The choices left without this assignment's records of one memory."""
        kept = list(masks)
        for position in self.inside(found, number):
            if self.rows[position].size and kept[position] != 1 << number:
                yield [*kept[:position], kept[position] & ~(1 << number), *kept[position + 1 :]]
                kept[position] = 1 << number

    def loosened(self, first: Assignment, cut: bool) -> MemoriesPlan:
        """Assigns to less and less of the capacities until all can be placed."""
        masks = _masks(self.rows, self.memories, self.names)
        for share in _SHARES:
            found = self.assigned(masks, share)
            if found is None:
                break
            plans, failed, _ = self.placed(found)
            if failed < 0:
                return self.plan_of(found, plans, self.bound(first), cut)
        raise self.refusal()

    def bound(self, first: Assignment) -> int:
        """A cost that no plan is below."""
        masks = _masks(self.rows, self.memories, self.names)
        return first.cost if first.optimal else _least_cost(self.rows, self.memories, masks, self.traffic)

    def refusal(self) -> ArenaError:
        rooms = ", ".join(f"'{memory.name}' has {memory.capacity}" for memory in self.memories)
        needed = max((section.breadth for section in sections(self.rows, 1)), default=0)
        return ArenaError(
            f"no way was found to place {len(self.rows)} records, of which {needed} bytes are live at once: {rooms}"
        )

    def plan_of(self, found: Assignment, plans: Sequence[MemoryPlan], least: int, cut: bool) -> MemoriesPlan:
        offsets = [0] * len(self.rows)
        for number, made in enumerate(plans):
            for position, offset in zip(self.inside(found, number), made.offsets, strict=True):
                offsets[position] = offset
        return MemoriesPlan(
            self.memories, tuple(self.rows), found.rooms, tuple(offsets), tuple(plans), tuple(self.traffic), found.cost,
            least, cut, found.states, self.names,
        )  # fmt: skip
