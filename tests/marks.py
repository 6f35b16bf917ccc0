"""Cases by name, some of which the engine fails so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest


def failing(reasons: Mapping[str, str]) -> dict[str, pytest.MarkDecorator]:
    """Marks by the names of cases: each has to fail, so that the mark goes with the fault."""
    return {name: pytest.mark.xfail(strict=True, reason=reason) for name, reason in reasons.items()}


def named(names: Iterable[str], marks: Mapping[str, pytest.MarkDecorator]) -> list[Any]:
    """Parameters of a test, those that have a mark marked."""
    return [pytest.param(name, marks=marks.get(name, ()), id=name) for name in names]
