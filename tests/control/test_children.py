"""csrc/control/child.c: subgraphs that do not fit the node that calls them, and failures within them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import F32, S32, floats, integer, ready, run

from minilite import KernelError, MiniliteError, ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

BOOL = TensorType.BOOL
Part = Callable[[Any], Any]
"""Adds the nodes of a subgraph."""


def calling(op: str, operands: list[Any], outs: list[Any], *parts: Part) -> bytes:
    """A node of the main subgraph that calls the others; operands are (shape, type), -1 for an absent one."""
    builder = ModelBuilder()
    main = builder.subgraph("main")
    graphs = [builder.subgraph(f"part{k}") for k in range(len(parts))]
    inputs = [-1 if given == -1 else main.input(f"x{i}", *given) for i, given in enumerate(operands)]
    options = {
        "IF": {"then_subgraph_index": 1, "else_subgraph_index": len(parts)},
        "WHILE": {"cond_subgraph_index": 1, "body_subgraph_index": 2},
        "CALL_ONCE": {"init_subgraph_index": 1},
    }[op]
    out = [(f"y{i}", *given) for i, given in enumerate(outs)]
    made = main.node(op, inputs, out=out, options=options) if out else main.node(op, inputs, options=options)
    main.output(*(made if isinstance(made, (list, tuple)) else [made] if out else []))
    for graph, part in zip(graphs, parts, strict=True):
        part(graph)
    return builder.build()


def takes(*kinds: Any, gives: int | Callable[[Any, list[int]], int] = 0) -> Part:
    """A subgraph of these inputs; its output is one of them, or what a function makes of them."""

    def part(g: Any) -> None:
        inputs = [g.input(f"i{k}", *kind) for k, kind in enumerate(kinds)]
        g.output(inputs[gives] if isinstance(gives, int) else gives(g, inputs))

    return part


def of_constant(g: Any) -> None:
    """A subgraph whose input is a constant."""
    graph_input = g.constant("fixed", floats(1, 2, 3))
    g._inputs.append(graph_input)
    g.output(graph_input)


V, TRUTH, COUNT = ((3,), F32), ((), BOOL), ((), S32)


def yes(g: Any, inputs: list[int]) -> int:
    return int(g.constant("yes", np.array(True)))


def sum_with(shape: tuple[int, ...], of: int = 0) -> Callable[[Any, list[int]], int]:
    """The sum of an input and a constant of that shape."""
    return lambda g, inputs: int(
        g.node("ADD", [inputs[of], g.constant("c", np.zeros(shape, np.float32))], out=("s", (3,)))
    )


def both(g: Any) -> None:
    """Two values as they are."""
    g.output(g.input("count", *COUNT), g.input("x", *V))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (calling("IF", [TRUTH, V, V], [V], takes(V)), "the branch 0 takes 1 inputs, the node gives 2"),
        (calling("IF", [TRUTH, V], [V], takes(V), takes(V, V)), "the branch 1 takes 2 inputs, the node gives 1"),
        (calling("IF", [TRUTH, V], [V], takes(TRUTH, V, gives=1)), "the branch 0 takes 2 inputs, the node gives 1"),
        (calling("IF", [TRUTH, V], [V], of_constant), "input 0 of the branch 0 is a constant"),
        (calling("IF", [TRUTH, V], [V], takes(COUNT)), "input 0 of the branch 0 has type s32, the node gives f32"),
        (calling("IF", [((2,), BOOL), V], [V], takes(V)), "the condition has 2 elements, must have 1"),
        (calling("IF", [TRUTH, V], [V], takes(V, gives=sum_with((2,)))), "subgraph 1, node 0"),
        (calling("WHILE", [COUNT, V], [COUNT, V], takes(V, gives=yes), both), "the condition takes 1 inputs, the node gives 2"),
        (calling("WHILE", [V], [V], takes(V, gives=yes), takes(V, V)), "the body takes 2 inputs, the node gives 1"),
        (calling("WHILE", [V], [V], takes(V, V, gives=yes), takes(V)), "the condition takes 2 inputs, the node gives 1"),
        (calling("WHILE", [V], [V], takes(V), takes(V)), "the condition's output has type f32, must be b8"),
        (calling("WHILE", [V], [V], takes(V, gives=yes), takes(V, gives=sum_with((2,)))), "subgraph 2, node 0"),
        (
            calling("WHILE", [V], [V], takes(V, gives=lambda g, i: int(g.node("LESS", [i[0], g.constant("c", floats(1, 2))],
                out=("l", (), BOOL)))), takes(V)),
            "subgraph 1, node 0",
        ),
        (calling("CALL_ONCE", [], [], takes(V)), "the subgraph has 1 inputs and 1 outputs, must have none"),
        (calling("CALL_ONCE", [], [], takes(gives=yes)), "the subgraph has 0 inputs and 1 outputs, must have none"),
    ],
)  # fmt: skip
def test_subgraphs_that_do_not_fit(model: bytes, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        ready(model)


@pytest.mark.parametrize(("op", "operands", "outs"), [("WHILE", [V, V], [V]), ("WHILE", [V], [V, V])])
def test_a_loop_gives_as_many_values_as_it_takes(op: str, operands: list[Any], outs: list[Any]) -> None:
    with pytest.raises(UnsupportedOpError, match="the counts must be equal"):
        ready(calling(op, operands, outs, takes(*operands, gives=yes), takes(*operands)))


def repeated(g: Any, inputs: list[int]) -> int:
    """Input 1 as often as input 0 says, which only a run knows."""
    return int(g.node("TILE", [inputs[1], g.node("RESHAPE", [inputs[0], g.constant("one", np.int32([1]))], out=("r", (1,), S32))],
                      out=("tiled", (3,))))  # fmt: skip


def test_branches_with_shapes_of_values_that_fail_midway() -> None:
    """Both branches are prepared with open shapes; the sum of the second one fits a single length."""

    def tried(g: Any, inputs: list[int]) -> int:
        return int(g.node("ADD", [repeated(g, inputs), g.constant("c", np.zeros(3, np.float32))], out=("s", (3,))))

    model = calling("IF", [TRUTH, COUNT, V], [V], takes(COUNT, V, gives=repeated), takes(COUNT, V, gives=tried))
    interpreter, x = ready(model), floats(1, 2, 3)
    for _ in range(2):
        assert run(interpreter, np.array(True), integer(2), x)[0].tolist() == [1, 2, 3, 1, 2, 3]
        assert run(interpreter, np.array(False), integer(1), x)[0].tolist() == [1, 2, 3]
        with pytest.raises(MiniliteError, match="subgraph 2, node 2"):
            run(interpreter, np.array(False), integer(2), x)


def test_a_condition_whose_shape_is_known_in_the_run() -> None:
    """The condition has one element as long as the first value says so."""

    def repeats(g: Any, inputs: list[int]) -> int:
        row = g.node("TILE", [g.constant("no", np.array([False])), g.node("RESHAPE", [inputs[0], g.constant("one", np.int32([1]))],
                     out=("r", (1,), S32))], out=("tiled", (1,), BOOL))  # fmt: skip
        return int(row)

    model = calling("WHILE", [COUNT, V], [COUNT, V], takes(COUNT, V, gives=repeats), both)
    interpreter, x = ready(model), floats(1, 2, 3)
    assert run(interpreter, integer(1), x)[1].tolist() == [1, 2, 3]
    with pytest.raises(MiniliteError, match="the condition's output has 2 elements, must have 1"):
        run(interpreter, integer(2), x)


def test_a_call_in_a_loop_is_prepared_again() -> None:
    """A loop whose carry grows prepares its nodes in the run, CALL_ONCE among them."""
    builder = ModelBuilder()
    main, test, body, once = (builder.subgraph(name) for name in ("main", "test", "body", "once"))
    for g in (main, test, body):
        g.input("count", (), S32)
        g.input("x", (3,), signature=(-1,))
    main.output(*main.node("WHILE", [0, 1], out=[("c", (), S32), ("y", (3,))],
                           options={"cond_subgraph_index": 1, "body_subgraph_index": 2}))  # fmt: skip
    test.output(test.node("LESS", [0, test.constant("two", integer(2))], out=("l", (), BOOL)))
    body.node("CALL_ONCE", [], options={"init_subgraph_index": 3})
    next_count = body.node("ADD", [0, body.constant("one", integer(1))], out=("n", (), S32))
    body.output(next_count, body.node("CONCATENATION", [1, 1], out=("xx", (6,)), options={"axis": 0}))
    once.constant("unused", floats(1))
    assert run(ready(builder.build()), integer(0), floats(1, 2, 3))[1].tolist() == [1, 2, 3] * 4


@pytest.mark.parametrize("given", [-1, 5, 2**31 - 1])
@pytest.mark.parametrize("op", ["READ_VARIABLE", "ASSIGN_VARIABLE", "HASHTABLE_SIZE"])
def test_handles_of_no_resource(op: str, given: int) -> None:
    """A handle is a number that anyone may have written."""
    builder = ModelBuilder()
    g = builder.subgraph()
    handle = g.constant("handle", np.array([given], np.int32), TensorType.RESOURCE)
    x = g.input("x", (3,))
    g.output(g.node("NEG", [x], out=("z", (3,))))
    if op == "ASSIGN_VARIABLE":
        g.node(op, [handle, x])
    else:
        g.output(g.node(op, [handle], out=("y", (3,), F32 if op == "READ_VARIABLE" else TensorType.INT64)))
    with pytest.raises(KernelError, match=rf"resource {given} does not exist: the model has 0"):
        run(ready(builder.build()), floats(1, 2, 3))


@pytest.mark.parametrize("count", [0, 2])
def test_handles_of_other_sizes(count: int) -> None:
    builder = ModelBuilder()
    g = builder.subgraph()
    handle = g.constant("handle", np.zeros(count, np.int32), TensorType.RESOURCE)
    g.output(g.node("READ_VARIABLE", [handle], out=("y", (3,))))
    with pytest.raises(KernelError, match=rf"input 0, a resource, has {count} elements, must have 1"):
        run(ready(builder.build()))
