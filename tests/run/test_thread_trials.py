"""With several threads, runs are tried with the other threads and without; results do not depend on that."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import numpy as np
from built import custom_chain, floats, ready, relu_chain, resized, run

from minilite import Interpreter

LARGE = 40_000
"""Elements of several blocks."""


def test_short_runs_are_tried_both_ways() -> None:
    interpreter = ready(relu_chain(size=LARGE), num_threads=2)
    x = np.linspace(-1, 1, LARGE, dtype=np.float32)
    alone = []
    for _ in range(9):
        np.testing.assert_array_equal(run(interpreter, x)[0], np.maximum(x, 0))
        alone.append(interpreter.counters["runs_alone"])
    assert alone == [0, 0, 0, 0, 0, 1, 2, 3, 4]


def test_choice_of_one_thread_is_kept_per_size() -> None:
    interpreter = ready(relu_chain(size=LARGE), num_threads=2)
    x = np.ones(LARGE, np.float32)
    for _ in range(12):
        run(interpreter, x)
    found = interpreter.counters["runs_alone"]
    assert found in (4, 7)
    resized(interpreter, LARGE // 2)
    run(interpreter, x[: LARGE // 2])
    assert interpreter.counters["runs_alone"] == found
    resized(interpreter, LARGE)
    for _ in range(5):
        run(interpreter, x)
    assert interpreter.counters["runs_alone"] == found + (5 if found == 7 else 0)


def waiting(seconds: Callable[[], float]) -> Interpreter:
    """A model whose runs take so long."""
    return ready(custom_chain("Wait"), num_threads=2, custom_ops={"Wait": lambda _, x: (time.sleep(seconds()), x)[1]})


def test_long_runs_are_not_tried_alone() -> None:
    interpreter = waiting(lambda: 0.021)
    for _ in range(12):
        run(interpreter, floats(1, 2, 3, 4))
    assert interpreter.counters["runs_alone"] == 0


def test_millisecond_runs_faster_on_one_thread_are_retried_soon() -> None:
    turns = itertools.count()
    interpreter = waiting(lambda: 0.012 if next(turns) in (1, 2, 3, 4) else 0.0011)
    alone = []
    for _ in range(262):
        run(interpreter, floats(1, 2, 3, 4))
        alone.append(interpreter.counters["runs_alone"])
    assert alone[8] == 4
    assert alone[256:] == [252, 252, 252, 252, 252, 253]


def test_one_thread_counts_nothing() -> None:
    interpreter = ready(relu_chain())
    for _ in range(12):
        interpreter.invoke()
    assert interpreter.counters["runs_alone"] == 0


def test_failed_runs_do_not_count_as_trials_of_threads() -> None:
    fails = []

    def maybe(_: object, x: object) -> object:
        if fails:
            raise ValueError
        return x

    interpreter = ready(custom_chain("Maybe"), num_threads=2, custom_ops={"Maybe": maybe})
    for turn in range(20):
        fails[:] = [turn] if turn % 2 else []
        try:
            run(interpreter, floats(1, 2, 3, 4))
        except ValueError:
            assert turn % 2
    tries = 4 + 4  # the ten that succeed make four alone, and as many fail in between
    assert interpreter.counters["runs_alone"] in (tries, tries + 3)
