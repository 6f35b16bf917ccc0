"""The fixed cost of API calls: arrays of 16 floats in and out, views, details, a whole run."""

from __future__ import annotations

import numpy as np

from . import common


class Calls:
    """Each on a graph of one node."""

    def setup(self) -> None:
        with common.since("0.4.0"):
            self.interpreter, self.source, self.target = common.ready("chain 1")
            self.view = self.interpreter.tensor(self.target)
        self.values = np.full((1, common.WIDTH), 0.5, np.float32)

    def time_set_tensor(self) -> None:
        self.interpreter.set_tensor(self.source, self.values)

    def time_get_tensor(self) -> None:
        self.interpreter.get_tensor(self.target)

    def time_view(self) -> None:
        self.view()

    def time_input_details(self) -> None:
        self.interpreter.get_input_details()

    def time_output_details(self) -> None:
        self.interpreter.get_output_details()

    def time_run(self) -> None:
        self.interpreter.run({"x": self.values})

    def time_steps_of_a_run(self) -> None:
        self.interpreter.set_tensor(self.source, self.values)
        self.interpreter.invoke()
        self.interpreter.get_tensor(self.target)


class Signature:
    """A signature's runner, which resizes, sets, invokes and copies out."""

    def setup(self) -> None:
        with common.since("0.4.0"):
            graph = (made := common.builder("one ADD with a signature")).subgraph()
            x = graph.input("x", (1, common.WIDTH), signature=(-1, common.WIDTH))
            y = graph.node("ADD", [x, x], out=("y", (1, common.WIDTH)))
            graph.output(y)
            made.signature("serving_default", inputs={"x": x}, outputs={"y": y})
            self.interpreter = common.interpreter(model_content=made.build())
            self.values = np.full((1, common.WIDTH), 0.5, np.float32)
            self.runner = self.interpreter.get_signature_runner("serving_default")
            self.runner(x=self.values)

    def time_runner(self) -> None:
        self.runner(x=self.values)
