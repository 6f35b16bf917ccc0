"""BoundedTable: a table of a flatbuffer that is read from Python, within its bounds, and only so much in all."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeVar

from flatbuffers import number_types, table  # type: ignore[import-untyped]

_MOST = 1 << 24
"""The largest number of bytes that is read from a buffer in all. Its size is no limit, because references may share
targets."""
_TABLE = 256
"""The number of bytes that a table counts as."""
BROKEN = (struct.error, IndexError, TypeError, ValueError, OverflowError)
"""The errors that reading a broken buffer raises."""
T = TypeVar("T")


class BoundedTable:
    """A table in a buffer; reading beyond the buffer raises one of BROKEN."""

    __slots__ = ("_left", "_table")

    def __init__(self, data: bytes, at: int, left: list[int]) -> None:
        self._table = table.Table(data, at)
        self._left = left
        self._spend(_TABLE)
        start = at - self._table.Get(number_types.SOffsetTFlags, at)
        if not 0 <= start < len(data):
            message = f"the table at byte {at} has its fields at byte {start} of {len(data)}"
            raise IndexError(message)

    @staticmethod
    def root(data: bytes) -> BoundedTable:
        return BoundedTable(data, table.Table(data, 0).Indirect(0), [_MOST])

    def _spend(self, size: int) -> None:
        self._left[0] -= size
        if self._left[0] < 0:
            message = f"it leads to more than {_MOST} bytes"
            raise ValueError(message)

    def _at(self, slot: int) -> int:
        """The position of a slot's value; 0 if it has none."""
        offset = self._table.Offset(4 + 2 * slot)
        return int(self._table.Pos + offset) if offset else 0

    def number(self, slot: int, flags: Any) -> int:
        return int(self.value(slot, flags))

    def value(self, slot: int, flags: Any) -> Any:
        """A number or a truth value, of the type `flags` (of `flatbuffers.number_types`)."""
        at = self._at(slot)
        return self._table.Get(flags, at) if at else flags.py_type(0)

    def text(self, slot: int) -> str:
        at = self._at(slot)
        found = self._table.String(at) if at else b""
        self._spend(len(found))
        return str(found, "utf-8", "replace")

    def table(self, slot: int) -> BoundedTable | None:
        at = self._at(slot)
        return BoundedTable(self._table.Bytes, self._table.Indirect(at), self._left) if at else None

    def _vector(self, slot: int) -> tuple[int, int]:
        """The position and the length of a vector of 4-byte elements."""
        if not self._at(slot):
            return 0, 0
        offset = self._table.Offset(4 + 2 * slot)
        return int(self._table.Vector(offset)), int(self._table.VectorLen(offset))

    def tables(self, slot: int, read: Callable[[BoundedTable], T]) -> tuple[T, ...]:
        start, count = self._vector(slot)
        places = (self._table.Indirect(start + 4 * i) for i in range(count))
        return tuple(read(BoundedTable(self._table.Bytes, place, self._left)) for place in places)

    def floats(self, slot: int) -> tuple[float, ...]:
        start, count = self._vector(slot)
        self._spend(4 * count)
        return struct.unpack_from(f"<{count}f", self._table.Bytes, start)
