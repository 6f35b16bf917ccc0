"""With several threads, runs are tried with the other threads and without; results do not depend on that."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import numpy as np
from built import custom_chain, floats, ready, relu_chain, resized, run
from processes import comes_true

from minilite import Interpreter

LARGE = 40_000
"""Elements of several blocks."""


def test_short_runs_are_tried_both_ways() -> None:
    """A run of which no try ends within 20 ms, as on a busy machine, is not tried alone."""
    x = np.linspace(-1, 1, LARGE, dtype=np.float32)

    def alone() -> list[int]:
        interpreter, found = ready(relu_chain(size=LARGE), num_threads=2), []
        for _ in range(9):
            np.testing.assert_array_equal(run(interpreter, x)[0], np.maximum(x, 0))
            found.append(interpreter.counters["runs_alone"])
        return found

    assert comes_true(lambda: alone() == [0, 0, 0, 0, 0, 1, 2, 3, 4])


def test_choice_of_one_thread_is_kept_per_size() -> None:
    """All later runs of a size are made on one thread, or none is; another size has a choice of its own."""
    x = np.ones(LARGE, np.float32)

    def alone() -> list[int]:
        interpreter, found = ready(relu_chain(size=LARGE), num_threads=2), []
        for size, runs in ((LARGE, 12), (LARGE // 2, 1), (LARGE, 5)):
            resized(interpreter, size)
            for _ in range(runs):
                run(interpreter, x[:size])
            found.append(interpreter.counters["runs_alone"])
        return found

    assert comes_true(lambda: alone() in ([4, 4, 4], [7, 7, 12]))


def waiting(seconds: Callable[[], float]) -> Interpreter:
    """A model whose runs take so long."""
    return ready(custom_chain("Wait"), num_threads=2, custom_ops={"Wait": lambda _, x: (time.sleep(seconds()), x)[1]})


def test_long_runs_are_not_tried_alone() -> None:
    interpreter = waiting(lambda: 0.021)
    for _ in range(12):
        run(interpreter, floats(1, 2, 3, 4))
    assert interpreter.counters["runs_alone"] == 0


def test_millisecond_runs_faster_on_one_thread_are_retried_soon() -> None:
    def alone() -> list[int]:
        turns, found = itertools.count(), []
        interpreter = waiting(lambda: 0.012 if next(turns) in (1, 2, 3, 4) else 0.0011)
        for _ in range(262):
            run(interpreter, floats(1, 2, 3, 4))
            found.append(interpreter.counters["runs_alone"])
        return [found[8], *found[256:]]

    assert comes_true(lambda: alone() == [4, 252, 252, 252, 252, 252, 253])


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
