"""Writes timed runs in the format of Chrome's traces, which Perfetto and speedscope read, too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite.text import shape_text

if TYPE_CHECKING:
    from minilite._native.timing import Timing
    from minilite.profiling.profile import NodeTime

_PROCESS = 1
_GAP = 2
"""The least number of nanoseconds between two times of a thread. Viewers read microseconds as doubles, add up a time
and a duration, or cut off what is below a nanosecond; with less between them, a slice could end after the next one
begins."""


class _Slice(NamedTuple):
    """A run, a node or a block of one thread, from one nanosecond to another."""

    start: int
    end: int
    name: str
    kind: str
    """The category in the trace: a run, a node, or one of its blocks."""
    details: dict[str, str]


def trace_text(timing: Timing, columns: Sequence[NodeTime | None]) -> str:
    """Returns the trace as JSON. `columns` are the nodes by their position in the timing.

    Times are microseconds since the first run began. Each thread is a track: the caller's has runs, in them nodes, in
    these the nodes of their subgraphs and the caller's blocks; the other tracks have the blocks of the pool's threads.
    """
    threads = _threads(timing, columns)
    names = {0: "the caller's thread"} | {number: f"thread {number}" for number in range(1, len(threads))}
    events: list[dict[str, Any]] = [_about("process_name", "minilite")]
    events += [_about("thread_name", name, tid=number) for number, name in names.items()]
    for number, slices in enumerate(threads):
        events += _placed(slices, number, int(timing.spans[0, 0]))
    other = {"events_lost": timing.lost}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}, ensure_ascii=False)


def _about(what: str, name: str, **thread: int) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": _PROCESS, **thread, "args": {"name": name}}


def _threads(timing: Timing, columns: Sequence[NodeTime | None]) -> list[list[_Slice]]:
    """Returns the slices of each thread by their begin; of slices that begin at once, the outer one comes first."""
    runs = [_Slice(start, end, f"run {i}", "run", {}) for i, (start, end) in enumerate(timing.spans.tolist())]
    found: list[list[tuple[int, int, _Slice]]] = [[(one.start, -1, one) for one in runs]]
    for start, end, place, worker in timing.events.tolist():
        node = columns[place]
        assert node is not None
        while len(found) <= worker:
            found.append([])
        details = {"output": node.name, "shape": shape_text(node.shape), "kernel": node.kernel}
        one = _Slice(start, end, f"{node.node} {node.op}", *(("node", details) if worker < 0 else ("block", {})))
        found[max(worker, 0)].append((start, node.frame if worker < 0 else len(columns), one))
    return [[one for _, _, one in sorted(thread, key=lambda item: item[:2])] for thread in found]


def _placed(slices: Sequence[_Slice], thread: int, origin: int) -> Iterator[dict[str, Any]]:
    """Yields a thread's events. Each is within the one before it or begins after its end: equal times are moved apart
    by _GAP."""
    begun, ended = [0] * len(slices), [0] * len(slices)
    opened: list[int] = []
    last = origin - _GAP

    def put_off(time: int) -> int:
        nonlocal last
        last = max(time, last + _GAP)
        return last

    def close() -> None:
        number = opened.pop()
        ended[number] = put_off(slices[number].end)

    for number, one in enumerate(slices):
        while opened and slices[opened[-1]].end <= one.start:
            close()
        begun[number] = put_off(one.start)
        opened.append(number)
    while opened:
        close()
    for one, start, end in zip(slices, begun, ended, strict=True):
        times = {"ts": (start - origin) / 1e3, "dur": (end - start) / 1e3}
        event = {"ph": "X", "name": one.name, "cat": one.kind, "pid": _PROCESS, "tid": thread, **times}
        yield event | ({"args": one.details} if one.details else {})
