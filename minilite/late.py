"""Later: imports a module when it is first used, for modules that take long to import and that few programs need.

For modules that take about five milliseconds or more with all that they import (`python -X importtime`), or that
import the module which uses them, and that most programs never need: at most fifteen. All other imports are plain.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """Stands for a module: imports it when an attribute is first used, and keeps that attribute."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found
