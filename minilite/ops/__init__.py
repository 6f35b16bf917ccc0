"""Meaning: the numpy references of all operators, a module per family, imported when one of its references runs.

What an operator takes is said by its row in C (csrc/kernel.h), under the same stem.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util

from minilite import _native
from minilite.ops_shared.operator import Meaning, Operator
from minilite.ops_shared.types import written_types


@functools.cache
def meanings(family: str) -> dict[str, Meaning]:
    """The references of a family's module, by operator; none where the engine alone runs the family."""
    if importlib.util.find_spec(f"{__name__}.{family}") is None:
        return {}
    module = importlib.import_module(f"{__name__}.{family}")
    return {op: found for found in vars(module).values() if isinstance(found, Meaning) for op in found.ops}


def _operator(row: _native.OperatorRow) -> Operator:
    """An operator by its row in C."""
    meaning = meanings(row.family).get(row.op)
    return Operator(
        row.op,
        row.versions,
        row.takes,
        tuple(text for types in row.types for text in written_types(types)),
        reference=meaning.function if meaning is not None else None,
        in_place=row.in_place,
        view=row.view,
        output_follows=row.follows,
        tflite_shares=row.tflite_shares,
        kernel=row.kernel,
        writes=row.writes,
        custom=meaning.options if meaning is not None else None,
        rule=meaning.rounding if meaning is not None else {},
    )


@functools.cache
def family(name: str) -> dict[str, Operator]:
    """The rows of a family by operator."""
    rows: tuple[Operator, ...] = getattr(importlib.import_module(f"{__name__}.{name}"), "OPERATORS", ())
    return {row.name: row for row in rows}


@functools.cache
def find_operator(name: str) -> Operator | None:
    """An operator by its name, None where there is none."""
    from minilite.ops._families import FAMILIES

    row = _native.find_row(name)
    if row is not None:
        return _operator(row)
    _, found, after = FAMILIES.partition(f"\n{name} ")
    return family(after[: after.index("\n")]).get(name) if found else operators().get(name)


@functools.cache
def operators() -> dict[str, Operator]:
    """Every operator by name."""
    found = {row.name: row for name in family_names() for row in family(name).values()}
    return found | {row.op: _operator(row) for row in _native.operator_rows()}


def family_names() -> list[str]:
    """The modules that may have references."""
    import pkgutil

    return [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
