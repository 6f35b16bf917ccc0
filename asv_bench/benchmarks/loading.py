"""Loading: importing the package, reading a file, allocating."""

from __future__ import annotations

from typing import Any

from . import common

MODELS = ["conv", "chain 1", "chain 100", "chain 1000"]


class Import:
    """`import minilite` in a process of its own, numpy being there already."""

    def timeraw_import_package(self) -> tuple[str, str]:
        return "import minilite", "import numpy"

    def timeraw_import(self) -> tuple[str, str]:
        return "from minilite import Interpreter", "import numpy"


class Load:
    """From bytes to a model that could run; `allocate` alone is the first one of an interpreter that has the model
    read."""

    params = [MODELS]
    param_names = ["model"]

    def setup(self, name: str) -> None:
        with common.since("0.4.0"):
            self.content = common.model(name)
            common.interpreter(model_content=self.content).allocate_tensors()

    def time_load(self, _: str) -> Any:
        return common.interpreter(model_content=self.content)

    def time_look_at_everything(self, _: str) -> None:
        for subgraph in common.interpreter(model_content=self.content).model.subgraphs:
            list(subgraph.tensors)
            list(subgraph.nodes)

    def time_load_and_allocate(self, _: str) -> None:
        common.interpreter(model_content=self.content).allocate_tensors()


class Read:
    """From bytes to a Model, and from a Model that has no interpreter yet to an interpreter, which lowers it."""

    params = [MODELS]
    param_names = ["model"]
    number = 1
    repeat = (5, 30, 2.0)

    def setup(self, name: str) -> None:
        with common.since("0.4.0"):
            from minilite import Interpreter, load_model

            self.read, self.make, self.content = load_model, Interpreter, common.model(name)
            self.make(self.read(self.content))
            self.model = self.read(self.content)

    def time_read(self, _: str) -> None:
        self.read(self.content)

    def time_lower(self, _: str) -> None:
        self.make(self.model)


class Cached:
    """From a file to a model that could run, or has run, with packed weights in a cache or without."""

    params = [["packs", "finds packed weights"]]
    param_names = ["process"]

    def setup(self, process: str) -> None:
        with common.since("0.18.0"):
            self.kept = common.Kept()
        self.cached = process != "packs"

    def time_load_and_allocate(self, _: str) -> None:
        self.kept.loaded(cached=self.cached)

    def time_load_and_run(self, _: str) -> None:
        self.kept.loaded(cached=self.cached).invoke()


class Allocate:
    """The first allocate_tensors of an interpreter: lowering, packing, shapes, the plan, memory."""

    params = [MODELS]
    param_names = ["model"]
    number = 1
    repeat = (5, 30, 2.0)

    def setup(self, name: str) -> None:
        with common.since("0.4.0"):
            common.interpreter(model_content=common.model(name)).allocate_tensors()
            self.interpreter = common.interpreter(model_content=common.model(name))

    def time_allocate(self, _: str) -> None:
        self.interpreter.allocate_tensors()


class Further:
    """A second interpreter of a model: from a Model that is read, and by `clone`."""

    params = [MODELS]
    param_names = ["model"]

    def setup(self, name: str) -> None:
        with common.since("0.4.0"):
            self.first, _, _ = common.ready(name)

    def time_from_model(self, _: str) -> None:
        common.interpreter(model_path=self.first.model).allocate_tensors()

    def time_clone(self, _: str) -> None:
        self.first.clone().allocate_tensors()
