"""A plan as text: the table of live bytes, TFLM's memory map, and the difference between two plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minilite.errors import visible
from minilite.memory.lower_bound import Section, sections
from minilite.memory.records import FOREVER, UsageRecord

if TYPE_CHECKING:
    from minilite.memory.plan import MemoryPlan

_BAR = 40
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_EVERY_NODE = 1000
"""Up to this many nodes, the memory map has a line per node; else only for nodes at which something changes."""


def _span(section: Section) -> str:
    last = "end" if section.last >= FOREVER else str(section.last)
    return str(section.first) if section.first == section.last else f"{section.first}-{last}"


def table(plan: MemoryPlan) -> str:
    """Live bytes by node; nodes with the same live tensors are on one line; `*` marks the peak."""
    head = (
        f"{len(plan.records)} records, strategy {plan.strategy}: arena {plan.arena_bytes} bytes, "
        f"lower bound {plan.lower_bound}, {'optimal' if plan.proved_optimal else _gap(plan)}\n"
        f"one place each would take {plan.naive_bytes}: reuse factor {plan.reuse_factor:.2f}"
    )
    found = sections(plan.records, plan.alignment)
    peak = max((section.breadth for section in found), default=0)
    lines = [f"{'node':>13} {'live':>6} {'bytes':>12}"]
    for section in found:
        bar = "#" * round(_BAR * section.breadth / plan.arena_bytes) if plan.arena_bytes else ""
        mark = "*" if section.breadth == peak else ""
        filled = sum(plan.records[i].size > 0 for i in section.live)
        lines.append(f"{_span(section):>13} {filled:>6} {section.breadth:>12} {mark:1} {bar}".rstrip())
    return "\n".join([head, *lines]) if found else head


def _gap(plan: MemoryPlan) -> str:
    above = plan.arena_bytes - plan.lower_bound
    return f"{above} above it ({100 * above / plan.lower_bound:.1f} %)" if plan.lower_bound else f"{above} above it"


def memory_map(plan: MemoryPlan, columns: int) -> str:
    """The plan in the format of TFLM's PrintMemoryPlan: one line per buffer, then one per node.

    A node's line shows the whole arena in `columns` characters: that of each live buffer, `.` = free, `!` = two at
    once.
    """
    lines = []
    for position, (record, offset) in enumerate(zip(plan.records, plan.offsets, strict=True)):
        letter = _letter(position, record)
        last = "end" if record.last_node >= FOREVER else record.last_node
        lines.append(
            f"{letter} (id={position}): size={record.size}, offset={offset}, "
            f"first_used={record.first_node} last_used={last}"
        )
    found = sections(plan.records, 1)
    ends = [section.last for section in found if section.last < FOREVER]
    each = bool(ends) and ends[-1] < _EVERY_NODE
    for section in found:
        row = _map_row(plan, section, columns)
        last = section.last if section.last < FOREVER else section.first
        nodes = range(section.first, last + 1) if each else [section.first]
        lines += [f"{node:4d}: {row} ({-(-section.breadth // 1024)}k)" for node in nodes]
    return "\n".join(lines)


def _letter(position: int, record: UsageRecord) -> str:
    return "*" if record.first_node == record.last_node else _LETTERS[position % len(_LETTERS)]


def _map_row(plan: MemoryPlan, section: Section, columns: int) -> str:
    row = ["."] * columns
    for position in section.live:
        record, offset = plan.records[position], plan.offsets[position]
        if record.size == 0:
            continue
        start = offset * columns // plan.arena_bytes
        stop = (offset + record.size) * columns // plan.arena_bytes
        for column in range(start, stop):
            row[column] = _letter(position, record) if row[column] == "." else "!"
    return "".join(row)


def diff(old: MemoryPlan, new: MemoryPlan) -> str:
    """The differences between two plans; records are matched by tensor number and order."""
    head = (
        f"arena {old.arena_bytes} -> {new.arena_bytes} bytes ({new.arena_bytes - old.arena_bytes:+d}), "
        f"lower bound {old.lower_bound} -> {new.lower_bound}, strategy {old.strategy} -> {new.strategy}"
    )
    lines = [head]
    before, after = _by_key(old), _by_key(new)
    for key in dict.fromkeys([*before, *after]):
        if key not in after:
            lines.append(f"- {_line(old, before[key])}")
        elif key not in before:
            lines.append(f"+ {_line(new, after[key])}")
        else:
            lines += _changed(old, before[key], new, after[key])
    return "\n".join(lines)


def _by_key(plan: MemoryPlan) -> dict[tuple[int, int], int]:
    """Positions of records by tensor number and the count of earlier records of that tensor."""
    seen: dict[int, int] = {}
    keys = {}
    for position, record in enumerate(plan.records):
        turn = seen.get(record.tensor, 0)
        seen[record.tensor] = turn + 1
        keys[record.tensor, turn] = position
    return keys


def _line(plan: MemoryPlan, position: int) -> str:
    record = plan.records[position]
    return (
        f"{visible(plan.label(position))}: {record.size} bytes at {plan.offsets[position]}, "
        f"nodes {record.first_node} to {record.last_node}"
    )


def _changed(old: MemoryPlan, i: int, new: MemoryPlan, j: int) -> list[str]:
    a, b = old.records[i], new.records[j]
    pairs = (
        ("size", a.size, b.size),
        ("offset", old.offsets[i], new.offsets[j]),
        ("first node", a.first_node, b.first_node),
        ("last node", a.last_node, b.last_node),
    )
    changes = [f"{what} {was} -> {now}" for what, was, now in pairs if was != now]
    return [f"~ {visible(new.label(j))}: {', '.join(changes)}"] if changes else []
