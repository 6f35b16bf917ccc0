"""Generates the tables of the format for Python and C from tflite.fbs; `--check` only tells whether the committed files
are up to date."""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
from typing import NamedTuple, NoReturn

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "tflite.fbs"
PYTHON = HERE.parent / "minilite" / "format" / "_schema.py"
C_NUMBERS = HERE.parent / "csrc" / "format" / "schema_tables.h"
C_TABLES = HERE.parent / "csrc" / "format" / "schema_tables.c"
SCALARS = {
    "bool": "?", "byte": "b", "ubyte": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I",
    "long": "q", "ulong": "Q", "float": "f", "double": "d",
}  # fmt: skip
"""The scalar types, and the code that stands for each in C, which is Python's `struct` code."""

GENERATED = "Generated from schema/tflite.fbs by schema/regenerate.py: do not edit."
HEADER = f'''"""The tables of the file format. {GENERATED}

ENUMS and UNIONS list their names by value, with spaces between. A table lists its slots, `name:type=default` each; the
name of a deprecated slot is `-`. A union fills two slots, `<field>_type` first.
"""
'''


class Schema(NamedTuple):
    """What tflite.fbs says, slots and enum values checked to be dense."""

    identifier: str
    root: str
    enums: dict[str, tuple[str, ...]]
    enum_types: dict[str, str]
    unions: dict[str, tuple[str, ...]]
    tables: dict[str, tuple[tuple[str, str, str], ...]]
    options: dict[str, str]


class SchemaError(Exception):
    """tflite.fbs says something this script does not understand, or contradicts itself."""


def refuse(message: str) -> NoReturn:
    raise SchemaError(message)


def parse(text: str) -> Schema:
    """Read the subset of the FlatBuffers language that tflite.fbs is written in."""
    text = re.sub(r"//[^\n]*", "", text)
    schema = Schema("", "", {}, {}, {}, {}, {})
    names = {"file_identifier": "", "file_extension": "", "root_type": "", "attribute": ""}
    declaration = re.compile(
        r'\s*(?:(file_identifier|file_extension|root_type|attribute)\s+"?(\w+)"?\s*;'
        r"|(enum|union|table)\s+(\w+)\s*(?::\s*(\w+)\s*)?\{([^}]*)\})"
    )
    end = 0
    while text[end:].strip():
        match = declaration.match(text, end)
        if match is None:
            refuse(f"not understood: {text[end:].strip()[:60]!r}")
        end = match.end()
        word, value, kind, name, base, body = match.groups()
        if word:
            names[word] = value
        elif kind == "enum":
            schema.enum_types[name] = base
            schema.enums[name] = _enum(name, body, schema.options)
        elif kind == "union":
            schema.unions[name] = ("NONE", *(part.strip() for part in body.split(",") if part.strip()))
        else:
            schema.tables[name] = tuple(_fields(name, body))
    schema = schema._replace(identifier=names["file_identifier"], root=names["root_type"])
    return _resolve(schema)


def _enum(name: str, body: str, options: dict[str, str]) -> tuple[str, ...]:
    values: list[str] = []
    for part in filter(None, (part.strip() for part in body.split(","))):
        match = re.fullmatch(r'(\w+)\s*=\s*(\d+)\s*(?:\(options:\s*"(\w+)"\))?', part)
        if match is None:
            refuse(f"enum {name}: not understood: {part!r}")
        value, number, table = match.groups()
        if int(number) != len(values):
            refuse(f"enum {name}: {value} is {number}, expected {len(values)}: values are dense")
        values.append(value)
        if table:
            options[value] = table
    if sum(len(value) + 2 for value in values[:8]) >= 240:
        refuse(f"enum {name}: csrc/format/flatbuffer.c has no room for a message with its first eight names")
    return tuple(values)


def _fields(name: str, body: str) -> list[tuple[str, str, str]]:
    fields: list[tuple[str, str, str]] = []
    for part in filter(None, (part.strip() for part in body.split(";"))):
        match = re.fullmatch(r"(\w+)\s*:\s*(\[?\w+\]?)\s*(?:=\s*([-+.\w]+))?\s*(\(deprecated\))?", part)
        if match is None:
            refuse(f"table {name}: not understood: {part!r}")
        field, kind, default, deprecated = match.groups()
        fields.append(("-" if deprecated else field, kind, default or ""))
    return fields


