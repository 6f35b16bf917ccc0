"""Turns tflite.fbs into minilite/format/_schema.py; `--check` only says whether the committed file is up to date."""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
from typing import NamedTuple, NoReturn

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "tflite.fbs"
TARGET = HERE.parent / "minilite" / "format" / "_schema.py"
SCALARS = ("bool", "byte", "ubyte", "short", "ushort", "int", "uint", "long", "ulong", "float", "double")

HEADER = '''"""The tables of the file format. Generated from schema/tflite.fbs by schema/regenerate.py: do not edit.

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


def main(arguments: list[str] | None = None) -> int:
    """Write the module, or with --check return 1 when it differs from what tflite.fbs says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the module is stale")
    options = parser.parse_args(arguments)
    text = render(parse(SOURCE.read_text(encoding="utf-8")))
    current = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    if options.check:
        if text != current:
            sys.stderr.write(f"{TARGET} is stale: run {pathlib.Path(__file__).name}\n")
        return int(text != current)
    if text != current:
        TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
