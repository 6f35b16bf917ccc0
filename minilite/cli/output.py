"""How commands print: as wide as the terminal, as JSON, and what goes on meanwhile."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

_WIDTH, _LEAST = 100, 40
_SLOW, _PAUSE = 1.0, 0.1
"""Seconds before anything is said of work that goes on, and between two lines about it."""
T = TypeVar("T")


def width() -> int:
    """Characters of a line: the terminal's, or what COLUMNS says; 100 where there is neither."""
    import shutil  # long to import

    return max(_LEAST, shutil.get_terminal_size((_WIDTH, 24)).columns or _WIDTH)  # some terminals say 0


def print_json(facts: Mapping[str, Any]) -> None:
    """Prints facts as JSON."""
    import json

    print(json.dumps(_plain(facts), ensure_ascii=False, allow_nan=False, indent=2))


def _plain(value: Any) -> Any:
    """Arrays as nested lists, bytes as text; null for what is no number."""
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


def progress(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """The items; while they take long, a line on stderr says how far they are, if that is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    started = said = time.monotonic()
    shown = False
    try:
        for number, item in enumerate(items):
            now = time.monotonic()
            if now - started > _SLOW and now - said > _PAUSE:
                left = (now - started) / max(number, 1) * (total - number)
                sys.stderr.write(f"\r\x1b[K{what} {number} of {total}, {left:.0f} s left"[: width() + 4])
                sys.stderr.flush()
                said, shown = now, True
            yield item
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
