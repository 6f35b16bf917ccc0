"""resize_tensor_input + allocate_tensors: to the current shape, to one seen before, to new ones, larger and smaller."""

from __future__ import annotations

import itertools

from . import common

MODELS = ["conv", "chain 1", "chain 10", "chain 100", "weights 250", "weights 4000"]
SIZES = 64


class Resize:
    """Times of one resize; `new` goes to a size that the interpreter has never had, each time.

    Before November 2026 `new` went through 64 sizes in rotation, which from 0.2.0 on, with plans kept for hundreds of
    sizes, were seen ones: what was published of it then is no time of a new size.
    """

    params = [MODELS]
    param_names = ["model"]

    def setup(self, name: str) -> None:
        with common.since("0.4.0"):
            self.interpreter, self.source, _ = common.ready(name)
            self.shapes = [common.shape(name, step) for step in range(SIZES)]
            for step in (1, 0):
                self.to(step)
            self.places = common.new_sizes(name)
            next(self.places)
        self.two = itertools.cycle((1, 0))

    def to(self, step: int) -> None:
        common.resize(self.interpreter, self.source, self.shapes[step])

    def time_same(self, _: str) -> None:
        self.to(0)

    def time_seen(self, _: str) -> None:
        self.to(next(self.two))

    def time_new(self, _: str) -> None:
        common.resize(*next(self.places))

    def time_plan_for(self, _: str) -> None:
        self.interpreter.plan_for({self.source: self.shapes[3]})


class Direction:
    """Times of 63 resizes in a row, each to a size the interpreter has never had: ever larger, ever smaller."""

    params = [MODELS]
    param_names = ["model"]
    number = 1
    repeat = (5, 30, 2.0)

    def setup(self, name: str) -> None:
        with common.since("0.4.0"):
            self.interpreter, self.source, _ = common.ready(name)
            self.shapes = [common.shape(name, step) for step in range(SIZES)]
            common.resize(self.interpreter, self.source, common.shape(name, SIZES))
            common.resize(self.interpreter, self.source, self.shapes[0])

    def time_grow(self, _: str) -> None:
        for shape in self.shapes[1:]:
            common.resize(self.interpreter, self.source, shape)

    def time_shrink(self, _: str) -> None:
        for shape in self.shapes[:0:-1]:
            common.resize(self.interpreter, self.source, shape)


class FirstRun:
    """The first run at a large size, in an interpreter that is made after another one was released."""

    params = [["conv"]]
    param_names = ["model"]
    number = 1
    repeat = (5, 30, 2.0)

    def setup(self, name: str) -> None:
        self.interpreter = None
        with common.since("0.4.0"):
            self.large(name)
            self.interpreter.invoke()
            self.interpreter = None
            self.large(name)

    def large(self, name: str) -> None:
        self.interpreter, source, _ = common.ready(name)
        common.resize(self.interpreter, source, common.shape(name, SIZES))

    def time_first_run(self, _: str) -> None:
        self.interpreter.invoke()

    def track_page_faults(self, _: str) -> int:
        before = common.counter(self.interpreter, "page_faults", "0.4.0")
        self.interpreter.invoke()
        return common.counter(self.interpreter, "page_faults", "0.4.0") - before
