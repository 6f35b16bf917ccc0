"""The tables of the format, for reader and builder: their slots, with kinds and defaults."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from minilite.format import _schema

CODES = {
    "bool": "?", "byte": "b", "ubyte": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I",
    "long": "q", "ulong": "Q", "float": "f", "double": "d",
}  # fmt: skip
"""The `struct` code of each scalar type of the schema."""

WIDTHS = {"?": 1, "b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "Q": 8, "f": 4, "d": 8}
"""Bytes per `struct` code."""


class Field(NamedTuple):
    """One slot of a table."""

    slot: int
    name: str
    """Empty if the slot is deprecated."""
    form: str
    """scalar, enum, string, bytes, scalars, enums, table, tables or union."""
    code: str
    """The `struct` code of the inline value, or of a vector's elements."""
    default: Any
    """For an enum, a name; None for everything stored at an offset."""
    names: tuple[str, ...]
    """The names of an enum or a union, by value."""
    table: str
    """The name of the table, if `form` is table or tables."""

    @property
    def empty(self) -> Any:
        """The value of an absent field: its default, or an empty vector or string."""
        return _EMPTY.get(self.form, self.default)


_EMPTY: dict[str, Any] = {"string": "", "bytes": b"", "scalars": (), "enums": (), "tables": ()}


class TableSpec(NamedTuple):
    """One table of the schema, its slots in order."""

    name: str
    fields: tuple[Field, ...]
    names: tuple[str, ...]
    inline: tuple[str, ...]
    """Per slot, the `struct` code of the value in the table itself."""
    defaults: tuple[Any, ...]
    """Per slot, the raw value of an absent field: numbers as numbers, offsets as 0."""
    enums: tuple[Field, ...]
    """The fields that hold one value of an enum."""
    behind: tuple[Field, ...]
    """The fields whose values are stored at an offset."""


@cache
def names_of(kind: str) -> tuple[str, ...]:
    """The names of an enum or a union, by value."""
    return tuple((_schema.ENUMS.get(kind) or _schema.UNIONS[kind]).split())


@cache
def table_spec(name: str) -> TableSpec:
    """The slots of table `name`."""
    fields: list[Field] = []
    inline: list[str] = []
    defaults: list[Any] = []
    for slot, text in enumerate(_schema.TABLES[name].split()):
        head, _, default = text.partition("=")
        field_name, _, kind = head.partition(":")
        field = _field(name, slot, field_name.strip("-"), kind, default)
        fields.append(field)
        inline.append(field.code if field.form in ("scalar", "enum") else "I")
        raw = field.names.index(field.default) if field.form == "enum" else field.default
        defaults.append(0 if raw is None else raw)
    names = tuple(field.name for field in fields)
    enums = tuple(field for field in fields if field.name and field.form == "enum")
    behind = tuple(field for field in fields if field.name and field.form not in ("scalar", "enum"))
    return TableSpec(name, tuple(fields), names, tuple(inline), tuple(defaults), enums, behind)


def _field(table: str, slot: int, name: str, kind: str, default: str) -> Field:
    inner = kind.strip("[]")
    vector = kind != inner
    if inner in CODES:
        code = CODES[inner]
        if vector:
            form = "bytes" if inner == "ubyte" and table != "Uint8Vector" else "scalars"
            return Field(slot, name, form, code, None, (), "")
        number: Any = float(default) if code in "fd" else bool(int(default)) if code == "?" else int(default)
        return Field(slot, name, "scalar", code, number, (), "")
    if inner == "BuiltinOperator":  # newer operators have codes without a name here, so it stays a number
        return Field(slot, name, "scalar", "i", int(default), (), "")
    if inner in _schema.ENUMS:
        names = names_of(inner)
        code = CODES[_schema.ENUM_TYPES[inner]]
        return Field(
            slot, name, "enums" if vector else "enum", code, None if vector else names[int(default)], names, ""
        )
    if inner in _schema.UNIONS:
        return Field(slot, name, "union", "I", None, names_of(inner), "")
    if inner == "string":
        return Field(slot, name, "string", "I", None, (), "")
    return Field(slot, name, "tables" if vector else "table", "I", None, (), inner)


@cache
def operator_names() -> tuple[str, ...]:
    """The names of the builtin operators, by code."""
    return names_of("BuiltinOperator")


class OptionsTable(NamedTuple):
    """Where an operator keeps its options."""

    table: str
    union: str
    """BuiltinOptions or BuiltinOptions2."""
    code: int
    """The table's number in that union."""


@cache
def options_table(op: str) -> OptionsTable | None:
    """The options table of a builtin operator; None when it has no options."""
    table = _schema.OPERATOR_OPTIONS.get(op)
    if table is None:
        return None
    union = "BuiltinOptions" if table in names_of("BuiltinOptions") else "BuiltinOptions2"
    return OptionsTable(table, union, names_of(union).index(table))


def default_options(table: str) -> dict[str, Any]:
    """The options in `table` if a file leaves all of them out."""
    return {field.name: field.empty for field in table_spec(table).fields if field.name}
