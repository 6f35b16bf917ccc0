"""Importing late: a module that takes long to import, and that few programs need, is imported when it is first used.

Worth its lines from about two milliseconds on (`python -X importtime`), and only for what neither reading a model nor a
first run needs; all else is imported where it is written.
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
