"""Prints tables as wide as the terminal, and JSON, for commands."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from typing import Any

import numpy as np

from minilite.terminal import say, takes_all_letters

_WIDTH, _LEAST = 100, 40


def width() -> int:
    """Returns the width of a line in characters: COLUMNS, else the terminal's; 100 if there is neither."""
    return max(_LEAST, shutil.get_terminal_size((_WIDTH, 24)).columns or _WIDTH)  # some terminals report 0


def print_json(facts: Mapping[str, Any]) -> None:
    """Prints facts as JSON."""
    say(json.dumps(_plain(facts), ensure_ascii=not takes_all_letters(), allow_nan=False, indent=2))


def _plain(value: Any) -> Any:
    """Converts arrays to nested lists, bytes to text, and NaN and infinities to null."""
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
