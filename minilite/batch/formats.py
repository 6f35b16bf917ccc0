"""Writers of predictions (.npz, CSV, Parquet): functions that turn columns into the bytes of a file."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.batch.parquet import parquet_bytes
from minilite.errors import InputError, shortened
from minilite.writing import csv_text, npz_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minilite.format.model import Array


def _npz(columns: Mapping[str, Array], _: str) -> bytes:
    """Writes each column as an array; rows of unequal shape as two arrays, NAME.values with all values in one dimension
    and NAME.shapes. Missing integers are -1 if they are classes, else 0; missing text is empty."""
    arrays: dict[str, Array] = {}
    for name, column in columns.items():
        if column.dtype == object and any(isinstance(value, np.ndarray) for value in column):
            taken = next((made for made in (f"{name}.values", f"{name}.shapes") if made in columns), None)
            if taken is not None:
                message = f"two arrays would be called '{shortened(taken)}', one for rows of '{shortened(name)}' that differ in shape"
                raise InputError(message)
            rows = [np.zeros((0,)) if value is None or np.ma.is_masked(value) else value for value in column]
            arrays[f"{name}.values"] = np.concatenate([row.reshape(-1) for row in rows])
            rank = max(row.ndim for row in rows)
            arrays[f"{name}.shapes"] = np.array([(*row.shape, *[1] * (rank - row.ndim)) for row in rows], np.int64)
        elif column.dtype == object and column.ndim == 1:
            arrays[name] = np.array(["" if value is None else _text(value) for value in column], str)
        else:
            arrays[name] = np.ma.getdata(column)
    return npz_bytes(arrays)


def _csv(columns: Mapping[str, Array], _: str) -> bytes:
    """Writes a line per row; arrays are JSON, and missing values are empty."""
    rows = zip(*([_cell(value) for value in column] for column in columns.values()), strict=True)
    return csv_text(itertools.chain([columns], rows)).encode("utf-8", "backslashreplace")


def _text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _cell(value: Any) -> Any:
    if np.ma.is_masked(value):
        return ""
    if isinstance(value, np.ndarray) and value.size != 1:
        return json.dumps(value.tolist(), default=_text)
    if isinstance(value, np.ndarray):
        value = value.reshape(-1)[0]
    if value is None:
        return ""
    return _text(value) if isinstance(value, bytes) else value


FORMS: Mapping[str, Callable[[Mapping[str, Array], str], bytes]] = {
    "npz": _npz,
    "csv": _csv,
    "parquet": parquet_bytes,
}
"""Writers by name, which is also the suffix of their files. They take the columns, and the path for messages."""
