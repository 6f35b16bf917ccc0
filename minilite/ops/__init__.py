"""Meaning: every operator by name. A family is one module with its rows in OPERATORS."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from minilite.ops_shared.operator import Operator


@functools.cache
def operators() -> dict[str, Operator]:
    """Every operator by name, gathered from the family modules on first use."""
    table: dict[str, Operator] = {}
    for module in pkgutil.iter_modules(__path__):
        rows = getattr(importlib.import_module(f"{__name__}.{module.name}"), "OPERATORS", ())
        table.update((row.name, row) for row in rows)
    return table
