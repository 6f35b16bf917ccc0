"""A model in several memories of a board, as TensorFlow Lite Micro would run it: traffic, addresses, an offline plan.

Each tensor is written once and read by each node that takes it; the program writes graph inputs and reads graph outputs
once a run; scratch is written and read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minilite.errors import ArenaError, InputError, visible
from minilite.format.model import Model
from minilite.memory.memories import MOST_STATES, MemoriesPlan, Memory, checked_memories, plan_memories
from minilite.memory.plan import plan
from minilite.memory.records import UsageRecord
from minilite.memory.tflm import ALIGNMENT, Lifetimes, Scratch, scratch_records
from minilite.memory.tflm_arena import tflm_arena
from minilite.memory.tflm_kernels import Build, up

BOARD = Build(pointer=4)
PROGRAM = (-1, -1)
"""The program, among the nodes that move bytes."""
_FARTHEST = (1 << 31) - 1
_WORD = re.compile(r"\W+")


class Access(NamedTuple):
    """A node's use of a record: reading or writing all of it."""

    subgraph: int
    node: int
    record: int
    """The record's position."""
    bytes: int


class Buffer(NamedTuple):
    """A buffer that TFLM asks its planner for."""

    tensor: int
    """Its number through all subgraphs; scratch is numbered down from -1."""
    offset: int
    """From the arena's base, below 0 for what lies before it; 0 if no run uses it."""
    position: int
    """The position of its record in the plan; -1 if no run uses it."""


@dataclass(frozen=True)
class BoardPlan:
    """A model's records in several memories."""

    plan: MemoriesPlan
    accesses: tuple[Access, ...]
    home: str
    """The memory at whose end TFLM's persistent part lies."""
    arena_base: int | None
    """The address of TFLM's arena, from which offsets count; None without bases."""
    arena_bytes: int
    """The bytes of that arena: for an offline plan, from the lowest memory to the end of the highest, else what the
    persistent part and TFLM's working memory take."""
    persistent: int
    """The bytes of TFLM's persistent part."""
    buffers: tuple[Buffer, ...]
    """The buffers that TFLM asks its planner for, in that order: tensors, then scratch. Empty without bases."""
    unknown_scratch: tuple[str, ...]
    """Operators whose kernels may request scratch that is not known, and is left out."""

    def moved_by_node(self) -> dict[tuple[int, int], list[int]]:
        """The bytes that each node moves to and from each memory, by subgraph and node."""
        found: dict[tuple[int, int], list[int]] = {}
        for access in self.accesses:
            key = (access.subgraph, access.node)
            sums = found.setdefault(key, [0] * len(self.plan.memories))
            sums[self.plan.rooms[access.record]] += access.bytes
        return found


def board_records(
    model: Model, build: Build = BOARD, scratch_memory: str | None = None
) -> tuple[list[UsageRecord], list[Access]]:
    """The usage records of a model's tensors and scratch in TFLM, and which node moves what. Scratch of kernels that
    are not known is left out. Raises: InputError."""
    lifetimes = Lifetimes(model)
    scratch = _known(lifetimes, build)
    records = [record for record in lifetimes.records() if record.last_node]
    at = {record.tensor: position for position, record in enumerate(records)}
    accesses = []
    for subgraph, base in zip(model.subgraphs, lifetimes.base, strict=True):
        if subgraph.index == 0:
            ends = [base + number for number in (*subgraph.inputs, *subgraph.outputs)]
            accesses += [Access(*PROGRAM, at[tensor], records[at[tensor]].size) for tensor in ends if tensor in at]
        for node in subgraph.nodes:
            used = [base + number for number in (*dict.fromkeys(node.inputs), *node.outputs) if number >= 0]
            accesses += [
                Access(subgraph.index, node.index, at[tensor], records[at[tensor]].size)
                for tensor in used
                if tensor in at
            ]
    owners = [(each.subgraph, each.node) for each in scratch for _ in each.sizes or ()]
    for owner, record in zip(owners, scratch_records(scratch), strict=True):
        if record.last_node:
            accesses.append(Access(*owner, len(records), 2 * record.size))
            records.append(record._replace(memory=scratch_memory))
    return records, accesses


def _known(lifetimes: Lifetimes, build: Build) -> list[Scratch]:
    return [scratch for scratch in lifetimes.scratch(build) if scratch.sizes is not None]


def traffic_of(records: Sequence[UsageRecord], accesses: Iterable[Access]) -> list[int]:
    """The bytes that a run moves to and from each record."""
    moved = [0] * len(records)
    for access in accesses:
        moved[access.record] += access.bytes
    return moved


