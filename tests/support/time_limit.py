"""A limit of time for what could go on without an end."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def ends_within(seconds: int) -> Iterator[None]:
    """Turns a loop without an end into a failure: runs let signals through. Needs SIGALRM. Raises: TimeoutError."""

    def stop(*_: object) -> None:
        message = f"took more than {seconds} s"
        raise TimeoutError(message)

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
