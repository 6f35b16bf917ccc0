"""Passing arrays: copied by set_tensor and get_tensor, bound once, or bound again for every run (two in turn)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import common

SIZES = [16, 4096, 1048576]


def relu(size: int) -> bytes:
    """One RELU of `size` floats."""
    graph = (made := common.builder("relu")).subgraph()
    x = graph.input("x", (size,))
    graph.output(graph.node("RELU", [x], out=("y", (size,))))
    return bytes(made.build())


@common.suite
class Binding:
    """A run with its arrays, in and out."""

    params = [SIZES]
    param_names = ["floats"]
    deterministic = True

    def setup(self, size: int) -> None:
        values = np.random.default_rng(0).uniform(-1, 1, size).astype(np.float32)
        self.pairs = [(values.copy(), np.empty_like(values)) for _ in range(2)]
        with common.if_there():
            self.copying = common.interpreter(model_content=relu(size))
            self.copying.allocate_tensors()
            self.bound = common.interpreter(model_content=relu(size))
            self.bind(0)
        self.at = 0

    def bind(self, at: int) -> None:
        for tensor, array in enumerate(self.pairs[at]):
            self.bound.bind_tensor(tensor, array)
        self.bound.allocate_tensors()

    def time_copied(self, _: int) -> None:
        self.copying.set_tensor(0, self.pairs[0][0])
        self.copying.invoke()
        self.pairs[0][1][...] = self.copying.get_tensor(1)

    def time_bound(self, _: int) -> None:
        self.bound.invoke()

    def time_rebind_and_run(self, _: int) -> None:
        self.at = 1 - self.at
        self.bind(self.at)
        self.bound.invoke()

    def track_plans_per_rebind(self, _: int) -> int:
        before = common.counter(self.bound, "plans")
        self.bind(1)
        return common.counter(self.bound, "plans") - before

    track_plans_per_rebind.unit = "count"  # type: ignore[attr-defined]


@common.suite
class Arena:
    """Bytes of the arena with inputs and outputs bound, and with what `advise_bind` names bound."""

    params = [["conv", "chain 10"]]
    param_names = ["model"]
    unit = "bytes"
    deterministic = True

    def setup(self, name: str) -> None:
        with common.if_there():
            self.interpreter, source, target = common.ready(name)
            self.interpreter.plan.advise_bind  # noqa: B018 - asks whether it is there
        self.ends = [source, target]

    def _bound(self, tensors: Any) -> int:
        for tensor in tensors:
            shape = self.interpreter.plan.shape(tensor)
            self.interpreter.bind_tensor(tensor, np.zeros(shape, np.float32))
        self.interpreter.allocate_tensors()
        return int(self.interpreter.arena_bytes)

    def track_arena_of_bound_ends(self, _: str) -> int:
        return self._bound(self.ends)

    def track_arena_as_advised(self, _: str) -> int:
        return self._bound([advice.tensor for advice in self.interpreter.plan.advise_bind()])
