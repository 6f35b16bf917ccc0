"""The numpy references of all operators: one module per family, imported when one of its references runs.

What an operator takes is in its row in C (csrc/kernel.h), in the file with the same stem.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util

from minilite._native.kernels import OperatorRow, find_row, operator_rows
from minilite.ops_shared.operator import Meaning, Operator
from minilite.ops_shared.types import written_types


@functools.cache
def meanings(family: str) -> dict[str, Meaning]:
    """The references in a family's module, by operator; empty if only the engine runs the family."""
    if importlib.util.find_spec(f"{__name__}.{family}") is None:
        return {}
    module = importlib.import_module(f"{__name__}.{family}")
    return {op: found for found in vars(module).values() if isinstance(found, Meaning) for op in found.ops}


def _operator(row: OperatorRow) -> Operator:
    """The operator of a row in C."""
    meaning = meanings(row.family).get(row.op)
    return Operator(
        row.op,
        row.versions,
        row.takes,
        tuple(text for types in row.types for text in written_types(types)),
        row.kernel,
        row.in_place,
        row.view,
        row.follows,
        row.tflite_shares,
        row.writes,
        row.custom,
        reference=meaning.function if meaning is not None else None,
        options=meaning.options if meaning is not None else None,
        rounding=meaning.rounding if meaning is not None else {},
    )


@functools.cache
def find_operator(name: str) -> Operator | None:
    """An operator by its name; None if there is none."""
    row = find_row(name)
    return None if row is None else _operator(row)


@functools.cache
def operators() -> dict[str, Operator]:
    """Every operator by name."""
    return {row.op: _operator(row) for row in operator_rows()}
