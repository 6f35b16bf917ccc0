"""Meaning: every operator by name. A family is one module with its rows in OPERATORS; it is imported when a model needs
it."""

from __future__ import annotations

import functools
import importlib

from minilite.ops_shared.operator import Operator


@functools.cache
def family(name: str) -> dict[str, Operator]:
    """The rows of a family by operator."""
    rows: tuple[Operator, ...] = getattr(importlib.import_module(f"{__name__}.{name}"), "OPERATORS", ())
    return {row.name: row for row in rows}


@functools.cache
def find_operator(name: str) -> Operator | None:
    """The row of an operator, None where there is none. One that _families.py lacks is looked for in all families."""
    from minilite.ops._families import FAMILIES

    _, found, behind = FAMILIES.partition(f"\n{name} ")
    return family(behind[: behind.index("\n")]).get(name) if found else operators().get(name)


@functools.cache
def operators() -> dict[str, Operator]:
    """Every operator by name, gathered from all families."""
    return {row.name: row for name in family_names() for row in family(name).values()}


def family_names() -> list[str]:
    """The modules that may have rows."""
    import pkgutil

    return [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
