"""What everything but arithmetic costs: loading, resizing, planning, running tiny nodes, handing arrays over.

`time_*` are noisy, `track_*` are not: any change in a count or a number of bytes is a change in the code.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import minilite
from minilite import Interpreter

from . import common

MODELS = ["conv", "chain 1", "chain 10", "chain 100"]
SIZES = 64  # more than an interpreter keeps plans


class Load:
    """From bytes to a model that could run."""

    params = [[*MODELS, "chain 1000"]]
    param_names = ["model"]

    def setup(self, name: str) -> None:
        self.content = common.model(name)
        Interpreter(model_content=self.content).allocate_tensors()

    def time_load(self, _: str) -> None:
        Interpreter(model_content=self.content)

    def time_look_at_everything(self, _: str) -> None:
        for subgraph in Interpreter(model_content=self.content).model.subgraphs:
            list(subgraph.tensors)
            list(subgraph.nodes)

    def time_load_and_allocate(self, _: str) -> None:
        Interpreter(model_content=self.content).allocate_tensors()


class Resize:
    """resize_tensor_input and allocate_tensors."""

    params = [MODELS]
    param_names = ["model"]

    def setup(self, name: str) -> None:
        self.interpreter, self.source, _ = common.ready(name)
        self.shapes = [common.shape(name, step) for step in range(SIZES)]
        self.at = 0

    def time_same(self, _: str) -> None:
        common.resize(self.interpreter, self.source, self.shapes[0])

    def time_seen(self, _: str) -> None:
        self.at = 1 - self.at
        common.resize(self.interpreter, self.source, self.shapes[self.at])

    def time_new(self, _: str) -> None:
        self.at = (self.at + 1) % SIZES
        common.resize(self.interpreter, self.source, self.shapes[self.at])

    def time_plan_for(self, _: str) -> None:
        self.interpreter.plan_for({self.source: self.shapes[3]})


class Invoke:
    """A steady run."""

    params = [MODELS]
    param_names = ["model"]

    def setup(self, name: str) -> None:
        self.interpreter, _, _ = common.ready(name)

    def time_invoke(self, _: str) -> None:
        self.interpreter.invoke()


class Tensors:
    """Arrays in and out."""

    def setup(self) -> None:
        self.interpreter, self.source, self.target = common.ready("chain 1")
        self.values = np.full((1, common.WIDTH), 0.5, np.float32)
        self.view = self.interpreter.tensor(self.target)

    def time_set_tensor(self) -> None:
        self.interpreter.set_tensor(self.source, self.values)

    def time_get_tensor(self) -> None:
        self.interpreter.get_tensor(self.target)

    def time_view(self) -> None:
        self.view()

    def time_run(self) -> None:
        self.interpreter.run({"x": self.values})


class Memory:
    """Bytes of a plan, and how far they are from the least possible."""

    params = [MODELS]
    param_names = ["model"]
    unit = "bytes"

    def setup(self, name: str) -> None:
        interpreter, _, _ = common.ready(name)
        self.plan = interpreter.plan

    def track_arena(self, _: str) -> int:
        return self.plan.arena_bytes

    def track_over_lower_bound(self, _: str) -> int:
        return self.plan.arena_bytes - self.plan.lower_bound


class Counts:
    """How often things happen that should happen rarely."""

    params = [MODELS]
    param_names = ["model"]
    unit = "count"

    def setup(self, name: str) -> None:
        self.name = name
        self.interpreter, self.source, _ = common.ready(name)
        for step in (1, 0):
            common.resize(self.interpreter, self.source, common.shape(name, step))
        self.interpreter.invoke()

    def _counted(self, counter: str, call: Any, *arguments: Any) -> int:
        before = self.interpreter.counters[counter]
        call(*arguments)
        return self.interpreter.counters[counter] - before

    def _resize(self, step: int) -> None:
        common.resize(self.interpreter, self.source, common.shape(self.name, step))

    def track_plans_per_seen_resize(self, _: str) -> int:
        return self._counted("plans", self._resize, 1)

    def track_nodes_prepared_per_seen_resize(self, _: str) -> int:
        return self._counted("nodes_prepared", self._resize, 1)

    def track_nodes_prepared_per_new_size(self, _: str) -> int:
        return self._counted("nodes_prepared", self._resize, 2)

    def track_resolves_per_invoke(self, _: str) -> int:
        return self._counted("resolves", self.interpreter.invoke)

    def track_c_calls_per_invoke(self, _: str) -> int:
        return c_calls(self.interpreter.invoke)

    def track_c_calls_per_seen_resize(self, _: str) -> int:
        return c_calls(self._resize, 1)


def c_calls(call: Any, *arguments: Any) -> int:
    """How many of the core's functions a Python call runs."""
    names: list[str] = []

    def profile(_frame: Any, event: str, argument: Any) -> None:
        if event == "c_call" and argument.__name__.startswith("ml_"):
            names.append(argument.__name__)

    sys.setprofile(profile)
    try:
        call(*arguments)
    finally:
        sys.setprofile(None)
    return len(names)


class Package:
    """What an installation takes."""

    unit = "bytes"

    def track_wheel(self) -> int:
        """The package's files, deflated one by one as in a wheel."""
        from minilite import _core

        folder = Path(minilite.__file__).parent
        files = {path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".so")}
        return sum(len(zlib.compress(path.read_bytes())) for path in (*files, Path(_core.__file__)))
