"""Writes nested dicts, a table each, as the bytes of a file."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import flatbuffers  # type: ignore[import-untyped]
import numpy as np
from flatbuffers import number_types

from minilite.errors import InputError, InputTypeError, shown
from minilite.format import _schema
from minilite.format._spec import WIDTHS, Field, TableSpec, table_spec
from minilite.numeric import real, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

Tree = dict[str, Any]
"""A table by field name; fields that are missing or None are left out."""

ALIGNMENT = 16
"""Constants begin at multiples of this many bytes, in the flatbuffer and after it."""

_FLAGS = {
    "?": number_types.BoolFlags, "b": number_types.Int8Flags, "B": number_types.Uint8Flags,
    "h": number_types.Int16Flags, "H": number_types.Uint16Flags, "i": number_types.Int32Flags,
    "I": number_types.Uint32Flags, "q": number_types.Int64Flags, "Q": number_types.Uint64Flags,
    "f": number_types.Float32Flags, "d": number_types.Float64Flags,
}  # fmt: skip


def write_tree(model: Tree, external: bool = False) -> bytes:
    """The file of a decoded Model; with `external`, constants and custom options follow the flatbuffer."""
    if not external:
        return _pack(model)
    model, parts = _move_outside(model)
    positions = _place(parts, len(_pack(model)))
    for part, position in zip(parts, positions, strict=True):
        part.point_at(position)
    data = bytearray(_pack(model))
    for part, position in zip(parts, positions, strict=True):
        data.extend(bytes(position - len(data)))
        data.extend(part.payload)
    return bytes(data)


class _Outside:
    """Collects bytes that are stored after the flatbuffer, and enters their positions in its tables."""

    def __init__(self, table: Tree, fields: tuple[str, str], payload: bytes) -> None:
        self.table, self.fields, self.payload = table, fields, payload
        self.point_at(2)

    def point_at(self, position: int) -> None:
        offset, size = self.fields
        self.table[offset], self.table[size] = position, len(self.payload)


def _move_outside(model: Tree) -> tuple[Tree, list[_Outside]]:
    parts: list[_Outside] = []

    def moved(table: Tree, field: str, places: tuple[str, str]) -> Tree:
        if not table.get(field):
            return table
        copy = {**table, field: None}
        parts.append(_Outside(copy, places, table[field]))
        return copy

    buffers = [moved(each, "data", ("offset", "size")) for each in model["buffers"] or ()]
    large = "large_custom_options_offset", "large_custom_options_size"
    graphs = [
        {**graph, "operators": [moved(node, "custom_options", large) for node in graph["operators"] or ()]}
        for graph in model["subgraphs"] or ()
    ]
    return {**model, "buffers": buffers, "subgraphs": graphs}, parts


def _place(parts: list[_Outside], end: int) -> list[int]:
    positions = []
    for part in parts:
        end += -end % ALIGNMENT
        positions.append(end)
        end += len(part.payload)
    return positions


def _pack(model: Tree) -> bytes:
    size = sum(len(each.get("data") or b"") + ALIGNMENT for each in model.get("buffers") or ())
    builder = flatbuffers.Builder(size + 4096)
    root = _table(builder, _schema.ROOT, model)
    builder.Finish(root, _schema.IDENTIFIER)
    return bytes(builder.Output())


def checked_fields(name: str, values: Mapping[str, Any], where: str) -> Tree:
    """The values of table `name` with numbers of Python's own types; refuses fields and enum values that the table does
    not have, and numbers that do not fit it. Raises: InputError."""
    fields = _fields(name)
    unknown = sorted(set(values) - set(fields))
    if unknown:
        message = f"{where}: {name} has no {', '.join(map(repr, unknown))}; it has {', '.join(fields) or 'no fields'}"
        raise InputError(message)
    return {key: value if value is None else _checked(fields[key], value, where) for key, value in values.items()}


@cache
def _fields(name: str) -> dict[str, Field]:
    return {field.name: field for field in table_spec(name).fields if field.name}


def _checked(field: Field, value: Any, where: str) -> Any:
    """A value that its field can hold: numbers and enums; tables and strings are as they were given."""
    one = {"scalar": _scalar, "scalars": _scalar, "enum": _code, "enums": _code}.get(field.form)
    if one is None:
        return bytes_of(f"{where}: {field.name}", value) if field.form == "bytes" else value
    many = field.form.endswith("s")
    if many and (isinstance(value, str) or not isinstance(value, Iterable)):
        message = f"{where}: {field.name} is {shown(value)}, must be a sequence"
        raise InputTypeError(message)
    if one is _scalar:
        return tuple(map(partial(_scalar, field, where=where), value)) if many else _scalar(field, value, where)
    for each in value if many else (value,):
        _code(field, each, where)
    return value


def bytes_of(what: str, value: Any) -> bytes:
    """The bytes of an object that has some; a number is no count of them. Raises: InputError."""
    try:
        return value if type(value) is bytes else memoryview(value).tobytes()
    except TypeError:
        message = f"{what} is {shown(value)}, must be bytes"
        raise InputTypeError(message) from None


def _scalar(field: Field, value: Any, where: str) -> Any:
    """A number, or the name of a union's member, that its field can hold. Raises: InputError."""
    what = f"{where}: {field.name}"
    if isinstance(value, str) and field.name.endswith("_type"):
        return value
    if field.code in "fd":
        return real(what, value, 8 * WIDTHS[field.code])
    if field.code == "?":
        return bool(value if isinstance(value, (bool, np.bool_)) else whole(what, value, least=0, most=1))
    bits = 8 * WIDTHS[field.code]
    return whole(what, value, least=0, most=(1 << bits) - 1) if field.code.isupper() else whole(what, value, bits)


