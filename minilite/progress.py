"""Progress of work that may take long: one line on standard error, if that is a terminal, and gone when the work ends.

    for size in progress(sizes, "size"):            # items of known number: "size 3 of 20, 4 s"
        ...
    with working("planning") as work:               # the rest: "planning, 4 s"
        ...
        work.what = "planning by the exact search"  # may change meanwhile

Nothing is shown in the first second, or if standard error is not a terminal, so callers need not check. With `rich`
(the extra `terminal`) the line has a bar and the time that is left; colours are rich's, and NO_COLOR turns them off.
One line at a time: do not use one within another.

Functions of the library print nothing by themselves. Those that take long accept a `Progress`, which is `silent` unless
the command passes `progress`:

    def sweep(sizes: Sequence[int], progress: Progress = silent) -> list[Point]:
        return [measured(size) for size in progress(sizes, "size")]
"""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, Protocol, TypeVar

from minilite.errors import visible
from minilite.terminal import rewrite, shows_progress

_SLOW, _PAUSE = 1.0, 0.25
"""Seconds before anything is shown, and between updates."""
T = TypeVar("T")


class Progress(Protocol):
    """A function that yields the items one by one, and may show the progress."""

    def __call__(self, items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
        """`what` names one item; `total` is their number, for `items` without a length."""


class Work:
    """The text of the line; it may be changed during the work."""

    def __init__(self, what: str, total: int | None = None) -> None:
        self.what = what
        self.started = 0
        """The number of items begun."""
        self.total = total
        """The number of all items; None if unknown."""

    def __str__(self) -> str:
        return self.what if self.total is None else f"{self.what} {self.started} of {self.total}"


def silent(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:  # noqa: ARG001 - as `progress`
    """The items, and nothing shown."""
    return iter(items)


def progress(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yields the items; if they take long, the line shows how many are begun."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    with working(what, total) as work:
        for item in items:
            work.started += 1
            yield item


@contextlib.contextmanager
def working(what: str, total: int | None = None) -> Iterator[Work]:
    """Shows work that takes long, and since when. The caller counts `work.started` if there is a total."""
    work = Work(what, total)
    if not shows_progress():
        yield work
        return

    done = threading.Event()
    thread = threading.Thread(target=tick, args=(done, work), daemon=True)
    thread.start()
    try:
        yield work
    finally:
        done.set()
        thread.join()


def tick(done: Any, work: Work) -> None:
    """Shows the work, after the first second, until `done` is set; then wipes it away."""
    started = time.monotonic()
    if done.wait(_SLOW):
        return
    line = _BarLine(work) if importlib.util.find_spec("rich") else _PlainLine()
    while True:
        line.show(work, time.monotonic() - started)
        if done.wait(_PAUSE):
            break
    line.wipe()


class _PlainLine:
    """The text and the seconds."""

    def show(self, work: Work, seconds: float) -> None:
        room = (shutil.get_terminal_size((100, 24)).columns or 100) - 1  # some terminals say 0
        rewrite(visible(f"{work}, {seconds:.0f} s")[:room])

    def wipe(self) -> None:
        rewrite("")


class _BarLine:
    """A bar by rich, with the seconds so far and those that are left."""

    def __init__(self, work: Work) -> None:
        from rich.console import Console  # long to import: only for work that is long itself
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        counted = (BarColumn(), TimeRemainingColumn()) if work.total is not None else ()
        text = TextColumn("{task.description}, {task.fields[seconds]:.0f} s", markup=False)
        self._bars = Bars(
            text, *counted, console=Console(stderr=True), transient=True, auto_refresh=False,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._task = self._bars.add_task(visible(str(work)), total=work.total, seconds=0.0)
        self._bars.start()

    def show(self, work: Work, seconds: float) -> None:
        finished = max(0, work.started - 1)
        self._bars.update(self._task, description=visible(str(work)), completed=finished, seconds=seconds, refresh=True)

    def wipe(self) -> None:
        self._bars.stop()
