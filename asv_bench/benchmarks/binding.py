"""Passing arrays: copied by set_tensor and get_tensor, read in place by `run`, bound once, or bound again for every run
(two in turn)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import common, timing

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
        self.pairs = [(common.placed(values, 0), common.placed(values, common.PAGE // 2)) for _ in range(2)]
        with common.since("0.4.0"):
            self.copying = common.interpreter(model_content=relu(size))
            self.copying.allocate_tensors()
            self.running = common.interpreter(model_content=relu(size))
            self.running.run(self.pairs[0][0])
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

    def time_run(self, _: int) -> None:
        self.running.run(self.pairs[0][0])

    def track_bytes_of_tensors_after_run(self, _: int) -> int:
        return int(self.running.usage.taken_bytes)

    track_bytes_of_tensors_after_run.unit = "bytes"  # type: ignore[attr-defined]

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
        with common.since("0.4.0"):
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


class Ways:
    """One model's run with its arrays copied in and out, and with them bound: nanoseconds, medians of calls in turn."""

    def __init__(self, model: Any, rounds: int = 15, nanoseconds: int = 4_000_000, **options: Any) -> None:
        copying, bound = (common.interpreter(**model, **options) for _ in range(2))
        self._pairs: list[tuple[int, Any, Any]] = []
        copying.allocate_tensors()
        rng = np.random.default_rng(0)
        for detail in copying.get_input_details():
            values = rng.integers(0, 2, detail["shape"]).astype(detail["dtype"])
            self._pairs.append((detail["index"], common.placed(values, 0), None))
        for detail in copying.get_output_details():
            target = common.placed(np.zeros(detail["shape"], detail["dtype"]), common.PAGE // 2)
            self._pairs.append((detail["index"], None, target))
        self.nbytes = sum((values if target is None else target).nbytes for _, values, target in self._pairs)
        for index, values, target in self._pairs:
            bound.bind_tensor(index, values if target is None else target)
        bound.allocate_tensors()
        self._copying = copying
        self._copy()
        calls = [self._copy, copying.invoke, self._copied_run, bound.invoke]
        medians = [float(np.median(found)) for found in timing.in_turn(calls, rounds, nanoseconds)]
        self.copies, self.run, self.copied_run, self.bound_run = medians

    def _copy(self) -> None:
        for index, values, target in self._pairs:
            if target is None:
                self._copying.set_tensor(index, values)
            else:
                target[...] = self._copying.get_tensor(index)

    def _copied_run(self) -> None:
        self._copy()
        self._copying.invoke()

    @property
    def share(self) -> float:
        """The share that copies take of a run with copies."""
        return self.copies / (self.copies + self.run)


@common.suite
class Copying:
    """The share of a run that copying arrays in and out takes, and the time of a bound run compared with one that
    copies."""

    params = [["layers float32", "layers int8"]]
    param_names = ["model"]

    def setup(self, name: str) -> None:
        with common.since("0.4.0"):
            self.ways = Ways({"model_content": common.model(name)}, rounds=5)

    def track_share_of_copies(self, _: str) -> float:
        return 100 * self.ways.share

    track_share_of_copies.unit = "%"  # type: ignore[attr-defined]

    def track_bound_run_to_copied_run(self, _: str) -> float:
        return self.ways.bound_run / self.ways.copied_run

    track_bound_run_to_copied_run.unit = "ratio"  # type: ignore[attr-defined]
