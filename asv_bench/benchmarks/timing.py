"""Times calls that are interleaved in one process; on a shared machine, times mean something only in comparison."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

Call = Callable[[], Any]
Clock = Callable[[], int]
"""Nanoseconds, of the calling thread's processor time unless another is given."""


def sample(call: Call, times: int, clock: Clock = time.thread_time_ns) -> float:
    """Nanoseconds per call."""
    turns = range(times)
    start = clock()
    for _ in turns:
        call()
    return (clock() - start) / times


def times(call: Call, nanoseconds: int, clock: Clock = time.thread_time_ns) -> int:
    """Warms up, and returns how many calls take that long."""
    sample(call, 4, clock)
    once = min(sample(call, 2, clock) for _ in range(4))
    return max(1, round(nanoseconds / max(1.0, once)))


def in_turn(
    calls: Sequence[Call], rounds: int, nanoseconds: int, clock: Clock = time.thread_time_ns
) -> list[list[float]]:
    """Nanoseconds per call, a list of rounds for each. In each round every call has its turn, for the given time; the
    order is reversed each time."""
    counts = [times(call, nanoseconds, clock) for call in calls]
    found: list[list[float]] = [[] for _ in calls]
    order = list(range(len(calls)))
    for _ in range(rounds):
        for side in order:
            found[side].append(sample(calls[side], counts[side], clock))
        order.reverse()
    return found
