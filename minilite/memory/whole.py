"""Numbers of a caller, checked before C gets them."""

from __future__ import annotations

from collections.abc import Collection
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


def all_plain(values: Collection[Any]) -> bool:
    """Whether all values are of Python's own type int and fit 64 bits; then `whole` takes each. If not, it may still
    take them."""
    if not {*map(type, values)} <= {int}:
        return False
    return min(values, default=0) >= -(1 << 63) and max(values, default=0) < 1 << 63
