"""A limit of time for what could go on without an end."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def ends_within(seconds: float, *, of_processor: bool = False) -> Iterator[None]:
    """Turns a loop without an end into a failure: runs let signals through. Seconds of the clock, or of processor
    time. Needs a system with setitimer. Raises: TimeoutError."""
    timer, number = (signal.ITIMER_VIRTUAL, signal.SIGVTALRM) if of_processor else (signal.ITIMER_REAL, signal.SIGALRM)

    def stop(*_: object) -> None:
        message = f"took more than {seconds} s"
        raise TimeoutError(message)

    before = signal.signal(number, stop)
    signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)
