"""Reads the rows of Parquet files, a group at a time, and writes columns; imports pyarrow when a table is used."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.errors import InputError, listed, shortened
from minilite.inputs.foreign import foreign

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minilite.format.model import Array


def _pyarrow(path: str) -> Any:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        message = f"{path}: Parquet needs pyarrow, which is not installed: pip install pyarrow"
        raise InputError(message) from None
    return pyarrow


class Table:
    """The rows of a Parquet file; one group of rows is in memory at a time."""

    def __init__(self, path: str, inputs: Sequence[str], kept: Sequence[str]) -> None:
        """Opens the file. Raises: InputError if it cannot be read, or lacks a column."""
        arrow = _pyarrow(path)
        if not Path(path).exists():
            message = f"could not open {path!r}: no such file or directory"
            raise InputError(message)
        with foreign(f"{path} is a Parquet file that cannot be read"):
            self._file = arrow.parquet.ParquetFile(path)
        names = self._file.schema_arrow.names
        self._names = {name: name for name in (*inputs, *kept)}
        if len(inputs) == 1 == len(names):
            self._names[inputs[0]] = names[0]
        lacking = [name for name in self._names.values() if name not in names]
        if lacking:
            message = f"{path} has no column '{shortened(lacking[0])}': it has {listed(names[:8])}"
            raise InputError(message)
        self._list, self._numbers = arrow.ListScalar, arrow.types.is_primitive
        self._path = path
        self._starts = [0]
        for group in range(self._file.metadata.num_row_groups):
            self._starts.append(self._starts[-1] + self._file.metadata.row_group(group).num_rows)
        self._group = -1
        self._columns: dict[str, Any] = {}

    def __len__(self) -> int:
        return self._starts[-1]

    def cell(self, name: str, row: int) -> Any:
        """Returns the value of one column in one row. Raises: InputError."""
        group = next(g for g, start in enumerate(self._starts[1:]) if row < start)
        if group != self._group:
            with foreign(f"{self._path}, row group {group}, cannot be read"):
                table = self._file.read_row_group(group, columns=sorted(set(self._names.values())))
            self._group, self._columns = group, {column: table[column] for column in table.column_names}
        with foreign(f"{self._path}, row {row}, column '{shortened(name)}', cannot be read"):
            found = self._columns[self._names[name]][row - self._starts[group]]
            if isinstance(found, self._list) and found.is_valid and self._numbers(found.values.type):
                return found.values.to_numpy(zero_copy_only=False)  # keeps numbers from becoming Python objects
            return found.as_py()


def parquet_bytes(columns: Mapping[str, Array], path: str) -> bytes:
    """Returns the bytes of a Parquet file; arrays become lists. Raises: InputError."""
    arrow = _pyarrow(path)
    made = io.BytesIO()
    table = arrow.table({name: _cells(arrow, array) for name, array in columns.items()})
    arrow.parquet.write_table(table, made)
    return made.getvalue()


def _cells(arrow: Any, column: Array) -> Any:
    if column.dtype == object:
        return arrow.array([_plain(value) for value in column])
    made = arrow.array(np.ma.getdata(column).reshape(-1))
    for size in column.shape[:0:-1]:
        made = arrow.FixedSizeListArray.from_arrays(made, size)
    if not np.ma.is_masked(column):
        return made
    missing = np.ma.getmaskarray(column).reshape(len(column), -1).all(axis=1)
    return arrow.compute.if_else(arrow.array(missing), arrow.scalar(None, made.type), made)


def _plain(value: Any) -> Any:
    """Converts a cell of objects to a form that pyarrow knows: bytes of strings to text, arrays to lists."""
    if np.ma.is_masked(value):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return [_plain(each) for each in value] if isinstance(value, list) else value
