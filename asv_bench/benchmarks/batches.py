"""Many items: what a Predictor adds to single runs, and snapshots of a model's state."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import common


def stream(variables: int, size: int) -> bytes:
    """`variables` resource variables of `size` floats, each assigned from the input."""
    made = common.builder("stream")
    graph = made.subgraph()
    x = graph.input("x", (size,))
    for number in range(variables):
        options = {"container": "", "shared_name": f"v{number}"}
        handle = graph.node("VAR_HANDLE", [], out=(f"h{number}", (), 13), options=options)
        graph.node("ASSIGN_VARIABLE", [handle, x])
    graph.output(graph.node("RELU", [x], out=("y", (size,))))
    return bytes(made.build())


@common.suite
class Predict:
    """A call of 64 rows of a tiny model."""

    params = [[1, 16, "auto"]]
    param_names = ["batch"]

    def setup(self, batch: Any) -> None:
        made = common.builder("rows")
        graph = made.subgraph()
        graph.output(graph.node("RELU", [graph.input("x", (1, 64))], out=("y", (1, 64))))
        self.rows = {"x": np.ones((64, 64), np.float32)}
        with common.since("0.10.0"):
            from minilite import Predictor

            self.predictor = Predictor(bytes(made.build()), batch=batch)
            self.predictor(self.rows)

    def time_rows(self, _: Any) -> None:
        self.predictor(self.rows)


@common.suite
class State:
    """A snapshot, and putting one back."""

    params = [[1, 10], [16, 65536]]
    param_names = ["variables", "floats"]

    def setup(self, variables: int, size: int) -> None:
        with common.since("0.10.0"):
            self.interpreter = common.interpreter(model_content=stream(variables, size))
            self.interpreter.run(np.ones(size, np.float32))
            self.state = self.interpreter.get_state()

    def time_get(self, *_: int) -> None:
        self.interpreter.get_state()

    def time_set(self, *_: int) -> None:
        self.interpreter.set_state(self.state)
