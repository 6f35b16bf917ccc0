"""Graphs full of dynamic tensors, drawn from a seed: the bad case of the article on TFLite's arena. Frozen: never
change a draw.

A graph is a list of `Step`s on vectors of floats, in one of three forms:

    chain      one step after the other
    branches   eight chains side by side, joined at the end: many tensors are live at once
    loop       a chain a quarter as long as the body of a WHILE of four trips

A step keeps its vector's length (RELU, ADD, RESHAPE, or the four ADD + WHERE + CAST + RESHAPE), shortens it
(STRIDED_SLICE) or lengthens it (PAD). It is dynamic when the number that says how long is an input of the model, not a
constant: its output's shape is then unknown until the run reaches it. WHERE always is. `percent` of the steps are
dynamic.

`draw` makes the steps, `model` their .tflite file, `operands` seeded values for the inputs that leave every vector
about 1 to 1.5 times its nominal length, `problem` the same graph as lines of text for the arena's ladder.
"""

from __future__ import annotations

import functools
import math
import random
from typing import Any, NamedTuple

import numpy as np

FORMS = ("chain", "branches", "loop")
BRANCHES, TRIPS = 8, 4
SHORTEST, LONGEST = 4, 16384
"""Bounds of a vector's nominal length, in elements."""


class Step(NamedTuple):
    """One operator on a vector: `source` is the number of the step it reads, -1 for the model's input."""

    kind: str
    source: int
    before: int
    """Nominal elements read; for `after`, written."""
    after: int
    dynamic: bool


class Graph(NamedTuple):
    """A drawn graph: its steps in order, the steps at the ends of its branches, and the input's nominal length."""

    form: str
    steps: tuple[Step, ...]
    ends: tuple[int, ...]
    length: int


def _length(lot: random.Random) -> int:
    return int(math.exp(lot.uniform(math.log(SHORTEST), math.log(LONGEST + 1))))


def _step(lot: random.Random, source: int, before: int, dynamic: bool) -> Step:
    """One step by lot."""
    chance, after = lot.random(), _length(lot)
    if dynamic and chance < 0.1:
        return Step("where", source, before, before, True)
    if dynamic and chance < 0.25:
        return Step("reshape", source, before, before, True)
    if not dynamic and chance < 0.5:
        return Step("relu" if chance < 0.25 else "add", source, before, before, False)
    return Step("slice" if after <= before else "pad", source, before, after, dynamic)