def _resolve(schema: Schema) -> Schema:
    """Give each field its numeric default and each union its type slot; refuse names that nothing declares."""
    for name, fields in schema.tables.items():
        slots: list[tuple[str, str, str]] = []
        for field, kind, default in fields:
            inner = kind.strip("[]")
            if inner in schema.unions:
                slots.append((field + "_type", "ubyte", "0"))
            elif inner in schema.enums:
                default = str(schema.enums[inner].index(default)) if default else "0"
            elif inner in SCALARS:
                default = {"true": "1", "false": "0", "": "0"}.get(default, default)
            elif inner != "string" and inner not in schema.tables:
                refuse(f"table {name}, field {field}: nothing declares {inner}")
            slots.append((field, kind, default if kind != f"[{inner}]" else ""))
        schema.tables[name] = tuple(slots)
    members = [(union, member) for union, values in schema.unions.items() for member in values[1:]]
    for where, table in [*members, *schema.options.items(), ("root_type", schema.root)]:
        if table not in schema.tables:
            refuse(f"{where}: nothing declares table {table}")
    return schema


def render(schema: Schema) -> str:
    """The text of _schema.py: data only, a line per entry."""
    lines = [HEADER, f'IDENTIFIER = b"{schema.identifier}"', f'ROOT = "{schema.root}"', ""]

    def mapping(name: str, entries: dict[str, str]) -> None:
        lines.append(f"{name} = {{")
        lines.extend(f'    "{key}": "{value}",' for key, value in entries.items())
        lines.extend(["}", ""])

    mapping("ENUM_TYPES", schema.enum_types)
    mapping("ENUMS", {name: " ".join(values) for name, values in schema.enums.items()})
    mapping("UNIONS", {name: " ".join(values) for name, values in schema.unions.items()})
    mapping("OPERATOR_OPTIONS", schema.options)
    mapping("TABLES", {name: " ".join(map(_slot, slots)) for name, slots in schema.tables.items()})
    return "\n".join(lines[:-1]) + "\n"


def _slot(slot: tuple[str, str, str]) -> str:
    name, kind, default = slot
    return f"{name}:{kind}={default}" if default else f"{name}:{kind}"


def render_numbers(schema: Schema) -> str:
    """The text of schema_tables.h: the numbers of tables, slots, enums, their values, and unions."""
    most = max(len(slots) for slots in schema.tables.values())
    lines = [
        f"/* schema_tables.h -- the tables, slots and values of the file format by number. {GENERATED} */",
        "#ifndef ML_FORMAT_SCHEMA_TABLES_H",
        "#define ML_FORMAT_SCHEMA_TABLES_H",
        "",
        "/* clang-format off */",
        f"enum {{ ML_MOST_SLOTS = {most} }}; /* of a table */",
        "",
        "typedef enum {",
        *(f"    ML_TABLE_{name}," for name in schema.tables),
        f"    ML_TABLES = {len(schema.tables)}",
        "} ml_table_number;",
    ]
    for kind, names in ("ENUM", schema.enums), ("UNION", schema.unions):
        lines.extend(["", "enum {", *(f"    ML_{kind}_{name} = {n}," for n, name in enumerate(names)), "};"])
    for name, values in schema.enums.items():
        lines.extend(["", "enum {", *(f"    ML_{name}_{value} = {n}," for n, value in enumerate(values)), "};"])
    for name, slots in schema.tables.items():
        named = [f"ML_SLOT_{name}_{field} = {n}" for n, (field, _, _) in enumerate(slots) if field != "-"]
        if named:
            lines.extend(["", "enum {", *(f"    {each}," for each in named), "};"])
    return "\n".join([*lines, "/* clang-format on */", "", "#endif"]) + "\n"


