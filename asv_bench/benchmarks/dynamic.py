"""Graphs full of dynamic tensors: the bad case of the article on TFLite's arena, by form, size and share of dynamic
steps."""

from __future__ import annotations

import itertools

from . import common, dynamic_family

NODES, PERCENT = [50, 200, 800], [0, 50, 100]


class Family:
    """Times of a run: steady, with sizes that change between two sets, and with sizes that come back after 16 runs
    only."""

    params = [list(dynamic_family.FORMS), NODES, PERCENT]
    param_names = ["form", "nodes", "percent_dynamic"]
    timeout = 120

    def setup(self, form: str, nodes: int, percent: int) -> None:
        with common.since("0.4.0"):
            self.runner = dynamic_family.Runner(dynamic_family.draw(form, nodes, percent), common.interpreter)
            for turn in (1, 0, 1, 0):
                self.runner.run(turn)
        self.two = itertools.cycle((1, 0))
        self.many = itertools.cycle([*range(1, 16), 0])

    def time_steady(self, *_: object) -> None:
        self.runner.interpreter.invoke()

    def time_two_sizes(self, *_: object) -> None:
        self.runner.run(next(self.two))

    def time_sixteen_sizes(self, *_: object) -> None:
        self.runner.run(next(self.many))


@common.suite
class Counts:
    """Counts of work that one run at new sizes repeats, and the arena after sixteen such runs."""

    params = [list(dynamic_family.FORMS), [200], PERCENT]
    param_names = Family.param_names
    deterministic = True
    timeout = 120

    def setup(self, form: str, nodes: int, percent: int) -> None:
        with common.since("0.4.0"):
            self.runner = dynamic_family.Runner(dynamic_family.draw(form, nodes, percent), common.interpreter)
            for turn in range(16):
                self.runner.run(turn)

    def _counted(self, name: str) -> int:
        before = common.counter(self.runner.interpreter, name)
        self.runner.run(3)
        return common.counter(self.runner.interpreter, name) - before

    def track_nodes_prepared(self, *_: object) -> int:
        return self._counted("nodes_prepared")

    def track_plans(self, *_: object) -> int:
        return self._counted("plans")

    def track_arena(self, *_: object) -> int:
        return int(self.runner.interpreter.arena_bytes)

    track_nodes_prepared.unit = "count"  # type: ignore[attr-defined]
    track_plans.unit = "count"  # type: ignore[attr-defined]
    track_arena.unit = "bytes"  # type: ignore[attr-defined]
