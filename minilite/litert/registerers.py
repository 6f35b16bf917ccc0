"""LiteRT's registerers of custom operators in C++, which minilite cannot call: why each of them is refused."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NoReturn

from minilite.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

WHY = "custom_op_registerers are C++ and cannot be loaded: give Python functions, as in custom_ops={'Name': function}"


def refuse_registerers(registerers: Sequence[Any]) -> NoReturn:
    """Says so, and of a name that leads nowhere what LiteRT says of it. Raises: InputError."""
    names = [one for one in registerers if isinstance(one, str)]
    missing = _missing(names[0]) if names else ""
    raise InputError(f"{missing}: {WHY}" if missing else WHY)


def _missing(name: str) -> str:
    """The fault of a name, LIBRARY.FUNCTION or FUNCTION; empty if both exist."""
    library, _, function = name.rpartition(".")
    try:
        where = ctypes.CDLL(f"{library}.so" if library else None)
    except OSError as error:
        return f"Loading library '{library}.so' failed with error '{error}'"
    return "" if hasattr(where, function) else f"Looking up symbol '{function}' failed"
