"""IF, STABLEHLO_CASE, STABLEHLO_COMPOSITE: nodes that choose among subgraphs, or call a single one. LiteRT is the
oracle."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import F32, S32, A, B, agree, count_since, floats, integer, litert, ready, run, texts

import minilite
from minilite import ArenaError, ModelFormatError, ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

Body = Callable[[Any, int, int], int]
"""A function that adds a branch to its subgraph, from two inputs, and returns its output."""


def add(g: Any, a: int, b: int) -> int:
    result: int = g.node("ADD", [a, b], out=("sum", (3,)))
    return result


def twice(g: Any, a: int, b: int) -> int:
    return add(g, add(g, a, b), add(g, a, b))


def first(g: Any, a: int, b: int) -> int:
    return a


def fixed(g: Any, a: int, b: int) -> int:
    result: int = g.constant("fixed", floats(7, 8, 9))
    return result


def joined(g: Any, a: int, b: int) -> int:
    result: int = g.node("CONCATENATION", [a, b], out=("joined", (6,)), options={"axis": 0})
    return result


def positive(g: Any, a: int, b: int) -> int:
    """The positive values, as many as there are."""
    zero = g.constant("zero", np.float32(0))
    which = g.node("GREATER", [a, zero], out=("which", (3,), TensorType.BOOL))
    at = g.node("WHERE", [which], out=("at", (0, 1), TensorType.INT64))
    result: int = g.node("GATHER_ND", [a, at], out=("taken", (0,)))
    return result


def model(op: str, *bodies: Body, signature: Any = None) -> bytes:
    """A node on a (and b), which chooses among the bodies."""
    builder = ModelBuilder()
    main, parts = builder.subgraph("main"), [builder.subgraph(f"part{k}") for k in range(len(bodies))]
    kind = {"IF": TensorType.BOOL, "STABLEHLO_CASE": S32}.get(op)
    chosen = [] if kind is None else [main.input("chosen", (), kind)]
    operands = [main.input(name, (3,), F32, signature=signature) for name in "ab"]
    numbers = list(range(1, 1 + len(bodies)))
    options: dict[str, Any] = {"branch_subgraph_indices": numbers}
    if op == "IF":
        options = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    if op == "STABLEHLO_COMPOSITE":
        options = {"name": "my.composite", "decomposition_subgraph_index": 1}
    main.output(main.node(op, [*chosen, *operands], out=("y", (3,)), options=options))
    for part, body in zip(parts, bodies, strict=True):
        inputs = [part.input(name, (3,), F32, signature=signature) for name in "ab"]
        part.output(body(part, *inputs))
    return builder.build()


def sum_of_positive(g: Any, a: int, b: int) -> int:
    """The sum of the positive values: one number for any count of them."""
    axis = g.constant("axis", integer(0))
    result: int = g.node("SUM", [positive(g, a, b), axis], out=("total", ()), options={"keep_dims": False})
    return result


@pytest.mark.parametrize("body", [add, twice, first, fixed, joined, positive])
def test_composite(body: Body) -> None:
    agree(model("STABLEHLO_COMPOSITE", body), [A, B], [B, A], [B, B])


def test_resized_composite() -> None:
    data = model("STABLEHLO_COMPOSITE", twice, signature=(-1,))
    ours, theirs = ready(data), litert(data)
    for size in (5, 2, 5, 0):
        for interpreter in (ours, theirs):
            for number in (0, 1):
                interpreter.resize_tensor_input(number, (size,))
            interpreter.allocate_tensors()
        x = np.arange(size, dtype=np.float32)
        assert run(ours, x, x)[0].tolist() == run(theirs, x, x)[0].tolist() == (4 * x).tolist()


def test_composite_in_a_composite() -> None:
    builder = ModelBuilder()
    outer, middle, inner = builder.subgraph(), builder.subgraph(), builder.subgraph()
    for graph, called in ((outer, 1), (middle, 2)):
        operands = [graph.input(name, (3,)) for name in "ab"]
        options = {"name": "c", "decomposition_subgraph_index": called}
        graph.output(graph.node("STABLEHLO_COMPOSITE", operands, out=("y", (3,)), options=options))
    inner.output(twice(inner, *[inner.input(name, (3,)) for name in "ab"]))
    agree(builder.build(), [A, B], [B, B])


def test_composite_is_one_plan() -> None:
    """Repeated runs, and sizes seen before, prepare no node again."""
    interpreter = ready(model("STABLEHLO_COMPOSITE", twice, signature=(-1,)))
    run(interpreter, A, B)
    grown = count_since(interpreter, lambda: run(interpreter, B, A))
    assert grown["plans"] == 0
    assert grown["replans"] == 0


@pytest.mark.parametrize("bodies", [(add, twice, first), (add, joined, positive), (fixed,)])
def test_case(bodies: Any) -> None:
    """A number for which there is no branch chooses the last one."""
    data = model("STABLEHLO_CASE", *bodies)
    agree(data, *([integer(k), x, B] for k in (0, 1, 2, -1, 7, 0) for x in (A, B)))


@pytest.mark.parametrize("bodies", [(add, twice), (first, fixed), (joined, add), (positive, first)])
def test_if(bodies: Any) -> None:
    data = model("IF", *bodies)
    agree(data, *([np.array(k), x, B] for k in (True, False, True) for x in (A, B)))


def test_refused() -> None:
    def wrong(g: Any, a: int, b: int) -> int:
        result: int = g.node("CAST", [a], out=("whole", (3,), S32))
        return result

    for op, bodies in (("STABLEHLO_COMPOSITE", [wrong]), ("STABLEHLO_CASE", [add, wrong]), ("IF", [add, wrong])):
        with pytest.raises(
            ShapeError, match=rf"^subgraph 0, node 0 \({op} 'y'\): output 0 of the branch \d has type s32"
        ):
            ready(model(op, *bodies))
    with pytest.raises(UnsupportedOpError, match=r"there are no branches, there must be one"):
        ready(model("STABLEHLO_CASE"))
    data = model("STABLEHLO_COMPOSITE", add)
    interpreter = minilite.Interpreter(model_content=data)
    interpreter.resize_tensor_input(0, (4,))
    with pytest.raises(ShapeError, match=r"^subgraph 1, node 0 \(ADD 'sum'\)"):
        interpreter.allocate_tensors()


def test_composite_of_itself() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (3,))
    options = {"name": "c", "decomposition_subgraph_index": 0}
    graph.output(graph.node("STABLEHLO_COMPOSITE", [x], out=("y", (3,)), options=options))
    with pytest.raises(ModelFormatError, match="subgraph 0 calls itself"):
        ready(builder.build())


@pytest.mark.parametrize("chosen", [True, False])
def test_a_branch_that_outgrew_its_memory_gets_more_in_the_next_run(chosen: bool) -> None:
    interpreter = ready(model("IF", sum_of_positive, sum_of_positive, signature=(-1,)))
    for tensor in (1, 2):
        interpreter.resize_tensor_input(tensor, (5000,))
    interpreter.allocate_tensors()

    def take(count: int) -> None:
        values = np.where(np.arange(5000) < count, 2, -1).astype(np.float32)
        assert run(interpreter, np.array(chosen), values, np.zeros(5000, np.float32))[0] == 2 * count

    for count, replans in ((1, 0), (1, 1), (5000, 0), (5000, 1), (5000, 0)):
        assert count_since(interpreter, functools.partial(take, count))["replans"] == replans


def test_strings_that_have_no_room_end_the_run() -> None:
    builder = ModelBuilder()
    main, *parts = (builder.subgraph(name) for name in ("main", "yes", "no"))
    operands = [main.input("chosen", (), TensorType.BOOL), main.input("s", (1,), TensorType.STRING)]
    options = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    main.output(main.node("IF", operands, out=("y", (1,), TensorType.STRING), options=options))
    for part in parts:
        part.output(part.input("s", (1,), TensorType.STRING))
    interpreter = ready(builder.build(), max_bytes=200_000)
    for length, fits in ((10, True), (90_000, False), (20_000, True)):
        arrays = np.array(True), texts("x" * length)
        with contextlib.nullcontext() if fits else pytest.raises(ArenaError, match="max_bytes is 200000"):
            assert run(interpreter, *arrays)[0].tolist() == [b"x" * length]


@pytest.mark.parametrize("number", [0, 1])
def test_branches_below_the_first_subgraph_are_refused(number: int) -> None:
    builder = ModelBuilder()
    main, part = builder.subgraph("main"), builder.subgraph("part")
    part.output(part.input("a", (3,)))
    branches = [1, 1]
    branches[number] = -1
    operands = [main.input("chosen", (), S32), main.input("a", (3,))]
    main.output(main.node("STABLEHLO_CASE", operands, out=("y", (3,)), options={"branch_subgraph_indices": branches}))
    with pytest.raises(UnsupportedOpError, match=f"branch {number} is subgraph -1, must be 0 or more"):
        ready(builder.build())
