"""Traces as their viewers read them: speedscope, which sorts beginnings and ends, and Perfetto, which takes whole
slices."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from built import ready
from state.test_memory_limits import squaring_loop
from test_profile import chain, dense

from minilite._native.timing import Timing
from minilite.engine.engine import engine_of
from minilite.profiling.profile import profile
from minilite.profiling.trace import trace_text

Event = dict[str, Any]
Paths = list[tuple[str, ...]]
"""For each slice in the order of beginnings, its name after those of the slices around it."""


def by_thread(text: str) -> list[list[Event]]:
    events = [event for event in json.loads(text)["traceEvents"] if event["ph"] != "M"]
    assert {event["ph"] for event in events} == {"X"}
    return [
        [event for event in events if event["tid"] == thread]
        for thread in range(1 + max(event["tid"] for event in events))
    ]


def speedscope(events: list[Event]) -> Paths:
    """A whole event is a beginning and an end, ts + dur as doubles. Both are sorted; of two at one time the end comes
    first, unless it is that of the beginning. An end has to be that of the innermost slice."""
    begins = sorted(events, key=lambda event: event["ts"])
    ends = sorted(({**event, "ts": event["ts"] + event["dur"]} for event in events), key=lambda event: event["ts"])
    stack: list[str] = []
    found: Paths = []
    while begins or ends:
        at_once = begins and begins[0]["ts"] == ends[0]["ts"]
        if begins and (begins[0]["ts"] < ends[0]["ts"] or (at_once and begins[0]["name"] == ends[0]["name"])):
            stack.append(begins.pop(0)["name"])
            found.append(tuple(stack))
            continue
        same = itertools.takewhile(lambda at: ends[at]["ts"] == ends[0]["ts"], range(len(ends)))
        end = ends.pop(next((at for at in same if ends[at]["name"] == stack[-1]), 0))
        assert end["name"] == stack[-1], f"Tried to end {end['name']} when {stack[-1]} was on top"
        stack.pop()
    assert stack == []
    return found


def perfetto(events: list[Event], nanoseconds: Callable[[float], int]) -> Paths:
    """Times and durations become nanoseconds, each by itself. A slice lies in the last one that has not ended when it
    begins, and must end within it."""
    stack: list[tuple[int, str]] = []
    found: Paths = []
    for event in sorted(events, key=lambda event: nanoseconds(event["ts"])):
        start = nanoseconds(event["ts"])
        end = start + nanoseconds(event["dur"])
        while stack and stack[-1][0] <= start:
            stack.pop()
        assert not stack or end <= stack[-1][0], f"{event['name']} ends after {stack[-1][1]}"
        stack.append((end, event["name"]))
        found.append(tuple(name for _, name in stack))
    return found


def read(text: str) -> list[Paths]:
    """The slices of each thread; all viewers have to see the same."""
    found = []
    for events in by_thread(text):
        seen = speedscope(events)
        for nanoseconds in (lambda us: round(us * 1000), lambda us: int(us * 1000)):
            assert perfetto(events, nanoseconds) == seen
        assert all(event["dur"] > 0 for event in events)
        found.append(seen)
    return found


class Drawn:
    """Runs of nodes with subgraphs and blocks, by a clock that moves by random steps."""

    def __init__(self, seed: int, least: int) -> None:
        self.random, self.least = random.Random(seed), least
        self.now = self.random.randrange(1 << 50)
        self.events: list[tuple[int, int, int, int]] = []
        self.columns: list[Any] = []
        self.expected: Paths = []
        spans = []
        for number in range(self.random.randrange(1, 5)):
            spans.append((self.now, self._run((f"run {number}",))))
            self._pass(0)
        noted = np.array(self.events, [("start", "i8"), ("end", "i8"), ("node", "i4"), ("worker", "i4")])
        self.text = trace_text(Timing(np.zeros(0), np.array(spans), noted, 0), self.columns)

    def _pass(self, least: int) -> int:
        """Whole microseconds at times, since they are exact as doubles, and what is not."""
        self.now += max(least, self.random.choice((0, 1, 2, 7, 30, 999, 1000, 8546, 123457)))
        return self.now

    def _run(self, path: tuple[str, ...]) -> int:
        self.expected.append(path)
        for _ in range(self.random.randrange(1, 6)):
            self._node(path, 0)
        return self.now

    def _node(self, path: tuple[str, ...], frame: int) -> None:
        """A node begins when the one before it ends, or when the subgraph begins, and ends with its own last node."""
        place, start = len(self.columns), self.now
        self.columns.append(SimpleNamespace(node=place, op="ADD", frame=frame, name="y", shape=(1,), kernel="add"))
        name = f"{place} ADD"
        self.expected.append((*path, name))
        for _ in range(self.random.randrange(4) if frame < 3 else 0):
            self._node((*path, name), frame + 1)
        for _ in range(self.random.randrange(3)):
            begun = self.now
            self.expected.append((*path, name, name))
            self.events.append((begun, self._pass(self.least), place, 0))
            self.events.append((begun, self.now, place, 1))
        if self.now == start or self.random.random() < 0.5:
            self._pass(self.least)
        self.events.append((start, self.now, place, -1))


@pytest.mark.parametrize("seed", range(60))
def test_slices_nest_as_they_ran_in_every_viewer(seed: int) -> None:
    drawn = Drawn(seed, least=10)
    first, *others = read(drawn.text)
    assert first == drawn.expected
    assert [len(path) for paths in others for path in paths] == [1] * sum(event[3] == 1 for event in drawn.events)


@pytest.mark.parametrize("seed", range(60))
def test_slices_do_not_cross_when_the_clock_stands_still(seed: int) -> None:
    drawn = Drawn(seed, least=0)
    found = read(drawn.text)
    assert sum(map(len, found)) == len(drawn.expected) + sum(event[3] == 1 for event in drawn.events)


def test_times_are_moved_by_a_few_nanoseconds_at_most() -> None:
    drawn = Drawn(7, least=30)
    origin = min(event[0] for event in drawn.events)
    ends = {(event[2], max(event[3], 0), event[1]) for event in drawn.events}
    for thread, events in enumerate(by_thread(drawn.text)):
        for event in events:
            if event["cat"] == "node":
                end = origin + (event["ts"] + event["dur"]) * 1000
                place = int(event["name"].split()[0])
                assert any(at == place and on == thread and -1 < end - time < 30 for at, on, time in ends)


def ticks(step: Iterator[int]) -> Callable[[], int]:
    now = itertools.accumulate(step)
    return lambda: next(now)


@pytest.mark.parametrize("steps", [(7,), (0, 8546), (0, 1), (588484, 8546, 1)])
@pytest.mark.parametrize("model", ["chain", "dense", "loop"])
def test_profiles_of_models_are_read_without_a_complaint(model: str, steps: tuple[int, ...]) -> None:
    interpreter = ready({"chain": chain(5), "dense": dense(1 << 12), "loop": squaring_loop(3)}[model])
    found = profile(engine_of(interpreter).session(), 4, trace=True, clock=ticks(itertools.cycle(steps)))
    (paths,) = read(found.trace())
    runs = [path for path in paths if len(path) == 1]
    assert runs == [(f"run {number}",) for number in range(4)]
    assert max(map(len, paths)) > 1
