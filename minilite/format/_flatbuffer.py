"""Tables in flatbuffer bytes: every offset, length and code is checked before it is used.

Nothing here trusts the bytes. A read past the end is caught by `struct`, which refuses it; what `struct` would accept
(a vtable before the start, overlapping fields, a file whose parts are shared so often that it unfolds without end) is
checked here. Errors name the table, the field, and the byte.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, NoReturn

from minilite.errors import ModelFormatError
from minilite.format._spec import WIDTHS, Field, TableSpec, table_spec

Values = tuple[Any, ...]
"""The raw values of a table by slot: numbers as numbers, offsets relative to their own place, 0 when absent."""
Places = tuple[int, ...]
"""Where each slot of a table lies, in bytes from the table's start; 0 when absent."""
TableReader = Callable[[int], tuple[Values, Places]]

_SOFFSET = struct.Struct("<i").unpack_from
_UOFFSET = struct.Struct("<I").unpack_from
_VTABLE = struct.Struct("<HH").unpack_from

UNFOLDED_PER_BYTE = 4
UNFOLDED_ANYWAY = 1 << 16
"""A file may unfold to this many bytes (`UNFOLDED_PER_BYTE` per byte of the file, and some): parts may be shared, but
not without bound."""


class _Layout(NamedTuple):
    """How the tables of one vtable are read in one go."""

    unpack: Callable[[memoryview, int], Values]
    pick: Callable[[Values], Values]
    tail: Values
    places: Places


class _LayoutError(Exception):
    """A vtable contradicts itself."""


@lru_cache(maxsize=1024)
def _layout(name: str, table_size: int, places: Places) -> _Layout:
    """Compile the reader of tables `name` that keep their slots at `places`; absent slots read as their defaults."""
    spec = table_spec(name)
    present = sorted((place, slot) for slot, place in enumerate(places) if place)
    pattern, end = ["<"], 0
    order = [len(present) + slot for slot in range(len(spec.fields))]
    for position, (place, slot) in enumerate(present):
        code = spec.inline[slot]
        if place < max(end, 4) or place + WIDTHS[code] > table_size:
            field = spec.names[slot] or f"slot {slot}"
            message = f"{name}.{field}: its place {place} overlaps another field or the table's {table_size} bytes"
            raise _LayoutError(message)
        pattern.append(f"{place - end}x{code}")
        end = place + WIDTHS[code]
        order[slot] = position
    # two more, so that itemgetter answers with a tuple however few the slots are
    last = len(present) + len(spec.fields)
    pick = itemgetter(*order, last, last)
    return _Layout(struct.Struct("".join(pattern)).unpack_from, pick, (*spec.defaults, 0), places)


@lru_cache(maxsize=512)
def _elements(code: str, count: int) -> Callable[[memoryview, int], Values]:
    return struct.Struct(f"<{count}{code}").unpack_from


