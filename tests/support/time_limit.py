"""A limit of time for what could go on without an end."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """Turns a loop without an end into a failure: runs let signals through. Seconds of processor time, which do not
    depend on what runs beside it. Needs a system with setitimer. Raises: TimeoutError."""

    def stop(*_: object) -> None:
        message = f"took more than {seconds} s of processor time"
        raise TimeoutError(message)

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
