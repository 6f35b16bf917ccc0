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
        with common.if_there():
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


class Lower:
    """Lowering alone: after other models with the same kinds of nodes, and without (C knows most of them anyhow)."""

    params = [MODELS]
    param_names = ["model"]

    def setup(self, name: str) -> None:
        with common.if_there():
            from minilite.engine import lower

            self.lower, self.answers = lower.lower, getattr(lower, "_answers", None)
            if self.answers is None:  # from 0.5.0 on
                from minilite.engine import answers

                self.answers = answers._answers
            self.model = common.interpreter(model_content=common.model(name)).model

    def time_lower(self, _: str) -> None:
        self.lower(self.model, {})

    def time_lower_unknown(self, _: str) -> None:
        self.answers.clear()
        self.lower(self.model, {})


class Allocate:
    """The first allocate_tensors of an interpreter: lowering, packing, shapes, the plan, memory."""

    params = [MODELS]
    param_names = ["model"]
    number = 1
    repeat = (5, 30, 2.0)

    def setup(self, name: str) -> None:
        with common.if_there():
            common.interpreter(model_content=common.model(name)).allocate_tensors()
            self.interpreter = common.interpreter(model_content=common.model(name))

    def time_allocate(self, _: str) -> None:
        self.interpreter.allocate_tensors()


class Further:
    """A second interpreter of a model: from a Model that is read, and by `clone`."""

    params = [MODELS]
    param_names = ["model"]

    def setup(self, name: str) -> None:
        with common.if_there():
            self.first, _, _ = common.ready(name)

    def time_from_model(self, _: str) -> None:
        common.interpreter(model_path=self.first.model).allocate_tensors()

    def time_clone(self, _: str) -> None:
        self.first.clone().allocate_tensors()
