"""How commands print: tables as wide as the terminal, JSON, and progress."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

_WIDTH, _LEAST = 100, 40
_SLOW, _PAUSE = 1.0, 0.25
"""Seconds before anything is said of work that goes on, and until it is said anew."""
T = TypeVar("T")


def width() -> int:
    """Characters of a line: the terminal's, or what COLUMNS says; 100 where there is neither."""
    return max(_LEAST, shutil.get_terminal_size((_WIDTH, 24)).columns or _WIDTH)  # some terminals say 0


def print_json(facts: Mapping[str, Any]) -> None:
    """Prints facts as JSON."""
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
    with working(what) as status:
        for number, item in enumerate(items):
            status[0] = f"{what} {number + 1} of {total}"
            yield item


@contextlib.contextmanager
def working(what: str) -> Iterator[list[str]]:
    """While what is done takes long, a line on stderr says what it is and since when, if that is a terminal; then it is
    wiped away.

    Gives a list of the one text that is shown, which may be changed meanwhile.
    """
    status = [what]
    if not sys.stderr.isatty():
        yield status
        return

    done = threading.Event()
    thread = threading.Thread(target=tick, args=(done, status), daemon=True)
    thread.start()
    try:
        yield status
    finally:
        done.set()
        thread.join()


def tick(done: Any, status: list[str]) -> None:
    """Shows the text and the seconds since the call, after the first, until `done` is set; then wipes it away."""
    started = time.monotonic()
    if done.wait(_SLOW):
        return
    while True:
        text = f"{status[0]}, {time.monotonic() - started:.0f} s"
        sys.stderr.write(f"\r\x1b[K{text[: width() - 1]}")
        sys.stderr.flush()
        if done.wait(_PAUSE):
            break
    sys.stderr.write("\r\x1b[K")
    sys.stderr.flush()
