"""Options of custom operators that are built in: read by name from a flexbuffer, for references."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from minilite.ops_shared.operator import OpNode

Reader = Callable[[OpNode], Any]
"""Reads an option of a node."""


def no_options(data: bytes) -> Mapping[str, Any]:  # noqa: ARG001
    """What a row's `custom` is where the operator has none: whatever the file has there is not looked at."""
    return {}


def number(name: str, default: Any = None) -> Reader:
    """An option that is a number, finite in float32. Raises: UnsupportedOpError."""

    def read(node: OpNode) -> Any:
        found = node.options.get(name, default)
        if not isinstance(found, (int, float)) or not abs(found) < 1e38:
            raise node.refuse(f"option {name} is {found!r}, must be a number")
        return found

    return read


def flag(name: str, default: Any = None) -> Reader:
    """An option that is 1 or 0. Raises: UnsupportedOpError."""
    read = number(name, default)
    return lambda node: int(bool(read(node)))


def count(name: str, default: Any = None, *, least: int = 1, most: int = (1 << 31) - 1) -> Reader:
    """An option that counts something, a fraction of which is cut off. Raises: UnsupportedOpError."""
    read = number(name, default)

    def counted(node: OpNode) -> int:
        found: int = math.trunc(read(node))
        if not least <= found <= most:
            raise node.refuse(f"option {name} is {found}, expected {least} to {most}")
        return found

    return counted
