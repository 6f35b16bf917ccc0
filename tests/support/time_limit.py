"""A limit of time for what could go on without an end."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

from processes import patience

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """Turns a loop without an end into a failure: runs let signals through. Seconds of processor time, which do not
    depend on what runs beside it; what waits without an end is noticed by the clock, later. Needs a system with
    setitimer. Raises: TimeoutError."""
    limits = (
        (signal.ITIMER_VIRTUAL, signal.SIGVTALRM, seconds, "of processor time"),
        (signal.ITIMER_REAL, signal.SIGALRM, patience(seconds), "of the clock"),
    )

    def stop(number: int, _: object) -> None:
        limit, what = next((limit, what) for _, alarm, limit, what in limits if alarm == number)
        message = f"took more than {limit} s {what}"
        raise TimeoutError(message)

    before = [signal.signal(number, stop) for _, number, _, _ in limits]
    for timer, _, limit, _ in limits:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (timer, number, _, _), handler in zip(limits, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
