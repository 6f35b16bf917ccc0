"""Runs in a worker thread, for programs with an event loop: a cancelled task ends its run."""

from __future__ import annotations

import asyncio
import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from minilite._native.cancel import Cancel

if TYPE_CHECKING:
    from collections.abc import Callable

    from minilite.format.model import Array


class Worker:
    """A thread that makes the runs of one interpreter one after the other; it ends with the interpreter."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._executor = ThreadPoolExecutor(1, "minilite")

    def serves(self) -> bool:
        """Whether its thread is in this process: after a fork it is not."""
        return self._process == os.getpid()

    async def run(self, call: Callable[..., dict[str, Array]], *inputs: Any) -> dict[str, Array]:
        """Makes a call that takes a token. When the task is cancelled, a call that has not begun never begins; of one
        that is under way the run is ended, and waited for. Raises: what the call raises."""
        token = Cancel()
        made = self._executor.submit(call, *inputs, cancel=token)
        waited = asyncio.wrap_future(made)
        try:
            return await asyncio.shield(waited)
        except asyncio.CancelledError:
            token.cancel()
            made.cancel()
            while not waited.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([waited])
            if not waited.cancelled():
                waited.exception()  # it has been seen
            raise