def _code(field: Field, value: Any, where: str) -> int:
    if not isinstance(value, str) or value not in field.names:
        message = f"{where}: {field.name} is {shown(value)}, expected one of {', '.join(field.names)}"
        raise InputError(message)
    return field.names.index(value)


def _table(builder: Any, name: str, values: Tree) -> int:
    """Write a table, after everything it refers to; returns its place."""
    spec = table_spec(name)
    values = checked_fields(name, values, name)
    behind = {
        field.slot: _behind(builder, name, field, values)
        for field in spec.fields
        if field.form not in ("scalar", "enum") and field.name and values.get(field.name) is not None
    }
    builder.StartObject(len(spec.fields))
    for field in spec.fields:
        if field.slot in behind:
            builder.PrependUOffsetTRelativeSlot(field.slot, behind[field.slot], 0)
        elif field.form in ("scalar", "enum") and values.get(field.name) is not None:
            value = _number(spec, field, values[field.name])
            builder.PrependSlot(_FLAGS[field.code], field.slot, value, spec.defaults[field.slot])
    return int(builder.EndObject())


def _number(spec: TableSpec, field: Field, value: Any) -> Any:
    """The number of a name: of an enum, or of a union if this is its type slot."""
    if field.form == "enum":
        return _code(field, value, spec.name)
    following = spec.fields[field.slot + 1 : field.slot + 2]
    if isinstance(value, str) and following and following[0].form == "union":
        return _code(following[0], value, spec.name)
    return value


def _behind(builder: Any, name: str, field: Field, values: Tree) -> int:
    """Write a value that is stored at an offset; returns its place."""
    value, form = values[field.name], field.form
    if form == "string":
        return int(builder.CreateString(value))
    if form == "bytes":
        return _vector(builder, value, len(value), 1, ALIGNMENT)
    if form in ("scalars", "enums"):
        codes = value if form == "scalars" else [_code(field, each, name) for each in value]
        packed = struct.pack(f"<{len(codes)}{field.code}", *codes)
        return _vector(builder, packed, len(codes), WIDTHS[field.code], WIDTHS[field.code])
    if form == "union":
        return _table(builder, values[field.name + "_type"], value)
    if form == "table":
        return _table(builder, field.table, value)
    places = [_table(builder, field.table, each) for each in value]
    builder.StartVector(4, len(places), 4)
    for place in reversed(places):
        builder.PrependUOffsetTRelative(place)
    return int(builder.EndVector())


def _vector(builder: Any, packed: bytes, count: int, width: int, alignment: int) -> int:
    builder.StartVector(width, count, alignment)
    builder.head = builder.Head() - len(packed)
    builder.Bytes[builder.head : builder.head + len(packed)] = packed
    return int(builder.EndVector())