@functools.cache
def draw(form: str, nodes: int, percent: int, seed: int = 1) -> Graph:
    """The graph of these parameters, always the same one; `nodes` counts steps, those of four trips in a loop."""
    if form not in FORMS:
        message = f"form is {form!r}, must be one of {', '.join(FORMS)}"
        raise ValueError(message)
    lot = random.Random(f"{form} {nodes} {percent} {seed}")
    count = max(1, nodes // TRIPS) if form == "loop" else nodes
    chosen = set(lot.sample(range(count), round(count * percent / 100)))
    length = _length(lot)
    tails = [(-1, length)] * (BRANCHES if form == "branches" else 1)
    steps: list[Step] = []
    for number in range(count):
        branch = lot.randrange(len(tails))
        step = _step(lot, *tails[branch], number in chosen)
        steps.append(step)
        tails[branch] = number, step.after
    return Graph(form, tuple(steps), tuple(source for source, _ in tails), length)


def operands(graph: Graph, turn: int) -> Any:
    """Values for the dynamic steps in order, an int32 array [steps, 2]; turns differ in every length, turn 0 is
    nominal."""
    lot = random.Random(turn)
    rows = []
    for step in graph.steps:
        if not step.dynamic or step.kind == "where":
            continue
        target = step.after + (int(step.after * lot.uniform(0, 0.5)) + lot.randrange(3) if turn else 0)
        rows.append((0, {"reshape": -1, "slice": target, "pad": target - step.before}[step.kind]))
    return np.array(rows, np.int32).reshape(-1, 2)


def problem(graph: Graph) -> str:
    """The graph in text: `steps ends length`, a line `source before after dynamic` a step, and a line of the ends."""
    lines = [f"{len(graph.steps)} {len(graph.ends)} {graph.length}"]
    lines += [f"{s.source} {s.before} {s.after} {int(s.dynamic)}" for s in graph.steps]
    return "\n".join([*lines, " ".join(map(str, graph.ends)), ""])


# The file -------------------------------------------------------------------------------------------------------------


class Writer:
    """Puts a graph's steps into one subgraph of a builder."""

    def __init__(self, subgraph: Any, types: Any, table: int | None) -> None:
        self.graph, self.types, self.table = subgraph, types, table
        self.rows = 0
        self.one = self.constant("one", [1], np.float32)
        self.zero, self.step = self.constant("zero", [0]), self.constant("step", [1])
        self.any = self.constant("any", [-1])

    def constant(self, name: str, values: Any, dtype: Any = np.int32) -> int:
        return int(self.graph.constant(name, np.array(values, dtype)))

    def operand(self, pads: bool) -> int:
        """The tensor that says how long a dynamic step's output is: an input, or in a loop a row of the table."""
        row, shape = self.rows, (1, 2) if pads else (1,)
        self.rows += 1
        if self.table is None:
            return int(self.graph.input(f"operand{row}", shape, self.types.INT32))
        first = self.constant(f"from{row}", [row, 0 if pads else 1])
        last = self.constant(f"to{row}", [row + 1, 2])
        by = self.constant(f"by{row}", [1, 1])
        options = {"shrink_axis_mask": 0 if pads else 1}
        out = (f"operand{row}", shape, self.types.INT32)
        return int(self.graph.node("STRIDED_SLICE", [self.table, first, last, by], out=out, options=options))

    def add(self, number: int, step: Step, source: int) -> int:
        """Adds a step's nodes; the number of the tensor it leaves."""
        node, out = self.graph.node, (f"t{number}", (step.after,))
        if step.kind in ("relu", "add"):
            return int(node(step.kind.upper(), [source] if step.kind == "relu" else [source, self.one], out=out))
        if step.kind == "where":
            positive = node("ADD", [source, self.one], out=(f"positive{number}", (step.before,)))
            rows = node("WHERE", [positive], out=(f"rows{number}", (step.before, 1), self.types.INT64))
            types = {"in_data_type": "INT64", "out_data_type": "FLOAT32"}
            floats = node("CAST", [rows], out=(f"floats{number}", (step.before, 1)), options=types)
            return int(node("RESHAPE", [floats, self.any], out=out, options={"new_shape": (-1,)}))
        if step.kind == "reshape":
            return int(node("RESHAPE", [source, self.operand(False)], out=out, options={"new_shape": (-1,)}))
        if step.kind == "slice":
            end = self.operand(False) if step.dynamic else self.constant(f"end{number}", [step.after])
            return int(node("STRIDED_SLICE", [source, self.zero, end, self.step], out=out))
        growth = [[0, step.after - step.before]]
        pads = self.operand(True) if step.dynamic else self.constant(f"pads{number}", growth)
        return int(node("PAD", [source, pads], out=out))

    def steps(self, graph: Graph, x: int) -> list[int]:
        """Adds all steps; the tensors at the ends."""
        made = {-1: x}
        for number, step in enumerate(graph.steps):
            made[number] = self.add(number, step, made[step.source])
        return [made[end] for end in graph.ends]


@functools.cache
def model(graph: Graph, writer: type[Writer] = Writer) -> bytes:
    """The graph's .tflite file, its steps written by `writer`.

    Raises: ImportError, or what the builder raises, where a version cannot write it.
    """
    from minilite.format.builder import ModelBuilder
    from minilite.format.dtypes import TensorType

    builder = ModelBuilder(description="dynamic family")
    main = builder.subgraph("main")
    x = main.input("x", (graph.length,), signature=(-1,))
    if graph.form == "loop":
        main.output(_loop(builder, main, graph, x, TensorType, writer))
        return bytes(builder.build())
    ends = writer(main, TensorType, None).steps(graph, x)
    if len(ends) == 1:
        main.output(ends[0])
    else:
        total = sum(graph.steps[end].after if end >= 0 else graph.length for end in graph.ends)
        main.output(main.node("CONCATENATION", ends, out=("y", (total,)), options={"axis": 0}))
    return bytes(builder.build())


def _loop(builder: Any, main: Any, graph: Graph, x: int, types: Any, writes: type[Writer]) -> int:
    """A WHILE around the graph; each trip starts from the model's input again, raised by the last trip's first
    element."""
    rows = max(1, sum(step.dynamic and step.kind != "where" for step in graph.steps))
    shapes = [("i", (), types.INT32), ("operands", (rows, 2), types.INT32)]
    outer = [main.input(*shape) for shape in shapes]
    condition, body = builder.subgraph("condition"), builder.subgraph("body")
    inner = [
        [part.input(*shape) for shape in shapes] + [part.input("x", (graph.length,))] for part in (condition, body)
    ]
    trips = condition.constant("trips", np.int32(TRIPS))
    condition.output(condition.node("LESS", [inner[0][0], trips], out=("go", (), types.BOOL)))
    i, table, start = inner[1]
    writer = writes(body, types, table)
    (end,) = writer.steps(graph, start)
    first = body.node("STRIDED_SLICE", [end, writer.zero, writer.step, writer.step], out=("first", (1,)))
    following = body.node("ADD", [i, body.constant("next", np.int32(1))], out=("i+1", (), types.INT32))
    body.output(following, table, body.node("ADD", [start, first], out=("raised", (graph.length,))))
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    outs = [("n", (), types.INT32), ("t", (rows, 2), types.INT32), ("y", (graph.length,))]
    return int(main.node("WHILE", [*outer, x], out=outs, options=options)[2])


class Runner:
    """An allocated interpreter of a graph, on minilite or on what `make` makes; feeds it and runs it."""

    def __init__(self, graph: Graph, make: Any, writer: type[Writer] = Writer) -> None:
        self.graph = graph
        self.interpreter = make(model_content=model(graph, writer), num_threads=1)
        self.interpreter.allocate_tensors()
        self.inputs = {row["name"]: row for row in self.interpreter.get_input_details()}
        self.output = int(self.interpreter.get_output_details()[0]["index"])
        self.sets = [self._values(turn) for turn in range(16)]
        """The arrays that `feed` copies in, by turn."""

    def _values(self, turn: int) -> list[tuple[int, Any]]:
        rows = operands(self.graph, turn)
        return [(int(row["index"]), self._value(row, rows)) for row in self.inputs.values()]

    def _value(self, row: Any, rows: Any) -> Any:
        name, shape = row["name"], tuple(row["shape"])
        if name == "x":
            return np.ones(shape, np.float32)
        if name == "i":
            return np.int32(0)
        if name == "operands":
            table = np.zeros(shape, np.int32)
            table[: len(rows)] = rows
            return table
        number = rows[int(name.removeprefix("operand"))]
        return number.reshape(shape) if shape == (1, 2) else number[1:]

    def feed(self, turn: int) -> None:
        """Sets the inputs to those of a turn, 0 to 15: every dynamic length differs from one to the next."""
        for index, value in self.sets[turn % 16]:
            self.interpreter.set_tensor(index, value)

    def run(self, turn: int) -> None:
        """Feeds and invokes."""
        self.feed(turn)
        self.interpreter.invoke()
