"""Usage records, of which a planning problem consists."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from minilite._native.memory import MAX_BYTES
from minilite.errors import InputError, InputTypeError, shown
from minilite.numeric import whole

FOREVER = (1 << 31) - 1
"""The last node of a record that is never freed."""
FARTHEST = MAX_BYTES
"""The last byte that a record may reach."""
MAX_ALIGNMENT = 4096
_SIZE_BITS = 1 << 10
"""Sizes may be far too large for memory, because ArenaError says how many bytes they add up to; Python writes integers
of so many bits."""


class UsageRecord(NamedTuple):
    """A tensor's claim on memory: `size` bytes from `first_node` to `last_node`, both inclusive.

    A record with an `offset` is fixed: it stays there, and others are placed around it. `memory` names the memory that
    the record must lie in, or a tuple of those that it may lie in; only `plan_memories` looks at it.
    """

    tensor: int
    size: int
    first_node: int
    last_node: int
    offset: int | None = None
    memory: str | tuple[str, ...] | None = None


def checked_records(records: Iterable[UsageRecord], alignment: int = 1) -> tuple[list[UsageRecord], int]:
    """Records and alignment in Python's own integers; those of numpy would overflow. Raises: InputError for numbers
    that C or a bound could not count with."""
    step = whole("alignment", alignment, least=1, most=FARTHEST)
    rows = [*records]
    if not _plainly_valid(rows):
        rows = [_checked(position, record) for position, record in enumerate(rows)]
    return rows, step


def _checked(position: int, record: UsageRecord) -> UsageRecord:
    names = UsageRecord._fields
    if not isinstance(record, tuple) or len(record) != len(names):
        message = f"record {position} is {shown(record)}, must be a UsageRecord: {', '.join(names)}"
        raise InputTypeError(message)
    where = f"record {position}"
    tensor, size, first, last, offset, memory = record
    checked = UsageRecord(
        whole(f"{where}: tensor", tensor),
        whole(f"{where}: size", size, _SIZE_BITS),
        whole(f"{where}: first_node", first),
        whole(f"{where}: last_node", last),
        None if offset is None else whole(f"{where}: offset", offset),
        _checked_memory(where, memory),
    )
    if fault := record_fault(checked):
        message = f"record {position}, tensor {checked.tensor}: {fault}"
        raise InputError(message)
    return checked


def _checked_memory(where: str, memory: Any) -> str | tuple[str, ...] | None:
    names = (memory,) if isinstance(memory, str) else memory
    if memory is not None and not (isinstance(names, tuple) and names and all(isinstance(n, str) for n in names)):
        message = f"{where}: memory is {shown(memory)}, must be a name, a tuple of names, or None"
        raise InputTypeError(message)
    return memory  # type: ignore[no-any-return]


def _plainly_valid(records: Sequence[UsageRecord]) -> bool:
    """True if no record is fixed or names a memory, all have plain integers, and none has a fault: a check by columns,
    which costs a fraction of a look at each record. If False, they may still be valid."""
    if not {*map(type, records)} <= {UsageRecord}:
        return False
    if not records:
        return True
    tensors, sizes, firsts, lasts, offsets, memories = zip(*records, strict=True)
    return (
        {*map(type, chain(tensors, sizes, firsts, lasts))} == {int}
        and {*map(type, chain(offsets, memories))} == {type(None)}
        and min(tensors) >= -FOREVER and max(tensors) <= FOREVER
        and min(sizes) >= 0 and max(sizes).bit_length() < _SIZE_BITS
        and min(firsts) >= 0 and max(lasts) <= FOREVER and all(map(operator.le, firsts, lasts))
    )  # fmt: skip


def record_fault(record: UsageRecord, alignment: int = 1) -> str | None:
    """The fault of a record; None if it has none."""
    if not -FOREVER <= record.tensor <= FOREVER:
        return f"number {record.tensor} does not fit 32 bits"
    if record.size < 0:
        return f"{record.size} bytes, must be 0 or more"
    if record.first_node < 0:
        return f"first node {record.first_node}, must be 0 or more"
    if record.last_node < record.first_node:
        return f"last node {record.last_node} lies before first node {record.first_node}"
    if record.last_node > FOREVER:
        return f"last node {record.last_node}, must be {FOREVER} (never freed) or less"
    if record.offset is not None and record.offset + record.size > FARTHEST:
        return f"fixed offset {record.offset}: it ends at {record.offset + record.size}, beyond {FARTHEST}"
    if record.offset is not None and (record.offset < 0 or record.offset % alignment):
        return f"fixed offset {record.offset}, must be 0 or more and a multiple of the alignment, {alignment}"
    return None
