"""Tables: reads tables of a file by field name: options of nodes, and everything that rows do not have."""

from __future__ import annotations

import struct
import sys
from array import array
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite import errors
from minilite.format import _schema
from minilite.format._spec import WIDTHS, Field, operator_names, options_table, table_spec

if TYPE_CHECKING:
    from collections.abc import Callable

    from minilite._native.file import File

UNFOLDED_PER_BYTE = 4
UNFOLDED_ANYWAY = 1 << 16
"""A whole file may unfold to at least this many bytes; the C reader has the same limit."""

_LONG = frozenset({"Int32Vector", "Uint16Vector", "Uint8Vector"})
"""Tables whose numbers are as many as a sparse tensor's values."""
_VALUES = {"?": "?7x8x", "f": "d8x", "d": "d8x", "Q": "Q8x"}
"""The `struct` format of a slot's 16 bytes, by the code of its scalar; all other scalars are stored as int64."""


if TYPE_CHECKING:
    _Integers = array[int]  # which has no subscript when it runs
else:
    _Integers = array


class Numbers(_Integers):
    """Many numbers, which equal a tuple of the same ones. One takes longer to make, and numpy longer to read."""

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, tuple | array) else NotImplemented


class _Form(NamedTuple):
    """Readers of the values of a table's slots."""

    number: int
    slots: int
    unpack: Callable[[bytes], tuple[Any, ...]]
    names: tuple[str, ...]
    """Names of the values from `unpack`, in its order; fields in `behind` have two, position and count."""
    enums: tuple[Field, ...]
    behind: tuple[Field, ...]


@cache
def _form(name: str) -> _Form:
    spec = table_spec(name)
    layout, names = ["<"], []
    for field in spec.fields:
        if not field.name:
            layout.append("16x")
        elif field.form in ("scalar", "enum"):
            layout.append(_VALUES.get(field.code, "q8x"))
            names.append(field.name)
        else:
            layout.append("qq")
            names += [field.name, field.name + "#"]
    number = tuple(_schema.TABLES).index(name)
    return _Form(number, len(spec.fields), struct.Struct("".join(layout)).unpack, tuple(names), spec.enums, spec.behind)


class Tables:
    """The tables of a file; with `bounded`, files whose shared parts unfold too far are refused, as by the C reader."""

    def __init__(self, file: File, *, bounded: bool = False) -> None:
        self.file = file
        self._bounded = bounded
        self._unfolded = 0

    def root(self) -> int:
        """The position of the root table."""
        return int.from_bytes(self.file.span(0, 4), "little")

    def table(self, name: str, at: int) -> dict[str, Any]:
        """A whole table by field name, tables within tables included: numbers, enum names, str, bytes, tuples, dicts;
        Numbers for the indices of sparse tensors.

        Fields with an absent offset are None. A union's type field has the name of its table.
        Raises: ModelFormatError.
        """
        form = _form(name)
        return self.fields(name, self.file.read_table(form.number, form.slots, at))

    def fields(self, name: str, values: bytes) -> dict[str, Any]:
        """The same, for a table whose values have been read."""
        form = _form(name)
        raw = dict(zip(form.names, form.unpack(values), strict=True))
        for field in form.enums:
            raw[field.name] = field.names[raw[field.name]]
        for field in form.behind:
            at, count = raw[field.name], raw.pop(field.name + "#")
            if field.form == "union":
                kind = raw[field.name + "_type"] = field.names[raw[field.name + "_type"]]
                raw[field.name] = self.table(kind, at) if at else None
            else:
                raw[field.name] = self._behind(name, field, at, count) if at else None
        return raw

    def options(self, name: str, values: bytes) -> dict[str, Any]:
        """Like `fields`, for the options of a node; absent vectors and strings are empty."""
        found = self.fields(name, values)
        for field in _form(name).behind:
            if found[field.name] is None:
                found[field.name] = field.empty
        return found

    def _behind(self, name: str, field: Field, at: int, count: int) -> Any:
        """The value at position `at`, of `count` elements."""
        form = field.form
        if form == "table":
            return self.table(field.table, at)
        if form == "tables":
            self._unfold(16 * count, f"{name}.{field.name}")
            offsets = struct.unpack(f"<{count}I", self.file.span(at, 4 * count))
            return tuple(self.table(field.table, at + 4 * i + offset) for i, offset in enumerate(offsets))
        width = WIDTHS.get(field.code, 1) if form in ("scalars", "enums") else 1
        self._unfold(count * width, f"{name}.{field.name}")
        data = self.file.span(at, count * width)
        if form == "string":
            return data.decode("utf-8", "replace")
        if form == "bytes":
            return data
        if name in _LONG:
            numbers = Numbers(field.code, data)
            if sys.byteorder == "big":
                numbers.byteswap()
            return numbers
        elements = struct.unpack(f"<{count}{field.code}", data)
        return tuple(field.names[code] for code in elements) if form == "enums" else elements

    def _unfold(self, size: int, where: str) -> None:
        self._unfolded += size
        total = len(self.file.data)
        if self._bounded and self._unfolded > UNFOLDED_PER_BYTE * total + UNFOLDED_ANYWAY:
            message = f"{where}: the file's {total} bytes are shared so often that they expand to {self._unfolded}"
            raise errors.ModelFormatError(message)


def operator_name(code: int) -> str:
    """The name of a builtin operator; BUILTIN_999 for code 999, if it is newer than the schema."""
    names = operator_names()
    return names[code] if code < len(names) else f"BUILTIN_{code}"


__all__ = ["Tables", "operator_name", "options_table"]
