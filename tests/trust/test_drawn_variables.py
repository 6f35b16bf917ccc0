"""Drawn programs over resource variables, run against numpy: what is read, assigned, sliced, joined and called in any
order."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from built import S32, Array, integer, next_count, ready, run, variable

from minilite import Interpreter, KernelError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

NAMES = ("one", "two", "three")
MOST_ROWS = 5
LAST = 4
Variables = dict[str, Array]
Step = Callable[[Variables, list[Array], Array], None]
"""Does in numpy what the nodes of that step do, to the variables and the values so far; `pick` is the model's input
1."""


class BadPickError(Exception):
    """An index outside."""


class Program(NamedTuple):
    """A model of inputs x (any rows, 4), pick (1) and flag, whose outputs are its last values, and what it does."""

    model: bytes
    steps: list[Step]


class _Drawing:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.builder = ModelBuilder()
        self.main, init = self.builder.subgraph("main"), self.builder.subgraph("init")
        self.graphs = 2
        x = self.main.input("x", (2, 4), signature=(-1, 4))
        self.pick = self.main.input("pick", (1,), S32)
        self.flag = self.main.input("flag", (), TensorType.BOOL)
        for number, name in enumerate(NAMES):
            init.node("ASSIGN_VARIABLE", [variable(init, name), init.constant(f"first_{name}", _first(number))])
        self.main.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
        shared = {name: variable(self.main, name) for name in NAMES} if self.rng.random() < 0.5 else {}
        self.handle = lambda name: shared[name] if shared else variable(self.main, name)
        self.values, self.steps = [x], list[Step]()

    def node(self, graph: Any, op: str, inputs: list[int], **options: Any) -> int:
        found: int = graph.node(op, inputs, out=(f"{op}_{self.rng.integers(1 << 40)}", (2, 4)), options=options)
        return found

    def rows(self, graph: Any, x: int, begin: int, end: int) -> int:
        """Rows begin .. end - 1, as far as they exist."""
        ends = [
            graph.constant(f"at_{self.rng.integers(1 << 40)}", np.array(v, np.int32))
            for v in ((begin, 0), (end, 0), (1, 1))
        ]
        return self.node(graph, "STRIDED_SLICE", [x, *ends], begin_mask=2, end_mask=2)

    def any_value(self) -> int:
        """Draws one of the last few, else an earlier one."""
        few = self.rng.random() < 0.7
        return int(self.rng.integers(max(0, len(self.values) - 3) if few else 0, len(self.values)))

    def add(self, value: int, step: Callable[[Variables, list[Array], Array], Array]) -> None:
        self.values.append(value)
        self.steps.append(lambda variables, values, pick: values.append(step(variables, values, pick)))

    def read(self) -> None:
        name = str(self.rng.choice(NAMES))
        self.add(self.node(self.main, "READ_VARIABLE", [self.handle(name)]), lambda v, values, pick: v[name].copy())

    def assign(self) -> None:
        """The last rows of a value, mostly through a slice of their own."""
        name, k, of = str(self.rng.choice(NAMES)), self.any_value(), self.any_value()
        if self.rng.random() < 0.7:
            k = len(self.values)
            self.add(self.rows(self.main, self.values[of], -MOST_ROWS, 1 << 20), lambda v, x, p: x[of][-MOST_ROWS:])
        self.main.node("ASSIGN_VARIABLE", [self.handle(name), self.values[k]])

        def step(variables: Variables, values: list[Array], _: Array) -> None:
            variables[name] = values[k].copy()

        self.steps.append(step)

    def join(self) -> None:
        a, b = self.any_value(), self.any_value()
        both = self.node(self.main, "CONCATENATION", [self.values[a], self.values[b]], axis=0)
        few = self.rows(self.main, both, 0, 3 * MOST_ROWS)
        self.add(few, lambda v, x, p: np.concatenate([x[a], x[b]])[: 3 * MOST_ROWS])

    def cut(self) -> None:
        k, begin = self.any_value(), int(self.rng.integers(-3, 1))
        self.add(self.rows(self.main, self.values[k], begin, 1 << 20), lambda v, x, p: x[k][begin:])

    def compute(self) -> None:
        k = self.any_value()
        if self.rng.random() < 0.5:
            self.add(self.node(self.main, "RELU", [self.values[k]]), lambda v, x, p: np.maximum(x[k], 0))
        else:
            half = self.main.constant(f"half_{len(self.steps)}", np.float32([0.5]))
            product = self.node(self.main, "MUL", [self.values[k], half])
            self.add(product, lambda v, x, p: x[k] * np.float32(0.5))

    def view(self) -> None:
        k = self.any_value()
        same = self.main.constant(f"same_{len(self.steps)}", np.array([-1, 4], np.int32))
        self.add(self.node(self.main, "RESHAPE", [self.values[k], same]), lambda v, x, p: x[k])

    def gather(self) -> None:
        """The row of that number; if there is none, the run fails here."""
        k = self.any_value()

        def step(_: Variables, values: list[Array], pick: Array) -> Array:
            if not 0 <= pick[0] < len(values[k]):
                raise BadPickError
            return values[k][pick[:1]]

        self.add(self.node(self.main, "GATHER", [self.values[k], self.pick], axis=0), step)

    def subgraphs(self, *names: str) -> list[Any]:
        self.graphs += len(names)
        return [self.builder.subgraph(f"{name}_{self.graphs}") for name in names]

    def branch(self) -> None:
        """One branch assigns what it gets; both give a part of it."""
        name, k, first = str(self.rng.choice(NAMES)), self.any_value(), self.graphs
        some, other = self.subgraphs("some", "other")
        x = some.input("x", (2, 4))
        some.node("ASSIGN_VARIABLE", [variable(some, name), self.rows(some, x, -MOST_ROWS, 1 << 20)])
        some.output(self.node(some, "RELU", [x]))
        y = other.input("x", (2, 4))
        other.output(self.rows(other, y, 0, 1))
        options = {"then_subgraph_index": first, "else_subgraph_index": first + 1}
        (out,) = self.main.node("IF", [self.flag, self.values[k]], out=[(f"if_{first}", (2, 4))], options=options)

        def step(variables: Variables, values: list[Array], pick: Array) -> Array:
            if pick[1]:
                variables[name] = values[k][-MOST_ROWS:].copy()
            return np.maximum(values[k], 0) if pick[1] else values[k][:1]

        self.add(out, step)

    def turn(self) -> None:
        """A loop of three turns: each puts the carry's first row after what a variable has."""
        name, k, first = str(self.rng.choice(NAMES)), self.any_value(), self.graphs
        test, body = self.subgraphs("test", "body")
        count = test.input("count", (), S32)
        test.input("x", (2, 4))
        test.output(test.node("LESS", [count, test.constant("three", integer(3))], out=("go_on", (), TensorType.BOOL)))
        count, x = body.input("count", (), S32), body.input("x", (2, 4))
        handle = variable(body, name)
        both = self.node(body, "CONCATENATION", [body.node("READ_VARIABLE", [handle], out=("old", (2, 4))), x], axis=0)
        body.node("ASSIGN_VARIABLE", [handle, self.rows(body, both, -MOST_ROWS, 1 << 20)])
        body.output(next_count(body, count), self.rows(body, both, 0, MOST_ROWS))
        zero = self.main.constant(f"zero_{first}", integer(0))
        options = {"cond_subgraph_index": first, "body_subgraph_index": first + 1}
        outs = [(f"count_{first}", (), S32), (f"while_{first}", (2, 4))]
        (_, out) = self.main.node("WHILE", [zero, self.values[k]], out=outs, options=options)

        def step(variables: Variables, values: list[Array], _: Array) -> Array:
            carry = values[k]
            for _ in range(3):
                both = np.concatenate([variables[name], carry])
                variables[name], carry = both[-MOST_ROWS:].copy(), both[:MOST_ROWS]
            return carry

        self.add(out, step)


