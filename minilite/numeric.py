"""Numbers of a caller, checked before anything counts with them."""

from __future__ import annotations

import math
import operator
import re
from typing import Any

import numpy as np

from minilite.errors import InputError, InputTypeError, shown

_NOT_REAL = (bool, np.bool_, str, bytes, bytearray, np.ndarray)
"""Types that Python would convert to a float, though nobody who means a number gives one."""
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


def whole(what: str, value: Any, bits: int = 64, *, least: int | None = None, most: int | None = None) -> int:
    """Returns an integer that fits so many bits, neither a bool nor a float. `least` and `most` (both inclusive)
    replace the limits of the bits. Raises: InputError, InputTypeError."""
    try:
        number = None if isinstance(value, bool) else int(operator.index(value))
    except TypeError:
        number = None
    if number is None:
        message = f"{what} is {shown(value)}, must be an integer"
        raise InputTypeError(message)
    low = -(1 << (bits - 1)) if least is None else least
    high = (1 << (bits - 1)) - 1 if most is None else most
    if not low <= number <= high:
        message = f"{what} is {shown(number)}, must be from {shown(low)} to {shown(high)}"
        raise InputError(message)
    return number


def real(what: str, value: Any, bits: int = 64) -> float:
    """A number that a float of so many bits can hold: NaN and infinity too, but neither a bool nor a string. Raises:
    InputError, InputTypeError."""
    try:
        number = float("x" if isinstance(value, _NOT_REAL) else value)
        fits = bits > 32 or not _LARGEST_FLOAT32 < abs(number) < math.inf
    except OverflowError:
        fits = False
    except (TypeError, ValueError):
        message = f"{what} is {shown(value)}, must be a number"
        raise InputTypeError(message) from None
    if not fits:
        message = f"{what} is {shown(value)}, must fit a float of {bits} bits"
        raise InputError(message)
    return number


def byte_count(budget: int | str) -> int:
    """Returns bytes given as a number or as text: 8000000, "8MB" (the same), "8MiB" (8388608). Raises: InputError."""
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", budget)
        unit = _UNITS.get(found[2].upper()) if found else None
        if found is None or unit is None:
            message = f"takes bytes such as 8000000, 8MB (the same) or 8MiB (8388608), got {budget!r}"
            raise InputError(message)
        budget = int(min(float(found[1]) * unit, 2.0**63))
    return whole("a budget in bytes", budget, least=1, most=2**62 - 1)
