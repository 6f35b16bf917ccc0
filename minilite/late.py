"""Later: imports a module when it is first used, for modules that take long to import and that few programs need.

It is worth using for modules that take two milliseconds or more (`python -X importtime`), and are needed neither for
reading a model nor for a first run. All other imports are plain.
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
