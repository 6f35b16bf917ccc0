"""The figures of the history: those that are stable even on a busy machine.

`Cost` is in units of a fixed piece of work that has nothing of minilite and takes turns with the operations: the least
CPU time of the thread over many short samples of the one, over that of the other, in several processes, for where
memory lies differs from one to the next. What other work takes away lengthens samples; the least of hundreds, spread
over seconds, is one that was left alone. `Instructions` and `Allocations` are counted.
"""

from __future__ import annotations

import contextlib
import time
import zlib
from collections.abc import Mapping

import numpy as np

from . import apart, common, costs, counted, operations, peers, timing

PROCESSES, SECONDS, ROUNDS, SAMPLE = 3, 6.0, 30, 100_000
"""Processes; in each, seconds of all samples together, rounds at least, and the nanoseconds that a sample takes at
least."""
_BLOCK, _ROW, _SUM = bytes(4096), np.linspace(0, 1, 256), np.empty(256)


def reference() -> None:
    """The unit, about a microsecond: calls into C from Python, a checksum, a small array. Frozen: all figures depend on
    it."""
    zlib.crc32(_BLOCK)
    np.add(_ROW, _ROW, out=_SUM)


def least(calls: Mapping[str, timing.Call], seconds: float) -> dict[str, float]:
    """Nanoseconds of each call, the least of its samples, all of them taking turns for some seconds."""
    counts = {name: timing.times(call, SAMPLE) for name, call in calls.items()}
    found = dict.fromkeys(calls, float("inf"))
    end, rounds = time.monotonic() + seconds, 0
    while rounds < ROUNDS or time.monotonic() < end:
        rounds += 1
        for name, call in calls.items():
            found[name] = min(found[name], timing.sample(call, counts[name]))
    return found


def one_process() -> dict[str, float]:
    """Nanoseconds of the reference and of the operations that this version can do."""
    calls: dict[str, timing.Call] = {"reference": reference}
    for name, prepare in operations.HISTORY.items():
        with contextlib.suppress(NotImplementedError), common.since("0.4.0"):
            call = prepare(common.interpreter)
            call()
            calls[name] = call
    return least(calls, SECONDS)


def one_process_of_litert() -> dict[str, float]:
    """The same of LiteRT, for what it has as well. Raises: NotImplementedError if it is not installed."""
    try:
        peers.litert(model_content=common.model("chain 1"))
    except ImportError as error:
        raise NotImplementedError(str(error)) from error
    calls: dict[str, timing.Call] = {"reference": reference}
    for name in operations.HISTORY.keys() & operations.API.keys():
        calls[name] = operations.API[name](peers.litert)
        calls[name]()
    return least(calls, SECONDS)


def measure(process: str = "one_process") -> dict[str, float]:
    """Costs of the operations in units of the reference, each in several processes."""
    found = [apart.call("milestones", process) for _ in range(PROCESSES)]
    times = {name: min(one[name] for one in found) for name in found[0]}
    unit = times.pop("reference")
    return {name: cost / unit for name, cost in times.items()}


@common.suite
class Cost(counted.PerOperation):
    """Cost that a user feels, in units of the reference."""

    params = [list(operations.HISTORY)]
    deterministic = False

    def setup_cache(self) -> dict[str, float] | str:
        return counted.or_reason(measure)

    def track_cost(self, found: dict[str, float] | str, operation: str) -> float:
        return self.figure(found, operation)

    setup_cache.timeout = 300  # type: ignore[attr-defined]
    track_cost.unit = "references"  # type: ignore[attr-defined]


@common.suite
class Peer(counted.PerOperation):
    """LiteRT's cost in the same units, on the same machine and day."""

    params = [[name for name in operations.HISTORY if name in operations.API]]
    deterministic = False

    def setup_cache(self) -> dict[str, float] | str:
        return counted.or_reason(lambda: measure("one_process_of_litert"))

    def track_cost(self, found: dict[str, float] | str, operation: str) -> float:
        return self.figure(found, operation)

    setup_cache.timeout = 300  # type: ignore[attr-defined]
    track_cost.unit = "references"  # type: ignore[attr-defined]


class Instructions(counted.Instructions):
    """Instructions of the whole call, Python's included, at a level that valgrind knows."""

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
