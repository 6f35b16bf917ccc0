"""Converts columns to the rows that a model takes, and the outputs of rows to columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.engine.float_values import quantized
from minilite.engine.tensor_arguments import as_given
from minilite.errors import InputError, MiniliteError, shortened
from minilite.format.dtypes import public_bits, public_type

if TYPE_CHECKING:
    from minilite.batch.entry import Entry
    from minilite.format.model import Array, Tensor

Row = dict[str, "Array"]
"""The arrays of one row by input, each with a batch of 1 where the model has a batch dimension."""


def checked_columns(columns: Any, entry: Entry, reserved: Sequence[str]) -> tuple[dict[str, Any], int]:
    """Returns the columns as lists or arrays, and their number of rows. Raises: InputError."""
    if not isinstance(columns, Mapping) and not (hasattr(columns, "keys") and hasattr(columns, "__getitem__")):
        message = f"columns are of type {type(columns).__name__}, must map names to sequences of rows"
        raise InputError(message)
    found = {str(name): _as_column(str(name), columns[name]) for name in columns.keys()}  # noqa: SIM118 - tables
    for name in entry.inputs:
        if name not in found:
            message = f"column '{name}' is missing: there are {_listed(found)}, the model takes {_listed(entry.inputs)}"
            raise InputError(message, tensors=[name])
    for name in found:
        if name in reserved and name not in entry.inputs:
            message = f"column '{name}' has the name of a column that is added: those are {_listed(reserved)}"
            raise InputError(message)
    lengths = {name: len(column) for name, column in found.items()}
    rows = lengths[next(iter(entry.inputs))] if entry.inputs else 0
    for name, length in lengths.items():
        if length != rows:
            message = f"column '{name}' has {length} rows, column '{next(iter(entry.inputs))}' has {rows}"
            raise InputError(message)
    return found, rows


def _listed(names: Any) -> str:
    return ", ".join(f"'{shortened(name)}'" for name in names) or "none"


def _as_column(name: str, column: Any) -> Any:
    if isinstance(column, (str, bytes)) or not hasattr(column, "__len__"):
        message = f"column '{name}' is of type {type(column).__name__}, must be a sequence of rows"
        raise InputError(message)
    column = column if isinstance(column, Sequence) else np.asarray(column)
    if isinstance(column, np.ndarray) and column.ndim == 0:
        message = f"column '{name}' is one value, must be a sequence of rows"
        raise InputError(message)
    return column


def row_of(columns: Mapping[str, Any], number: int, entry: Entry, *, batched: bool, real: bool) -> Row:
    """Returns the arrays of one row. Raises: InputError, which names row and column."""
    return {
        name: _array(columns[name][number], tensor, f"row {number} of column '{name}'", batched=batched, real=real)
        for name, tensor in entry.inputs.items()
    }


def _array(value: Any, tensor: Tensor, where: str, *, batched: bool, real: bool) -> Array:
    try:
        if real and tensor.quantization.scales:
            array = np.asarray(value)
            if array.dtype.kind not in "biuf":
                message = f"it is of dtype {array.dtype}, must be of real numbers"
                raise InputError(message)
            array = array.astype(np.float32)
            if np.isnan(array).any():
                message = "there is no quantized value for NaN"
                raise InputError(message)
            array = quantized(tensor, array)
        else:
            array = as_given(tensor, value)
    except (ValueError, TypeError) as error:  # numpy raises these for ragged lists
        message = f"{where}: {error}"
        raise InputError(message, tensors=[tensor.name]) from None
    array, wanted = public_bits(array, tensor.type), public_type(tensor.type)
    if array.dtype != wanted:
        message = f"{where} is of dtype {array.dtype}, the model takes {wanted}"
        raise InputError(message, tensors=[tensor.name])
    if not batched:
        return array
    rank = len(tensor.shape)
    if array.ndim == rank - 1:
        return array[None]
    if array.ndim == rank and array.shape[0] == 1:
        return array
    message = f"{where} is of shape {array.shape}, the model takes {rank - 1} dimensions, as in {tensor.shape[1:]}"
    raise InputError(message, tensors=[tensor.name], shapes=[array.shape, tensor.shape])


def passed_through(column: Any) -> Array:
    """Converts a column that is no input to an array; to an array of objects if its rows differ in shape."""
    if isinstance(column, np.ndarray):
        return column
    try:
        return np.asarray(column)
    except ValueError:
        return objects(column)


def objects(values: Sequence[Any]) -> Array:
    """Returns an array of one object per row."""
    made = np.empty(len(values), object)
    for at, value in enumerate(values):
        made[at] = value
    return made


def stacked(values: Sequence[Array | None], empty: Array) -> Array:
    """Joins the values of rows to a column: one array if all have the same shape, else an array of objects.

    A row that was skipped is None; it becomes NaN among floats, zero among other numbers, and None among objects.
    `empty` has the shape and dtype of a column without rows.
    """
    there = [value for value in values if value is not None]
    if not there:
        return empty if not values else objects(values)
    if any(value.shape != there[0].shape for value in there):
        return objects(values)
    if len(there) == len(values):
        return np.stack(there)
    kind = there[0].dtype
    blank = np.full(there[0].shape, np.nan if kind.kind in "fc" else None if kind.kind == "O" else 0, kind)
    return np.stack([blank if value is None else value for value in values])


def spread(column: Array, numbers: Sequence[int], count: int, blank: int = 0) -> Array:
    """Returns a column of `count` rows, which has the given rows at `numbers`. The others are None in a column of
    objects; in other columns they are masked, and hold NaN, empty text or `blank`."""
    if len(numbers) == count:
        return column
    kind = column.dtype.kind
    others = {"f": np.nan, "c": np.nan, "O": None, "U": ""}.get(kind, blank)
    made: Array = np.full((count, *column.shape[1:]), others, column.dtype)
    made[numbers] = column
    if kind == "O" and column.ndim == 1:
        return made
    missing = np.ones(made.shape, bool)
    missing[numbers] = False
    return np.ma.array(made, mask=missing)


def failed_row(error: MiniliteError, number: int) -> MiniliteError:
    """Returns the same error with the number of the row."""
    if isinstance(error, InputError) and str(error).startswith(f"row {number} "):
        return error
    made = type(error)(
        f"row {number}: {error}", subgraph=error.subgraph, node=error.node, op=error.op, tensors=error.tensors,
        shapes=error.shapes,
    )  # fmt: skip
    return made.with_traceback(error.__traceback__)
