"""Random graphs: C equals the numpy walk for every strategy and option; random resizes equal a fresh interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings
from numpy.typing import NDArray

import minilite
from minilite import OpResolverType
from minilite.format.builder import ModelBuilder, SubgraphBuilder
from minilite.format.dtypes import TensorType

Array = NDArray[Any]
STRATEGIES = ("default", "tflite", "naive", "greedy_by_size", "greedy_by_breadth", "exact")
WIDTH = 4
"""Every tensor is (n, WIDTH) with n the batch, that of the input or a multiple of it."""


class Growing:
    """A graph under construction: the tensors that may be read, each with how many batches it holds (0 = dynamic)."""

    def __init__(self, graph: SubgraphBuilder) -> None:
        self.graph = graph
        self.tensors = [(graph.input(name, (2, WIDTH), signature=(-1, WIDTH)), 1) for name in ("x", "y")]

    def add(self, op: str, inputs: list[int], batches: int, kind: TensorType = TensorType.FLOAT32, **more: Any) -> int:
        out = (f"t{len(self.tensors)}_{op}", (2 * max(batches, 1), WIDTH), kind)
        made: int = self.graph.node(op, inputs, out=out, **more)
        if kind == TensorType.FLOAT32:
            self.tensors.append((made, batches))
        return made


def _unary(op: str) -> Callable[[Growing, Any], None]:
    def add(growing: Growing, draw: Any) -> None:
        tensor, batches = draw(st.sampled_from(growing.tensors))
        growing.add(op, [tensor], batches)

    return add


def _binary(op: str) -> Callable[[Growing, Any], None]:
    def add(growing: Growing, draw: Any) -> None:
        a, batches = draw(st.sampled_from(growing.tensors))
        alike = [t for t, b in growing.tensors if b == batches and (b or t == a)]
        row = growing.graph.constant("row", np.linspace(-1, 1, WIDTH, dtype=np.float32))
        b = draw(st.sampled_from([*alike, row]))
        growing.add(op, draw(st.permutations([a, b])), batches)

    return add


def _concatenation(growing: Growing, draw: Any) -> None:
    parts = draw(st.lists(st.sampled_from(growing.tensors), min_size=1, max_size=3))
    batches = sum(b for _, b in parts) if all(b for _, b in parts) else 0
    if batches <= 8:
        growing.add("CONCATENATION", [t for t, _ in parts], batches, options={"axis": 0})


def _there_and_back(growing: Growing, draw: Any) -> None:
    """Two views in a row: to (n / 2, 2, WIDTH...) and back, through RESHAPE."""
    tensor, batches = draw(st.sampled_from(growing.tensors))
    graph = growing.graph
    flat = graph.constant("flat", np.array([-1], np.int32))
    back = graph.constant("back", np.array([-1, WIDTH], np.int32))
    middle = graph.node("RESHAPE", [tensor, flat], out=("flat", (2 * WIDTH,)))
    growing.add("RESHAPE", [middle, back], batches)


def _reshape_like(growing: Growing, draw: Any) -> None:
    """A view whose target is computed from a shape, which folds."""
    tensor, batches = draw(st.sampled_from(growing.tensors))
    shape = growing.graph.node("SHAPE", [tensor], out=("shape", (2,), TensorType.INT32), options={"out_type": "INT32"})
    growing.add("RESHAPE", [tensor, shape], batches)


def _dynamic(growing: Growing, draw: Any) -> None:
    """The rows whose first value is positive: a dynamic tensor."""
    tensor, _ = draw(st.sampled_from(growing.tensors))
    growing.add("Positive", [tensor], 0, custom=True)


def _where(growing: Growing, draw: Any) -> None:
    """Where one tensor is less than another, as float rows of (row, column, row, column)."""
    a, batches = draw(st.sampled_from(growing.tensors))
    b, _ = draw(st.sampled_from([(t, n) for t, n in growing.tensors if n == batches and (n or t == a)]))
    mask = growing.add("LESS", [a, b], batches, TensorType.BOOL)
    graph = growing.graph
    places = graph.node("WHERE", [mask], out=("places", (1, 2), TensorType.INT64))
    rows = graph.node(
        "CAST", [places], out=("rows", (1, 2)), options={"in_data_type": "INT64", "out_data_type": "FLOAT32"}
    )
    growing.add("CONCATENATION", [rows, rows], 0, options={"axis": 1})


STEPS = (
    _unary("RELU"),
    _unary("RELU6"),
    _binary("ADD"),
    _binary("MUL"),
    _concatenation,
    _there_and_back,
    _reshape_like,
    _dynamic,
    _where,
)


def positive(node: Any, x: Array) -> Array:
    return x[x[:, 0] > 0]


@st.composite
def models(draw: Any) -> bytes:
    builder = ModelBuilder()
    growing = Growing(builder.subgraph())
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=14)):
        step(growing, draw)
    chosen = draw(st.lists(st.sampled_from([t for t, _ in growing.tensors]), min_size=1, max_size=3, unique=True))
    growing.graph.output(*chosen, growing.tensors[-1][0])
    return builder.build()


def interpreter(model: bytes, **options: Any) -> minilite.Interpreter:
    return minilite.Interpreter(model_content=model, custom_ops={"Positive": positive}, **options)


def run(one: minilite.Interpreter, batch: int, seed: int) -> list[Array]:
    """The outputs on inputs made from `seed`, the inputs resized to `batch` rows."""
    generator = np.random.default_rng(seed)
    for index in range(2):
        one.resize_tensor_input(index, (batch, WIDTH))
    one.allocate_tensors()
    for index in range(2):
        one.set_tensor(index, generator.uniform(-1, 1, (batch, WIDTH)).astype(np.float32))
    one.invoke()
    return [one.get_tensor(detail["index"]) for detail in one.get_output_details()]


def equal(a: list[Array], b: list[Array]) -> bool:
    return len(a) == len(b) and all(x.dtype == y.dtype and np.array_equal(x, y) for x, y in zip(a, b, strict=True))


seeds = st.integers(0, 2**16)
batches = st.integers(0, 6)


@settings(max_examples=80)
@given(
    models(),
    batches,
    seeds,
    st.sampled_from(STRATEGIES),
    st.sampled_from(["none", "tflite", "wide"]),
    st.booleans(),
    st.booleans(),
)
def test_c_equals_the_numpy_walk(
    model: bytes, batch: int, seed: int, planner: str, in_place: str, preserve_inputs: bool, preserve_all: bool
) -> None:
    expected = run(
        interpreter(model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, planner="naive", in_place="none"),
        batch,
        seed,
    )
    one = interpreter(
        model,
        planner=planner,
        in_place=in_place,
        preserve_inputs=preserve_inputs,
        experimental_preserve_all_tensors=preserve_all,
    )
    for _ in range(2):
        assert equal(expected, run(one, batch, seed))
    other = interpreter(
        model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, planner=planner, in_place=in_place
    )
    assert equal(expected, run(other, batch, seed))


@settings(max_examples=40)
@given(models(), st.lists(st.tuples(batches, seeds), min_size=2, max_size=8), st.booleans())
def test_resizes_equal_a_fresh_interpreter(model: bytes, steps: list[tuple[int, int]], trims: bool) -> None:
    one = interpreter(model)
    for batch, seed in steps:
        assert equal(run(interpreter(model), batch, seed), run(one, batch, seed))
        if trims and seed % 3 == 0:
            one.trim()


@settings(max_examples=40)
@given(models(), st.lists(seeds, min_size=2, max_size=5))
def test_earlier_runs_do_not_change_results(model: bytes, runs: list[int]) -> None:
    one = interpreter(model)
    first = run(one, 5, runs[0])
    for seed in runs[1:]:
        run(one, 5, seed)
    assert equal(first, run(one, 5, runs[0]))


@settings(max_examples=40)
@given(models(), batches, seeds)
def test_plans_hold_what_they_promise(model: bytes, batch: int, seed: int) -> None:
    """The arena is at least the lower bound, and no two tensors that live at once overlap, before and after a run."""
    one = interpreter(model)
    for repeat in range(3):
        run(one, batch, seed + repeat)
        plan = one.plan
        assert plan is not None
        assert plan.arena_bytes >= max(offset + size for _, size, _, _, offset in [*plan.records(), (0, 0, 0, 0, 0)])
        records = plan.records()
        for i, (_, size, first, last, offset) in enumerate(records):
            for _, other_size, other_first, other_last, other_offset in records[:i]:
                if first <= other_last and other_first <= last:
                    assert offset + size <= other_offset or other_offset + other_size <= offset