def _first(number: int) -> Array:
    return np.full((1 + number, 4), number - 1, np.float32)


def drawn(seed: int) -> Program:
    """A program of 25 steps."""
    d = _Drawing(seed)
    kinds = (
        [d.read] * 5
        + [d.assign] * 4
        + [d.join] * 3
        + [d.cut, d.compute, d.compute, d.view, d.gather]
        + [d.branch, d.turn] * 2
    )
    for _ in range(25):
        kinds[d.rng.integers(len(kinds))]()
    d.main.output(*d.values[-LAST:])
    return Program(d.builder.build(), d.steps)


class _Model:
    """The same in numpy."""

    def __init__(self, program: Program) -> None:
        self.steps = program.steps
        self.variables: Variables = {}

    def run(self, x: Array, pick: Array, flag: Array) -> list[Array] | None:
        """None: the run fails."""
        if not self.variables:
            self.variables = {name: _first(number) for number, name in enumerate(NAMES)}
        values = [x]
        try:
            for step in self.steps:
                step(self.variables, values, np.array([pick[0], flag[()]]))
        except BadPickError:
            return None
        return values[-LAST:]


def _between(rng: np.random.Generator, interpreter: Interpreter, model: _Model) -> Interpreter:
    """Does what a caller may do between runs."""
    choice = rng.random()
    if choice < 0.1:
        interpreter.reset_resources()
        model.variables = {}
    elif choice < 0.2:
        return copy.deepcopy(interpreter)
    elif choice < 0.3:
        found: Interpreter = pickle.loads(pickle.dumps(interpreter))
        return found
    elif choice < 0.4:
        interpreter.trim()
    elif choice < 0.5:
        interpreter.reset_all_variables()
    if choice > 0.6:
        interpreter.resize_tensor_input(0, (int(rng.integers(1, 5)), 4))
    interpreter.allocate_tensors()
    return interpreter


@pytest.mark.parametrize("options", [{}, {"experimental_preserve_all_tensors": True}], ids=["default", "preserved"])
@pytest.mark.parametrize("seed", range(150))
def test_programs_do_what_numpy_does(seed: int, options: dict[str, Any]) -> None:
    program, rng = drawn(seed), np.random.default_rng(seed)
    model, interpreter = _Model(program), ready(program.model, **options)
    for number in range(8):
        interpreter = _between(rng, interpreter, model) if number else interpreter
        x = rng.integers(-9, 10, interpreter.get_input_details()[0]["shape"]).astype(np.float32)
        pick, flag = rng.integers(-1 if rng.random() < 0.2 else 0, 1, 1).astype(np.int32), np.array(rng.random() < 0.5)
        expected = model.run(x, pick, flag)
        if expected is None:
            with pytest.raises(KernelError):
                run(interpreter, x, pick, flag)
            continue
        for found, right in zip(run(interpreter, x, pick, flag), expected, strict=True):
            assert np.array_equal(found, right), number
