"""Timed runs of a state: what every node took in each of them, and what each thread did when."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite._core import ffi, lib

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minilite._native.state import State

    Array = NDArray[Any]

Clock = Callable[[], int]
"""Nanoseconds; any thread of the pool may call it."""
NS, RUNS, SHARED_NS, BLOCKS = range(4)
"""The columns of `Timing.times`."""
_EVENT = np.dtype([("start", np.int64), ("end", np.int64), ("node", np.int32), ("worker", np.int32)])


class Timing(NamedTuple):
    """The times of timed runs, in nanoseconds."""

    times: Array
    """int64 of shape (runs, nodes of all frames, 4): nanoseconds with those of the node's subgraphs, times that it ran,
    nanoseconds in work of more than one block, such blocks."""
    spans: Array
    """int64 of shape (runs, 2): when a run began and ended."""
    events: Array
    """Fields `start`, `end`, `node` (its column in `times`), `worker`: -1 where it is a node, else the thread that
    computed one of its blocks, 0 for the caller's."""
    lost: int
    """Events that had no room."""


class _Clock:
    """A clock of the caller's, and what it raised."""

    def __init__(self, read: Clock) -> None:
        self.read = read
        self.raised: BaseException | None = None

    def __call__(self) -> int:
        try:
            return int(self.read())
        except BaseException as error:  # noqa: BLE001 - C goes on; raised once the run is over
            self.raised = self.raised or error
            return 0


@ffi.def_extern()  # type: ignore[untyped-decorator]
def ml_hook_clock(owner: Any) -> int:
    return ffi.from_handle(owner)()  # type: ignore[no-any-return]


def run_timed(state: State, nodes: int, turns: Iterable[object], room: int = 0, clock: Clock | None = None) -> Timing:
    """Runs the plan in use once per turn. `nodes` are those of all frames, `room` is the most events that are noted.

    Raises: StateError, KernelError, and what the clock raises.
    """
    state.own_lent()
    events = np.zeros(room, _EVENT)
    rows, spans, noted, lost = [], [], 0, 0
    timing = ffi.new("ml_timing *")
    if clock is not None:
        reading = _Clock(clock)
        handle = ffi.new_handle(reading)
        timing.clock, timing.owner = lib.ml_hook_clock, handle
    for _ in turns:
        row = np.zeros((max(1, nodes), 4), np.int64)
        timing.times = ffi.cast("ml_node_time *", ffi.from_buffer(row))
        timing.events = ffi.cast("ml_event *", ffi.from_buffer(events)) + noted if room else ffi.NULL
        timing.room = room - noted
        if failed := lib.ml_state_run_timed(state.pointer, timing):
            state.check(failed)
        if clock is not None and reading.raised is not None:
            raise reading.raised
        found = int(timing.n_events) if room else 0
        lost += max(0, found - (room - noted))
        noted = min(room, noted + found)
        rows.append(row[:nodes])
        spans.append((int(timing.start), int(timing.end)))
    times = np.stack(rows) if rows else np.zeros((0, nodes, 4), np.int64)
    return Timing(times, np.array(spans, np.int64).reshape(-1, 2), events[:noted], lost)