def render_tables(schema: Schema) -> str:
    """The text of schema_tables.c: what schema.h declares."""
    tables, enums, unions = list(schema.tables), list(schema.enums), list(schema.unions)
    lines = [
        f"/* schema_tables.c -- the tables of the file format. {GENERATED} */",
        '#include "format/schema.h"',
        "",
        "/* clang-format off */",
    ]
    heads, number = [], 0
    lines.append("const ml_schema_slot ml_schema_slots[] = {")
    for name, slots in schema.tables.items():
        heads.append(f'    {{"{name}", {number}, {len(slots)}}},')
        number += len(slots)
        lines.extend(f"    {_c_slot(schema, tables, enums, unions, slot)}," for slot in slots)
    lines.extend(["};", "", "const ml_schema_table ml_schema_tables[ML_TABLES] = {", *heads, "};", ""])
    lines.append("const ml_schema_enum ml_schema_enums[] = {")
    lines.extend(f'    {{{len(values)}, "{" ".join(values)}"}},' for values in schema.enums.values())
    lines.extend(["};", "", "static const int16_t members[] = {"])
    heads, number = [], 0
    for values in schema.unions.values():
        heads.append(f'    {{{len(values)}, members + {number}, "{" ".join(values)}"}},')
        lines.append(f"    -1, {', '.join(str(tables.index(each)) for each in values[1:])},")
        number += len(values)
    lines.extend(["};", "", "const ml_schema_union ml_schema_unions[] = {", *heads, "};", ""])
    lines.append("const ml_schema_operator ml_schema_operators[] = {")
    lines.extend(f"    {_c_operator(schema, name)}," for name in schema.enums["BuiltinOperator"])
    count = len(schema.enums["BuiltinOperator"])
    lines.extend(["};", f"const int32_t ml_schema_n_operators = {count};", "/* clang-format on */"])
    return "\n".join(lines) + "\n"


def _c_slot(schema: Schema, tables: list[str], enums: list[str], unions: list[str], slot: tuple[str, str, str]) -> str:
    """An ml_schema_slot: name, form, code of what lies inline or in the vector, number of enum, union or table,
    default."""
    name, kind, default = slot
    inner = kind.strip("[]")
    vector = "S" if kind != inner else ""
    code, of = "I", -1
    if inner in SCALARS:
        form, code = "SCALAR" + vector, SCALARS[inner]
    elif inner in schema.enums:
        form, code, of = "ENUM" + vector, SCALARS[schema.enum_types[inner]], enums.index(inner)
        if inner == "BuiltinOperator":  # newer operators have codes beyond the names we know
            form = "SCALAR"
    elif inner in schema.unions:
        form, of = "UNION", unions.index(inner)
    elif inner == "string":
        form, code = "STRING", "B"
    else:
        form, of = "TABLE" + vector, tables.index(inner)
    if code in "hd":
        raise ValueError(f"{name}: csrc/format/flatbuffer.c reads no scalar of type {inner} yet")
    return f"{{\"{name.strip('-')}\", ML_FORM_{form}, '{code}', {of}, {default or 0}}}"


def _c_operator(schema: Schema, name: str) -> str:
    """An ml_schema_operator: its options table, the slot of Operator that holds it, its number in that slot's union;
    where its name is among those of all operators."""
    table, names = schema.options.get(name), schema.enums["BuiltinOperator"]
    place = f"{sum(len(before) + 1 for before in names[: names.index(name)])}, {len(name)}"
    if table is None:
        return f"{{-1, 0, 0, {place}}}"
    first = schema.unions["BuiltinOptions"]
    union, field = (first, "") if table in first else (schema.unions["BuiltinOptions2"], "2")
    return f"{{ML_TABLE_{table}, ML_SLOT_Operator_builtin_options{field}, {union.index(table)}, {place}}}"


def targets(schema: Schema) -> dict[pathlib.Path, str]:
    """Every generated file and its text."""
    return {PYTHON: render(schema), C_NUMBERS: render_numbers(schema), C_TABLES: render_tables(schema)}


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or with --check return 1 when one differs from what tflite.fbs says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    options = parser.parse_args(arguments)
    stale = 0
    for target, text in targets(parse(SOURCE.read_text(encoding="utf-8"))).items():
        current = target.read_text(encoding="utf-8") if target.exists() else ""
        if text == current:
            continue
        if options.check:
            sys.stderr.write(f"{target} is stale: run {pathlib.Path(__file__).name}\n")
            stale = 1
        else:
            target.write_text(text, encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
