"""Numbered work in a child of this process, which is replaced when it ends: LiteRT ends processes."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NamedTuple

AT_ONCE = 50
"""The work of one child, so that what LiteRT loses is given back."""


class Ended(NamedTuple):
    """The answer of work at which its child ended."""

    status: int
    """As os.waitstatus_to_exitcode: a signal is negative."""


def silent() -> None:
    """Discards what is written to stderr: LiteRT's reports."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def answers(
    work: Callable[[int], Any], numbers: Sequence[int], begin: Callable[[], object] = silent
) -> Iterator[tuple[int, Any]]:
    """Each number with what `work` returns for it in a child, or Ended. A child first calls `begin`."""
    left = numbers
    while left:
        part, done = left[:AT_ONCE], 0
        child = _child(work, part, begin)
        while True:
            try:
                answer = next(child)
            except StopIteration as end:
                status: int = end.value
                break
            yield part[done], answer
            done += 1
        if done < len(part):
            yield part[done], Ended(status)
            done += 1
        left = left[done:]


def _child(
    work: Callable[[int], Any], numbers: Sequence[int], begin: Callable[[], object]
) -> Generator[Any, None, int]:
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(work, numbers, begin, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as source:
        while True:
            try:
                yield pickle.load(source)
            except (EOFError, pickle.UnpicklingError):  # the latter if it ended amid an answer
                break
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _work(work: Callable[[int], Any], numbers: Sequence[int], begin: Callable[[], object], writing: int) -> None:
    """Does the work, and ends this process."""
    status = 1
    try:
        begin()
        with os.fdopen(writing, "wb") as sink:
            for number in numbers:
                pickle.dump(work(number), sink)
                sink.flush()
        status = 0
    except BrokenPipeError:
        pass  # nobody asks for the answers any more
    except BaseException:  # noqa: BLE001 - this process must not go on as its parent does
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)
