"""Timed runs in the format of Chrome's traces, which Perfetto and speedscope read as well."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from minilite.text import shape_text

if TYPE_CHECKING:
    from minilite._native.timing import Timing
    from minilite.profiling.profile import NodeTime

_PROCESS = 1


def trace_text(timing: Timing, columns: Sequence[NodeTime | None]) -> str:
    """The trace as JSON. `columns` are the nodes by their place in the timing.

    Times are microseconds since the first run began. Each thread is a track: the caller's has runs, in them nodes, in
    these the nodes of their subgraphs and the caller's blocks; the other tracks have the blocks of the pool's threads.
    """
    origin = int(timing.spans[0, 0])
    events = [*_names(timing), *_runs(timing, origin), *_events(timing, columns, origin)]
    other = {"events_lost": timing.lost}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}, ensure_ascii=False)


def _names(timing: Timing) -> Iterator[dict[str, Any]]:
    """The names of the process and of its threads, in their order."""
    yield {"ph": "M", "name": "process_name", "pid": _PROCESS, "args": {"name": "minilite"}}
    for worker in range(max(0, int(timing.events["worker"].max())) + 1):
        name = f"thread {worker}" if worker else "the caller's thread"
        yield {"ph": "M", "name": "thread_name", "pid": _PROCESS, "tid": worker, "args": {"name": name}}


def _runs(timing: Timing, origin: int) -> Iterator[dict[str, Any]]:
    for number, (start, end) in enumerate(timing.spans.tolist()):
        yield _slice(f"run {number}", "run", 0, start - origin, end - start)


def _events(timing: Timing, columns: Sequence[NodeTime | None], origin: int) -> Iterator[dict[str, Any]]:
    for start, end, place, worker in sorted(timing.events.tolist(), key=lambda event: (event[0], -event[1])):
        node = columns[place]
        assert node is not None
        found = _slice(
            f"{node.node} {node.op}", "node" if worker < 0 else "block", max(worker, 0), start - origin, end - start
        )
        if worker < 0:
            found["args"] = {"output": node.name, "shape": shape_text(node.shape), "kernel": node.kernel}
        yield found


def _slice(name: str, kind: str, thread: int, start: int, length: int) -> dict[str, Any]:
    times = {"ts": start / 1e3, "dur": length / 1e3}
    return {"ph": "X", "name": name, "cat": kind, "pid": _PROCESS, "tid": thread, **times}
