"""Two and more threads on one interpreter: each call is served, or refused with the reason, and memory is never
corrupted.

Each case runs for a second or two, in a process of its own. What it does is bounded by time, but the verdict is not
a matter of luck: whatever happens in between, only these answers are right; and what has to happen gets more time.
"""

from __future__ import annotations

import collections
import random
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import graph_with, ready
from processes import TESTS, apart, comes_true, in_subprocess
from trust.at_any_time import AT_ANY_TIME

from minilite.errors import InputError, ShapeError, StateError
from minilite.format.dtypes import TensorType


def in_threads(seconds: float, *calls: Callable[[], object]) -> None:
    """Makes each call over and over in a thread of its own; fails with what they raise."""
    end, raised = time.monotonic() + seconds, collections.Counter[str]()

    def repeat(call: Callable[[], object]) -> None:
        try:
            while time.monotonic() < end:
                call()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not allowed
            raised[f"{type(error).__name__}: {error}"] += 1

    threads = [threading.Thread(target=repeat, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not raised, raised


def but_for(errors: Any, call: Callable[[], object]) -> Callable[[], object]:
    """The call, which may raise one of these errors if its text says why."""

    def tried() -> None:
        try:
            call()
        except errors as error:
            if not str(error):
                raise AssertionError(type(error)) from error

    return tried


def read_while_another_thread_resizes(what: str) -> None:
    model = graph_with(lambda g: [g.node("RELU", [g.input("x", (2, 4), signature=(-1, 4))], out=("y", (2, 4)))])
    interpreter, dice = ready(model), random.Random(1)

    def resize() -> None:
        interpreter.resize_tensor_input(0, (dice.choice([1, 10, 1000, 100_000, 300_000]), 4))
        interpreter.allocate_tensors()
        interpreter.invoke()
        interpreter.trim()

    def set_ones() -> None:
        shape = tuple(interpreter.get_input_details()[0]["shape"])
        interpreter.set_tensor(0, np.ones(shape, np.float32))

    def look() -> None:
        assert interpreter.counters["invokes"] >= 0
        assert interpreter.arena_bytes >= 0

    reads: dict[str, Callable[[], object]] = {
        "get_tensor": lambda: interpreter.get_tensor(0),
        "set_tensor": set_ones,
        "tensor": lambda: interpreter.tensor(0)()[-1].sum(),
        "details": interpreter.get_tensor_details,
        "counters": look,
    }
    errors = (StateError, InputError) if what == "set_tensor" else StateError  # the shape may be another by now
    readers = [but_for(errors, reads[what])] * (1 if what == "tensor" else 3)  # too many views leave nobody to resize
    in_threads(1.8, but_for(StateError, resize), *readers)
    interpreter.resize_tensor_input(0, (2, 4))
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.ones((2, 4), np.float32))
    interpreter.invoke()
    assert interpreter.get_tensor(1).tolist() == [[1] * 4] * 2


@pytest.mark.parametrize("name", ["get_tensor", "set_tensor", "tensor", "details", "counters"])
def test_reading_while_another_thread_resizes(name: str) -> None:
    apart(read_while_another_thread_resizes, name)


def write_and_read_at_once(size: int, kind: str) -> None:
    def build(g: Any) -> list[int]:
        x = g.input("x", (size,), TensorType[kind])
        return [g.node("SHAPE", [x], out=("y", (1,), TensorType.INT32), options={"out_type": "INT32"})]

    interpreter, dtype = ready(graph_with(build)), np.float32 if kind == "FLOAT32" else np.uint8
    interpreter.set_tensor(0, np.zeros(size, dtype))

    def write(value: int) -> None:
        interpreter.set_tensor(0, np.full(size, value, dtype))

    def read() -> None:
        found = np.unique(interpreter.get_tensor(0))
        assert len(found) == 1, found

    in_threads(1.0, lambda: write(1), lambda: write(2), read, read)


@pytest.mark.parametrize(("size", "kind"), [(16, "FLOAT32"), (2000, "UINT8"), (100_000, "FLOAT32")])
def test_copies_are_whole(size: int, kind: str) -> None:
    apart(write_and_read_at_once, size, kind)


def fail_in_four_threads() -> None:
    def build(g: Any) -> list[int]:
        x, shape = g.input("x", (2, 4)), g.input("s", (2,), TensorType.INT32)
        return [g.node("RESHAPE", [x, shape], out=("y", (2, 4)))]

    interpreter = ready(graph_with(build))  # the shape is (0, 0): every run is refused
    with pytest.raises(ShapeError) as caught:
        interpreter.invoke()
    refusal = str(caught.value)

    def invoke() -> None:
        try:
            interpreter.invoke()
        except (ShapeError, StateError) as error:
            if str(error) != refusal and "running" not in str(error):
                raise AssertionError(repr(error)) from error

    in_threads(1.5, *[invoke] * 4)


def test_every_thread_gets_its_own_error() -> None:
    apart(fail_in_four_threads)


def hammer(threads: int) -> None:
    """Any mix of calls, twice as long each time until each was served once, and several threads were in each other's
    way; a fault or a crash shows in the status."""
    tool, options = str(TESTS / "trust"), ("--threads", str(threads), "--models", "wide,signatures")
    seconds = 1.0

    def each_was_served() -> bool:
        nonlocal seconds
        seconds *= 2
        arguments = [tool, "threads", "--seconds", str(seconds), *options]
        run = f"import runpy, sys; sys.argv = {arguments}; runpy.run_path({tool!r}, run_name='__main__')"
        status, output = in_subprocess(run, seconds=60 + seconds)
        assert status == 0, output
        refused = set(re.findall(r"(busy|view held|not ready|other size|two sizes|any input|cancelled) \d", output))
        # Alone, an output may have no value yet, and inputs any values after a resize; nobody else is in the way.
        assert threads > 1 or refused <= {"not ready", "any input"}
        return output.count("served") == len(AT_ANY_TIME) and (threads == 1 or "busy" in refused)

    assert comes_true(each_was_served)


def test_all_calls_in_turn() -> None:
    """One thread is refused nothing."""
    hammer(1)


def test_all_calls_in_eight_threads() -> None:
    hammer(8)
