"""Whole networks by number of threads, in wall-clock time, because the CPU time of one thread does not show the
gain."""

from __future__ import annotations

import time

from . import common


class Models:
    """A run; where threads share processors with other work, it says less."""

    params = [["conv", "layers float32", "layers int8", "large layers float32", "large layers int8"], [1, 2, 4]]
    param_names = ["model", "threads"]
    timer = time.perf_counter

    def setup(self, name: str, threads: int) -> None:
        with common.since("0.4.0"):
            self.interpreter, _, _ = common.ready(name, threads=threads)

    def time_invoke(self, _: str, __: int) -> None:
        self.interpreter.invoke()
