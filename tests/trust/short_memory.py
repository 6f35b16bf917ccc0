"""Runs a list of steps again and again, each time with another request for memory that fails.

Requests of the core (memory of any kind, threads, mapped files) fail in builds with ML_FAILING alone, see
failing.c; those that Python makes of cffi fail in any build.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import gc
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minilite import _core

Step = Callable[[dict[str, Any]], Any]
"""Does something with the objects of the steps before it, and returns an answer. After a failure it is done again."""
FOREVER = 2**62


class Core:
    """The requests that the core makes."""

    def __init__(self) -> None:
        library = ctypes.CDLL(_core.__file__)
        self.begin = library.ml_failing_begin
        self.begin.argtypes = [ctypes.c_int64, ctypes.c_int64]
        self.begin.restype = None
        self._clock = library.ml_failing_clock
        self._clock.argtypes = [ctypes.c_int64]
        self._clock.restype = None
        self._threads = library.ml_scheduled_begin
        self._threads.argtypes = [ctypes.c_uint64]
        self._threads.restype = None
        self._hand_overs = library.ml_scheduled_hand_overs
        self._hand_overs.restype = ctypes.c_int64
        self._numbers = {}
        for name in ("made", "failed", "blocks", "place"):
            function = self._numbers[name] = getattr(library, f"ml_failing_{name}")
            function.restype = ctypes.c_int64

    def clock(self, step: int) -> None:
        """As ml_failing_clock."""
        self._clock(step)

    def threads(self, seed: int) -> None:
        """As ml_scheduled_begin."""
        self._threads(seed)

    def hand_overs(self) -> int:
        """Counts how often one thread of the core has handed over to another since `threads`."""
        return int(self._hand_overs())

    def number(self, name: str) -> int:
        """Counts the requests, or the failed ones, since `begin`; or the blocks of memory that the core has."""
        return int(self._numbers[name]())

    def in_place(self) -> contextlib.AbstractContextManager[None]:
        """Does nothing, because the library has these functions already."""
        return contextlib.nullcontext()

    def place(self) -> str:
        """Where the last request that failed was made: an address in the library, for addr2line."""
        maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        begin = next(int(line.split("-")[0], 16) for line in maps if _core.__file__ in line)
        return f"{self.number('place') - begin:#x}"


class Seam:
    """The requests that Python makes of cffi: ffi.new."""

    def __init__(self) -> None:
        self._ffi = _core.ffi
        self._first, self._last, self._made, self._failed = 0, 0, 0, 0

    def begin(self, first: int, last: int) -> None:
        """As ml_failing_begin."""
        self._first, self._last, self._made, self._failed = first, last, 0, 0

    def number(self, name: str) -> int:
        """As Core.number; blocks are not counted."""
        return {"made": self._made, "failed": self._failed}.get(name, 0)

    def place(self) -> str:
        """Returns only a name; the traceback says where it was called."""
        return "ffi.new"

    def new(self, *arguments: Any) -> Any:
        """Makes an object as ffi.new does, or fails."""
        self._made += 1
        if self._first and self._first <= self._made <= self._last:
            self._failed += 1
            raise MemoryError
        return self._ffi.new(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ffi, name)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Puts this object in place of `ffi` in the modules that use it."""
        taken = [m for n, m in list(sys.modules.items()) if n.startswith("minilite._native.") and "ffi" in vars(m)]
        for module in taken:
            vars(module)["ffi"] = self
        try:
            yield
        finally:
            for module in taken:
                vars(module)["ffi"] = self._ffi


def has_core() -> bool:
    """True if the core was built with ML_FAILING."""
    return hasattr(ctypes.CDLL(_core.__file__), "ml_failing_begin")


MISTOLD = re.compile(r"needs -|needs 0 |has \d,")
"""Text that no error has: that nothing was asked for, or that growing memory has fewer than ten bytes."""


class Outcome(NamedTuple):
    """Returns the results of the steps, the number of failed steps, and the numbers of failed and of all requests."""

    answers: list[Any]
    refused: int
    failed: int
    made: int


def attempt(steps: Sequence[Step], requests: Core | Seam, first: int, last: int) -> Outcome:
    """The answers of the steps while requests `first` to `last` fail. A step that raises MemoryError is done again with
    all the memory it wants."""
    objects: dict[str, Any] = {}
    answers, refused, failed = [], 0, 0
    requests.begin(first, last)
    for step in steps:
        try:
            answers.append(step(objects))
            continue
        except MemoryError as error:
            told = str(error)
        assert not MISTOLD.search(told), told
        refused, failed = refused + 1, failed + requests.number("failed")
        requests.begin(0, 0)
        answers.append(step(objects))
    failed, made = failed + requests.number("failed"), requests.number("made")
    requests.begin(0, 0)
    objects.clear()
    return Outcome(answers, refused, failed, made)


def same(one: Any, other: Any) -> bool:
    """True if two answers are equal: arrays to the bit."""
    if isinstance(one, dict):
        return list(one) == list(other) and same(list(one.values()), list(other.values()))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        if one.dtype.hasobject:
            return bool(one.tolist() == other.tolist())
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return bool(one == other)


def unreachable_blocks(requests: Core | Seam, before: int) -> int:
    """Counts the blocks of memory added since before, once nothing refers to them."""
    if requests.number("blocks") != before:
        gc.collect()
    return requests.number("blocks") - before


TOTALS: collections.Counter[str] = collections.Counter()
"""Counts of a test: scenarios, requests that failed, steps that were refused for it."""


def each_fails(steps: Sequence[Step], requests: Core | Seam) -> int:
    """Runs the steps once per request: that one fails, or all from that one on. Returns how many failed."""
    attempt(steps, requests, 0, 0)
    gc.collect()
    expected = attempt(steps, requests, 0, 0)
    gc.collect()
    blocks, total = requests.number("blocks"), 0
    for number in range(1, expected.made + 1):
        for last in (number, FOREVER):
            what = f"request {number} of {expected.made} fails{', and all after it' if last != number else ''}"
            try:
                found = attempt(steps, requests, number, last)
            except BaseException as error:
                place = requests.place()
                requests.begin(0, 0)
                raise AssertionError(f"{what} (made at {place})") from error
            assert same(found.answers, expected.answers), f"{what} (made at {requests.place()}): other answers"
            left = unreachable_blocks(requests, blocks)
            assert left == 0, f"{what} (made at {requests.place()}): {left} blocks are left"
            total += found.failed
            TOTALS.update(failed=found.failed, refused=found.refused)
    TOTALS.update(scenarios=1)
    return total
