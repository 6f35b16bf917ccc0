"""whole: a caller's number, checked before C gets it."""

from __future__ import annotations

from typing import Any

from minilite.errors import InputError, InputTypeError, shortened


def whole(what: str, value: Any, bits: int = 64) -> int:
    """An integer that fits so many bits; neither a bool nor a float. Raises: InputError, InputTypeError."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        message = f"{what} is {shortened(repr(value))}, must be an integer"
        raise InputTypeError(message)
    number = value.__index__()
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        message = f"{what} is {number}, must be from {-(1 << (bits - 1))} to {(1 << (bits - 1)) - 1}"
        raise InputError(message)
    return int(number)
