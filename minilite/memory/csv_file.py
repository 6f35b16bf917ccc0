"""Planning problems in MiniMalloc's CSV files."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minilite._native.memory import UNPLACED
from minilite.errors import InputError, shortened
from minilite.memory.records import FARTHEST, FOREVER, UsageRecord, checked_records, record_fault

COLUMNS = ("id", "lower", "upper", "size")
_PLAIN = b"0123456789,-\r\n"
"""All that a table of integers needs; numpy reads it many times as fast as Python."""
IntArray = np.ndarray[Any, np.dtype[Any]]


class CsvColumns(NamedTuple):
    """A problem from a file, as arrays of int64 that `plan_arrays` takes."""

    ids: IntArray
    sizes: IntArray
    first: IntArray
    last: IntArray
    offsets: IntArray | None
    """-1 where a record is to be placed; None if all are."""


def _column_positions(header: Sequence[str], path: str) -> dict[str, int]:
    names = [name.strip() for name in header]
    missing = [name for name in COLUMNS if name not in names]
    extra = [name for name in names if name not in (*COLUMNS, "offset")]
    if missing or extra or len(set(names)) != len(names):
        message = f"{path}, line 1: columns {','.join(names)}, must be {','.join(COLUMNS)}[,offset]"
        raise InputError(message)
    return {name: position for position, name in enumerate(names)}


def _record(row: Sequence[str], columns: dict[str, int], where: str) -> UsageRecord:
    if len(row) != len(columns):
        message = f"{where}: {len(row)} fields, must be {len(columns)}"
        raise InputError(message)
    numbers: dict[str, int] = {}
    for name, position in columns.items():
        text = row[position].strip()
        if name == "offset" and not text:
            continue
        try:
            numbers[name] = int(text)
        except ValueError:
            message = f"{where}: {name} '{shortened(text)}' is not an integer"
            raise InputError(message) from None
    if numbers["upper"] <= numbers["lower"]:
        message = f"{where}: upper {numbers['upper']}, must be above lower {numbers['lower']}"
        raise InputError(message)
    record = UsageRecord(numbers["id"], numbers["size"], numbers["lower"], numbers["upper"] - 1, numbers.get("offset"))
    if fault := record_fault(record):
        message = f"{where}: tensor {record.tensor}: {fault}"
        raise InputError(message)
    return record


def read_csv_arrays(path: str | os.PathLike[str]) -> CsvColumns:
    """Reads a problem in MiniMalloc's format as arrays; `read_csv` says what it is. Raises: InputError with the
    line."""
    found = _read_plain(path)
    if found is not None:
        return found
    rows = _read_any(path)
    tensors, sizes, first, last, offsets, _ = zip(*rows, strict=True) if rows else ((),) * 6
    places = None if {*offsets} <= {None} else [UNPLACED if place is None else place for place in offsets]
    if sizes and max(sizes) > FARTHEST:
        at = next(at for at, size in enumerate(sizes) if size > FARTHEST)
        message = f"{os.fspath(path)}: record {at}, tensor {tensors[at]}: {sizes[at]} bytes, must be {FARTHEST} or less"
        raise InputError(message)
    ids, nbytes, begin, end = (np.array(column, np.int64) for column in (tensors, sizes, first, last))
    return CsvColumns(ids, nbytes, begin, end, None if places is None else np.array(places, np.int64))


def read_csv(path: str | os.PathLike[str]) -> list[UsageRecord]:
    """Reads a problem in MiniMalloc's format: a header `id,lower,upper,size[,offset]`, `upper` exclusive.

    A record with an offset is fixed; one with an empty offset is placed by the planner. Raises: InputError with the
    line.
    """
    found = _read_plain(path)
    if found is None:
        return _read_any(path)
    offsets = repeat(None) if found.offsets is None else found.offsets.tolist()
    return list(map(UsageRecord, *(column.tolist() for column in found[:4]), offsets))


def _read_plain(path: str | os.PathLike[str]) -> CsvColumns | None:
    """Reads a table of plain integers without a fault; None for any other file."""
    content = Path(path).read_bytes()
    head, _, body = content.partition(b"\n")
    if not body.strip() or body.translate(None, _PLAIN):
        return None
    try:
        columns = _column_positions(head.decode("ascii").strip("\r").split(","), "")
        table = np.loadtxt(os.fspath(path), np.int64, delimiter=",", skiprows=1, comments=None, ndmin=2)
    except (ValueError, OverflowError):  # the other reader says what is wrong, and in which line
        return None
    if table.shape[1] != len(columns):
        return None
    ids, lower, upper, sizes = (np.ascontiguousarray(table[:, columns[name]]) for name in COLUMNS)
    offsets = np.ascontiguousarray(table[:, columns["offset"]]) if "offset" in columns else None
    last = upper - 1
    valid = (ids >= -FOREVER) & (ids <= FOREVER) & (lower >= 0) & (last >= lower) & (last <= FOREVER) & (sizes >= 0)
    valid &= sizes <= FARTHEST
    if offsets is not None:
        valid &= (offsets >= 0) & (offsets <= FARTHEST - sizes)
    return CsvColumns(ids, sizes, lower, last, offsets) if valid.all() else None


def _read_any(path: str | os.PathLike[str]) -> list[UsageRecord]:
    """Reads a problem row by row. Raises: InputError with the line."""
    name = os.fspath(path)
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            header = next(reader, None)
            if header is None:
                message = f"{name}, line 1: the file is empty, must start with {','.join(COLUMNS)}[,offset]"
                raise InputError(message)
            columns = _column_positions(header, name)
            return [_record(row, columns, f"{name}, line {reader.line_num}") for row in reader if row]
    except (UnicodeDecodeError, csv.Error) as error:
        message = f"{name}: not a text table: {error}"
        raise InputError(message) from error


def csv_text(records: Iterable[UsageRecord], offsets: Sequence[int | None] | None = None) -> str:
    """Records in MiniMalloc's format, with an offset column if any record has one. Raises: InputError."""
    rows, _ = checked_records(records)
    places = [record.offset for record in rows] if offsets is None else list(offsets)
    placed = any(place is not None for place in places)
    lines = [",".join((*COLUMNS, "offset") if placed else COLUMNS)]
    for record, place in zip(rows, places, strict=True):
        line = f"{record.tensor},{record.first_node},{record.last_node + 1},{record.size}"
        lines.append(f"{line},{'' if place is None else place}" if placed else line)
    return "\n".join(lines) + "\n"


def write_csv(path: str | os.PathLike[str], records: Iterable[UsageRecord]) -> None:
    """Writes a problem in MiniMalloc's format; `read_csv` gives the same records back. Raises: InputError."""
    Path(path).write_text(csv_text(records), encoding="utf-8")