class FlatBuffer:
    """The bytes of a flatbuffer, and the ways to read them. Positions are bytes from the start."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.size = len(data)
        self._unfolded = 0
        self._readers: dict[str, TableReader] = {}

    def fail(self, message: str) -> NoReturn:
        """Refuse the bytes."""
        raise ModelFormatError(message)

    def close(self) -> None:
        """Let go of the functions that read tables, which hold on to this object."""
        self._readers.clear()

    def root(self) -> int:
        """The position of the root table."""
        return int(_UOFFSET(self.data, 0)[0])

    def unfold(self, size: int, where: str) -> None:
        """Count `size` bytes as unfolded, and refuse a file that unfolds to far more than its own size."""
        self._unfolded += size
        if self._unfolded > UNFOLDED_PER_BYTE * self.size + UNFOLDED_ANYWAY:
            self.fail(f"{where}: the file's {self.size} bytes are shared so often that they unfold to {self._unfolded}")

    def reader(self, name: str) -> TableReader:
        """The function that reads tables `name`: position -> values and places by slot."""
        reader = self._readers.get(name)
        if reader is None:
            reader = self._readers[name] = self._new_reader(table_spec(name))
        return reader

    def _new_reader(self, spec: TableSpec) -> TableReader:
        data, layouts = self.data, dict[int, _Layout]()

        def read(position: int) -> tuple[Values, Places]:
            try:
                vtable = position - _SOFFSET(data, position)[0]
                layout = layouts.get(vtable)
                if layout is None:
                    layout = layouts[vtable] = self._layout_at(spec, vtable)
                unpack, pick, tail, places = layout
                return pick(unpack(data, position) + tail), places
            except struct.error:
                self.fail(f"{spec.name} at byte {position}: ends beyond the file's {self.size} bytes")

        return read

    def _layout_at(self, spec: TableSpec, vtable: int) -> _Layout:
        """Read a vtable; slots that it adds to ours belong to a newer schema and are passed over."""
        if vtable < 0 or vtable + 4 > self.size:
            self.fail(f"{spec.name}: vtable at byte {vtable} lies outside the file's {self.size} bytes")
        vtable_size, table_size = _VTABLE(self.data, vtable)
        if vtable_size < 4 or vtable_size % 2 or vtable + vtable_size > self.size or table_size < 4:
            self.fail(
                f"{spec.name}: vtable at byte {vtable} has sizes {vtable_size} and {table_size}: "
                f"at least 4 each, even, within the file's {self.size} bytes"
            )
        slots = min((vtable_size - 4) // 2, len(spec.fields))
        places = _elements("H", slots)(self.data, vtable + 4) + (0,) * (len(spec.fields) - slots)
        try:
            return _layout(spec.name, table_size, places)
        except _LayoutError as error:
            self.fail(str(error))

    def _vector(self, place: int, offset: int, width: int, where: str) -> tuple[int, int]:
        """The position of a vector's first element, and how many there are; the vector is within the file."""
        start = place + offset
        try:
            count = int(_UOFFSET(self.data, start)[0])
        except struct.error:
            self.fail(f"{where} at byte {start}: lies beyond the file's {self.size} bytes")
        if start + 4 + count * width > self.size:
            self.fail(
                f"{where} at byte {start}: {count} elements of {width} bytes, beyond the file's {self.size} bytes"
            )
        return start + 4, count

    def scalars(self, place: int, offset: int, code: str, where: str) -> Values:
        """A vector of numbers; `offset` is what stands at `place`."""
        start, count = self._vector(place, offset, WIDTHS[code], where)
        if count > 32:
            self.unfold(count * WIDTHS[code], where)
        return _elements(code, count)(self.data, start)

    def span(self, place: int, offset: int, where: str) -> tuple[int, int]:
        """Position and size of a vector of bytes."""
        return self._vector(place, offset, 1, where)

    def outside(self, start: int, size: int, where: str) -> tuple[int, int]:
        """Position and size of bytes that lie outside the flatbuffer, in the same file."""
        if start + size > self.size:
            self.fail(f"{where}: {size} bytes at byte {start}, beyond the file's {self.size} bytes")
        return start, size

    def text(self, place: int, offset: int, where: str) -> str:
        """A string; bytes that are not UTF-8 read as replacement characters."""
        start, count = self._vector(place, offset, 1, where)
        if count > 64:
            self.unfold(count, where)
        return str(self.data[start : start + count], "utf-8", "replace")

    def tables(self, place: int, offset: int, where: str) -> list[int]:
        """The positions of the tables of a vector of tables."""
        start, count = self._vector(place, offset, 4, where)
        self.unfold(16 * count, where)
        offsets = _elements("I", count)(self.data, start)
        return [at + offset for at, offset in zip(range(start, start + 4 * count, 4), offsets, strict=True)]

    def decode(self, name: str, position: int) -> dict[str, Any]:
        """A whole table by field name, tables within tables included: numbers, enum names, str, bytes, tuples, dicts.

        What lies behind an absent offset is None. A union's type field holds the name of its table.
        """
        spec = table_spec(name)
        values, places = self.reader(name)(position)
        result = dict(zip(spec.names, values, strict=False))
        result.pop("", None)
        for field in spec.enums:
            result[field.name] = self._name(field, values[field.slot], spec)
        for field in spec.behind:
            if field.form == "union":
                result[field.name + "_type"] = self._name(field, values[field.slot - 1], spec)
            value = values[field.slot]
            result[field.name] = self._behind(spec, field, values, position + places[field.slot]) if value else None
        return result

    def options(self, name: str, position: int) -> dict[str, Any]:
        """As `decode`, for an options table: what is absent reads as empty."""
        result = self.decode(name, position)
        for field in table_spec(name).behind:
            if result[field.name] is None:
                result[field.name] = field.empty
        return result

    def _behind(self, spec: TableSpec, field: Field, values: Values, place: int) -> Any:
        """What lies behind the offset of `field`, which stands at `place`."""
        value, form = values[field.slot], field.form
        where = f"{spec.name}.{field.name}"
        if form == "scalars":
            return self.scalars(place, value, field.code, where)
        if form == "enums":
            return tuple(self._name(field, code, spec) for code in self.scalars(place, value, field.code, where))
        if form == "string":
            return self.text(place, value, where)
        if form == "bytes":
            start, count = self.span(place, value, where)
            self.unfold(count, where)
            return bytes(self.data[start : start + count])
        if form == "table":
            return self.decode(field.table, place + value)
        if form == "union":
            member = field.names[values[field.slot - 1]]
            return self.decode(member, place + value) if member != "NONE" else None
        return tuple(self.decode(field.table, at) for at in self.tables(place, value, where))

    def _name(self, field: Field, code: int, spec: TableSpec) -> str:
        """The name of a value of an enum or a union."""
        if not 0 <= code < len(field.names):
            names = ", ".join(field.names[:8]) + (", ..." if len(field.names) > 8 else "")
            self.fail(f"{spec.name}.{field.name}: {code} is none of the {len(field.names)} values {names}")
        return field.names[code]
