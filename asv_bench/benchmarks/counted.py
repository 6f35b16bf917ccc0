"""Deterministic costs: what operations do, counted. The same on every run, so that any change in them is a change in
the code."""

from __future__ import annotations

import sys
from typing import Any

from . import common, costs, operations

MODELS = ["conv", "chain 1", "chain 10", "chain 100", "weights 1000"]


@common.suite
class Counters:
    """Counts of things that should happen rarely."""

    params = [MODELS]
    param_names = ["model"]
    unit = "count"
    deterministic = True

    def setup(self, name: str) -> None:
        self.name = name
        with common.since("0.4.0"):
            self.interpreter, self.source, _ = common.ready(name)
            for step in (1, 0):
                self._resize(step)
            self.interpreter.invoke()

    def _resize(self, step: int) -> None:
        common.resize(self.interpreter, self.source, common.shape(self.name, step))

    def _counted(self, counter: str, call: Any, *arguments: Any) -> int:
        before = common.counter(self.interpreter, counter)
        call(*arguments)
        return common.counter(self.interpreter, counter) - before

    def track_plans_per_seen_resize(self, _: str) -> int:
        return self._counted("plans", self._resize, 1)

    def track_plans_per_new_size(self, _: str) -> int:
        return self._counted("plans", self._resize, 2)

    def track_nodes_prepared_per_seen_resize(self, _: str) -> int:
        return self._counted("nodes_prepared", self._resize, 1)

    def track_nodes_prepared_per_new_size(self, _: str) -> int:
        return self._counted("nodes_prepared", self._resize, 2)

    def track_store_lookups_per_new_size(self, _: str) -> int:
        return self._counted("store_lookups", self._resize, 2)

    def track_resolves_per_invoke(self, _: str) -> int:
        return self._counted("resolves", self.interpreter.invoke)

    def track_resolves_per_seen_resize(self, _: str) -> int:
        return self._counted("resolves", self._resize, 1)

    # Their code was changed, what they measure was not: results that asv has by these hashes stay.
    track_plans_per_seen_resize.version = "1804b365dcc510a36c947d1292e084fc95b3c964f4a420de7300f2514277914f"  # type: ignore[attr-defined]
    track_plans_per_new_size.version = "4211ff0197ccf0190b5cc8b2c8310079fcf3a2b1871c18483780bbeccb968406"  # type: ignore[attr-defined]
    track_nodes_prepared_per_seen_resize.version = "a32f2dee47f50117aa8fdbf80c9f04dbb9225abf10033c76f88301c20f119e64"  # type: ignore[attr-defined]
    track_nodes_prepared_per_new_size.version = "64de05f91bc81089311536d5e94554d002a7beda0d6ad7aae68d0e3f2e052233"  # type: ignore[attr-defined]

    def track_c_calls_per_invoke(self, _: str) -> int:
        return c_calls(self.interpreter.invoke)

    def track_c_calls_per_seen_resize(self, _: str) -> int:
        return c_calls(self._resize, 1)


def c_calls(call: Any, *arguments: Any) -> int:
    """The number of the core's functions that a Python call runs."""
    names: list[str] = []

    def profile(_frame: Any, event: str, argument: Any) -> None:
        if event == "c_call" and argument.__name__.startswith("ml_"):
            names.append(argument.__name__)

    sys.setprofile(profile)
    try:
        call(*arguments)
    finally:
        sys.setprofile(None)
    assert names, "no function of the core is named ml_*"
    return len(names)


class PerOperation:
    """One figure per operation, counted for all operations at once."""

    params = [list(operations.ALL)]
    param_names = ["operation"]
    deterministic = True
    timeout = 600

    def figure(self, found: dict[str, float] | str, operation: str) -> float:
        if isinstance(found, str):
            raise NotImplementedError(found)
        if operation not in found:
            message = f"{operation}: not there yet"
            raise common.NotYetError(message)
        return found[operation]


def or_reason(count: Any) -> dict[str, float] | str:
    """The counts that a function returns, or the reason why it cannot count."""
    try:
        found: dict[str, float] = count()
    except NotImplementedError as error:
        return str(error)
    return found


@common.suite
class Allocations(PerOperation):
    """Calls of malloc and its like."""

    def setup_cache(self) -> dict[str, float] | str:
        return or_reason(costs.allocations)

    def track_allocations(self, found: dict[str, float] | str, operation: str) -> float:
        return self.figure(found, operation)

    setup_cache.timeout = 300  # type: ignore[attr-defined]
    track_allocations.unit = "count"  # type: ignore[attr-defined]


@common.suite
class Instructions(PerOperation):
    """Instructions of the whole call, Python's included, under valgrind."""

    tolerance = 0.02

    def setup_cache(self) -> dict[str, float] | str:
        return or_reason(costs.instructions)

    def track_instructions(self, found: dict[str, float] | str, operation: str) -> float:
        return self.figure(found, operation)

    setup_cache.timeout = 600  # type: ignore[attr-defined]
    track_instructions.unit = "instructions"  # type: ignore[attr-defined]
