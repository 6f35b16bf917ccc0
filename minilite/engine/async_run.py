"""Runs in a worker thread, for programs with an event loop: a cancelled task ends its run."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import queue
import threading
import weakref
from concurrent.futures import Future, wait
from functools import partial
from typing import TYPE_CHECKING, Any

from minilite._native.cancel import Cancel

if TYPE_CHECKING:
    from collections.abc import Callable

    from minilite.engine.engine import Engine
    from minilite.format.model import Array

    Made = Future[dict[str, Array]]
    Calls = queue.SimpleQueue[tuple[Made, Callable[[], dict[str, Array]]] | None]

_TIME_TO_END = 1.0
"""Seconds that a process waits for cancelled runs when it exits: in built-in nodes they take 0.2."""
_under_way: dict[Made, Cancel] = {}
"""The token of every call that is not over."""


def _end_all() -> None:
    """Ends the runs whose event loops are gone when the process exits."""
    calls = tuple(_under_way.items())
    for _, token in calls:
        token.cancel()
    wait([made for made, _ in calls], _TIME_TO_END)


atexit.register(_end_all)


def _make(made: Made, call: Callable[[], dict[str, Array]]) -> None:
    if not made.set_running_or_notify_cancel():
        return
    try:
        found = call()
    except BaseException as error:  # noqa: BLE001 - raised where the task waits
        made.set_exception(error)
    else:
        made.set_result(found)


def _serve(calls: Calls) -> None:
    """Makes calls until there is None. It keeps none of them, nor what they belong to, while it waits."""
    while (given := calls.get()) is not None:
        _make(*given)
        del given


def worker_of(engine: Engine) -> Worker:
    """The worker of an Engine, made at its first call in this process."""
    with engine.making:
        if engine.worker is None or not engine.worker.serves():
            engine.worker = Worker()
        worker: Worker = engine.worker
        return worker


class Worker:
    """A thread that makes the runs of one interpreter one after the other; it ends with the interpreter, and does not
    keep the process from exiting."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._calls: Calls = queue.SimpleQueue()
        weakref.finalize(self, self._calls.put, None)
        threading.Thread(target=_serve, args=(self._calls,), name="minilite", daemon=True).start()

    def serves(self) -> bool:
        """True if its thread is in this process: after a fork it is not."""
        return self._process == os.getpid()

    async def run(self, call: Callable[..., dict[str, Array]], *inputs: Any) -> dict[str, Array]:
        """Makes a call that takes a token. When the task is cancelled, a call that has not begun never begins; of one
        that is under way the run is ended, and waited for. Raises: what the call raises."""
        token = Cancel()
        made: Made = Future()
        made.add_done_callback(lambda over: _under_way.pop(over, None))
        try:
            _under_way[made] = token
            waited = asyncio.wrap_future(made)
            self._calls.put((made, partial(call, *inputs, cancel=token)))
            return await asyncio.shield(waited)
        except BaseException as error:
            token.cancel()
            made.cancel()  # without effect once it has begun
            if not isinstance(error, asyncio.CancelledError):
                raise
            while not waited.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([waited])
            if not waited.cancelled():
                waited.exception()  # it has been seen
            raise