def _without(memory: Memory, taken: int) -> Memory:
    """The memory less what TFLM's persistent part takes at its end. Raises: ArenaError."""
    if taken >= memory.capacity:
        message = (
            f"memory '{memory.name}': TFLM's persistent part takes {taken} bytes, its capacity is {memory.capacity}"
        )
        raise ArenaError(message)
    return memory._replace(capacity=(memory.capacity - taken) // ALIGNMENT * ALIGNMENT)


def _with_memories(records: list[UsageRecord], must: Mapping[int, str]) -> list[UsageRecord]:
    """The records, some of which must lie in a memory. Raises: InputError for tensors without a record."""
    for tensor in must:
        if all(record.tensor != tensor for record in records):
            message = f"tensor {tensor} has no place to choose: it is constant, a variable, or no run uses it"
            raise InputError(message)
    return [r._replace(memory=must[r.tensor]) if r.tensor in must else r for r in records]


def board_plan(
    model: Model,
    memories: Iterable[Memory],
    *,
    build: Build = BOARD,
    offline: bool = False,
    must: Mapping[int, str] | None = None,
    most_states: int = MOST_STATES,
    max_seconds: float | None = 10.0,
) -> BoardPlan:
    """Plans a model into memories that all have a base, or none has. `must` names the memory of some tensors.

    TFLM's persistent part lies at the end of the last memory. With `offline`, the plan can be followed from the model's
    file: there is one arena from the lowest memory to the end of the highest one, where the persistent part lies, and
    scratch goes into the lowest one, where TFLM's planner puts it by itself; it is checked that it does. Raises:
    InputError, ArenaError.
    """
    rooms = checked_memories(memories)
    lacking = [memory.name for memory in rooms if memory.base is None]
    if lacking and (offline or len(lacking) < len(rooms)):
        message = f"memory '{lacking[0]}' has no base: give one to all or to none; an offline plan needs them"
        raise InputError(message)
    lowest, highest = (f(rooms, key=lambda memory: memory.base or 0) for f in (min, max))
    home = highest if offline else rooms[-1]
    arena = tflm_arena(model, build)
    taken = up(arena.persistent if offline else max(arena.persistent, arena.planning), ALIGNMENT)
    records, accesses = board_records(model, build, lowest.name if offline else None)
    records = _with_memories(records, must or {})
    names = dict(enumerate(tensor.name for subgraph in model.subgraphs for tensor in subgraph.tensors))
    made = plan_memories(
        records, [_without(m, taken) if m is home else m for m in rooms], traffic_of(records, accesses),
        most_states=most_states, max_seconds=max_seconds, names=names,
    )  # fmt: skip
    base, size = (home.base or 0) + made.memories[rooms.index(home)].capacity, taken
    if offline:
        base, size = lowest.base or 0, (highest.base or 0) + highest.capacity - (lowest.base or 0)
    lifetimes = Lifetimes(model)
    every = [*lifetimes.records(), *scratch_records(_known(lifetimes, build))]
    at = {record.tensor: position for position, record in enumerate(records)}
    places = [(r.tensor, at.get(r.tensor, -1)) for r in every if not lacking]
    buffers = tuple(Buffer(tensor, made.address(i) - base if i >= 0 else 0, i) for tensor, i in places)
    found = BoardPlan(
        made, tuple(accesses), home.name, None if lacking else base, size, arena.persistent, buffers,
        arena.unknown_scratch,
    )  # fmt: skip
    if offline:
        _check_offline(model, found, every)
    return found


def offline_offsets_of(model: Model, found: BoardPlan) -> dict[int, int]:
    """The offsets for a plan in the file: those of tensors of the main subgraph that no other subgraph's entries
    mean."""
    main = len(model.subgraphs[0].tensors)
    shared = max((len(subgraph.tensors) for subgraph in model.subgraphs[1:]), default=0)
    return {buffer.tensor: buffer.offset for buffer in found.buffers if shared <= buffer.tensor < main}


def _check_offline(model: Model, found: BoardPlan, every: Sequence[UsageRecord]) -> None:
    """Simulates TFLM's planner around the fixed tensors. Raises: ArenaError for what it cannot follow."""
    fixed = offline_offsets_of(model, found)
    far = max((buffer.offset for buffer in found.buffers), default=0)
    if far > _FARTHEST:
        message = (
            f"an offline plan has offsets of 32 bits: the memories lie {far} bytes apart, {_FARTHEST} are possible"
        )
        raise ArenaError(message)
    held = [record._replace(offset=fixed.get(record.tensor)) for record in every]
    made = plan([record for record in held if record.last_node or record.offset is None], "tflm", ALIGNMENT)
    for record, offset in zip(made.records, made.offsets, strict=True):
        address, memories = (found.arena_base or 0) + offset, found.plan.memories
        if not any((m.base or 0) <= address <= (m.base or 0) + m.capacity - record.size for m in memories):
            what = found.plan.names.get(record.tensor, "scratch")
            message = (
                f"TFLM would place {what}, {record.size} bytes, at {address:#x}, outside the memories: make the lowest "
                f"one larger, or use the header in place of a plan in the file"
            )
            raise ArenaError(message)


def header(found: BoardPlan, name: str) -> str:
    """A C header with the offset of each buffer from the arena's base, in the order in which TFLM asks for them, as its
    BufferPlan wants them."""
    word = _WORD.sub("_", name).strip("_") or "model"
    word = f"model_{word}" if word[0].isdigit() else word
    made = found.plan
    lines = ["/* Where each tensor lies, by minilite plan --memory. */", "#pragma once", "#include <stdint.h>", ""]
    for memory, each in zip(made.memories, made.plans, strict=True):
        start = f"#define {word.upper()}_{_WORD.sub('_', memory.name).upper()}"
        lines += [f"{start}_BASE {memory.base or 0:#x}u", f"{start}_BYTES {each.arena_bytes}u"]
    lines += [
        f"/* TFLM's arena, in '{found.home}'; the offsets of buffers count from it. */",
        f"#define {word.upper()}_ARENA_BASE {found.arena_base or 0:#x}u",
        f"#define {word.upper()}_ARENA_BYTES {found.arena_bytes}u",
        f"#define {word.upper()}_BUFFERS {len(found.buffers)}",
        f"static const int32_t {word.lower()}_offsets[{max(1, len(found.buffers))}] = {{",
    ]
    for number, (tensor, offset, position) in enumerate(found.buffers):
        text = visible(made.names.get(tensor, "scratch")).replace("*/", "* /")
        where = made.memories[made.rooms[position]].name if position >= 0 else "no run uses it"
        lines.append(f"    {offset}, /* {number}: {text}; {where} */")
    return "\n".join([*lines, "};", ""])
