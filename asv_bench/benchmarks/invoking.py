"""The time of a steady run, and how much each further node adds."""

from __future__ import annotations

import statistics
import time

from . import common


class Invoke:
    """One call of `invoke`."""

    params = [["conv", "chain 1", "chain 10", "chain 100", "chain 1000"]]
    param_names = ["model"]

    def setup(self, name: str) -> None:
        with common.since("0.4.0"):
            self.interpreter, _, _ = common.ready(name)

    def time_invoke(self, _: str) -> None:
        self.interpreter.invoke()


@common.suite
class Node:
    """The cost of one more node in a chain: an ADD of one row of 16 floats."""

    unit = "ns"

    def setup(self) -> None:
        with common.since("0.4.0"):
            self.short, _, _ = common.ready("chain 1")
            self.long, _, _ = common.ready("chain 1001")

    def _once(self) -> float:
        clock, times = time.thread_time_ns, range(20)
        start = clock()
        for _ in times:
            self.long.invoke()
        between = clock()
        for _ in times:
            self.short.invoke()
        return (2 * between - start - clock()) / len(times) / 1000

    def track_further_node(self) -> float:
        return statistics.median(self._once() for _ in range(100))
