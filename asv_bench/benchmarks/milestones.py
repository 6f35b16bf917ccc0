"""What the history is told by: figures that hold on a machine that does other things as well.

`Cost` is in units of a fixed piece of work that has nothing of minilite and takes turns with the operation in one process: the
least CPU time of the thread over many short samples of the one, over that of the other. What other processes take away lengthens
samples; the least of hundreds, spread over seconds, is one that was left alone. `Instructions` and `Allocations` are counted.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping

import numpy as np

from . import common, costs, counted, operations, timing

SECONDS, ROUNDS, SAMPLE = 12.0, 30, 100_000
"""Seconds of all samples together, rounds at least, and the nanoseconds that a sample takes at least."""
_BLOCK, _ROW, _SUM = bytes(4096), np.linspace(0, 1, 256), np.empty(256)


def reference() -> None:
    """The unit, about a microsecond: calls into C from Python, a checksum, a small array. Frozen: all figures hang on it."""
    zlib.crc32(_BLOCK)
    np.add(_ROW, _ROW, out=_SUM)


def relative(calls: Mapping[str, operations.Operation], seconds: float = SECONDS) -> dict[str, float]:
    """Cost of each call in units of the reference, all of them taking turns for some seconds."""
    counts = {name: timing.times(call, SAMPLE) for name, call in calls.items()}
    units = timing.times(reference, SAMPLE)
    least = dict.fromkeys(calls, (float("inf"), float("inf")))
    end, rounds = time.monotonic() + seconds, 0
    while rounds < ROUNDS or time.monotonic() < end:
        rounds += 1
        for name, call in calls.items():
            unit, cost = least[name]
            unit = min(unit, timing.sample(reference, units))
            least[name] = unit, min(cost, timing.sample(call, counts[name]))
    return {name: cost / unit for name, (unit, cost) in least.items()}


def measure() -> dict[str, float]:
    """Costs of the operations that this version can do."""
    calls: dict[str, operations.Operation] = {}
    for name, prepare in operations.HISTORY.items():
        try:
            with common.if_there():
                call = prepare(common.interpreter)
                call()
                calls[name] = call
        except NotImplementedError:
            continue
    return relative(calls)


@common.suite
class Cost(counted.PerOperation):
    """What a user feels, in units of the reference."""

    params = [list(operations.HISTORY)]
    deterministic = False

    def setup_cache(self) -> dict[str, float]:
        return measure()

    def track_cost(self, found: dict[str, float], operation: str) -> float:
        return self.figure(found, operation)

    setup_cache.timeout = 300  # type: ignore[attr-defined]
    track_cost.unit = "references"  # type: ignore[attr-defined]


class Instructions(counted.Instructions):
    """Of the whole call, Python's included, at a level that valgrind knows."""

    params = [list(operations.HISTORY)]
    deterministic = False  # the gate has counted.py

    def setup_cache(self) -> dict[str, float] | str:
        return counted.or_reason(lambda: costs.instructions(operations.HISTORY))

    setup_cache.timeout = 300  # type: ignore[attr-defined]


class Allocations(counted.Allocations):
    """Calls of malloc and its like."""

    params = [list(operations.HISTORY)]
    deterministic = False

    def setup_cache(self) -> dict[str, float] | str:
        return counted.or_reason(lambda: costs.allocations(operations.HISTORY))

    setup_cache.timeout = 120  # type: ignore[attr-defined]
