"""VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE and CALL_ONCE: state from run to run; LiteRT is the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import (
    PAIR,
    S32,
    A,
    Array,
    B,
    accumulator,
    agree,
    below,
    count_since,
    floats,
    integer,
    litert,
    loop,
    next_count,
    ready,
    run,
    variable,
)

from minilite import KernelError, StateError
from minilite.engine.engine import engine_of
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

# Variables ------------------------------------------------------------------------------------------------------------


def test_accumulating_stream() -> None:
    results = agree(accumulator(), *[[floats(1, 2, 3, n)] for n in range(5)])
    assert results[-1][0].tolist() == [5, 10, 15, 10]


def forget(interpreter: Any) -> None:
    """Resource variables become unassigned, and CALL_ONCE runs again."""
    interpreter.reset_resources()


def test_reset_all_variables_leaves_resource_variables_alone() -> None:
    for interpreter in (ready(accumulator()), litert(accumulator())):
        for before in (0, 3):
            assert [run(interpreter, floats(1, 1, 1, 1))[0][0] - before for _ in range(3)] == [1, 2, 3]
            interpreter.reset_all_variables()


def test_reset_resources_start_again() -> None:
    interpreter = ready(accumulator())
    for _ in range(2):
        assert [run(interpreter, floats(1, 1, 1, 1))[0][0] for _ in range(3)] == [1, 2, 3]
        forget(interpreter)


def test_forgotten_variables_are_unassigned() -> None:
    """A loop of `turns` turns assigns the variable; with no turn it stays unassigned."""
    builder = ModelBuilder()
    main, test, body = builder.subgraph("main"), builder.subgraph("condition"), builder.subgraph("body")
    for graph in (main, test, body):
        for name in ("count", "turns"):
            graph.input(name, (), S32)
    outs = [(f"{name}_out", (), S32) for name in ("count", "turns")]
    main.node("WHILE", [0, 1], out=outs, options={"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.output(main.node("READ_VARIABLE", [variable(main)], out=("value", (1,))))
    test.output(test.node("LESS", [0, 1], out=("go_on", (), TensorType.BOOL)))
    body.output(next_count(body, 0), 1)
    body.node("ASSIGN_VARIABLE", [variable(body), body.constant("seven", floats(7))])
    interpreter = ready(builder.build())
    assert [run(interpreter, integer(0), integer(turns))[0].tolist() for turns in (2, 0)] == [[7], [7]]
    forget(interpreter)
    with pytest.raises(KernelError, match="read before it is assigned"):
        run(interpreter, integer(0), integer(0))
    assert run(interpreter, integer(0), integer(1))[0].tolist() == [7]


def test_variables_survive_a_resize() -> None:
    interpreter, other = ready(accumulator(1)), litert(accumulator(1))
    for size in (1, 3, 1, 3):
        for one in (interpreter, other):
            one.resize_tensor_input(0, (size,))
            one.allocate_tensors()
        if size == 1:
            assert run(interpreter, floats(1))[0].tolist() == run(other, floats(1))[0].tolist()
    # The variable has taken the shape of what was assigned to it, so that (1,) + (3,) -> (3,), for good.
    assert run(interpreter, floats(1, 2, 3))[0].tolist() == [3, 4, 5]


def test_variable_that_grows_with_what_is_assigned() -> None:
    interpreter = ready(accumulator(1))
    for size in (1, 1000, 1000):
        interpreter.resize_tensor_input(0, (size,))
        interpreter.allocate_tensors()
        run(interpreter, np.ones(size, np.float32))
    assert interpreter.get_output_details()[0]["shape"].tolist() == [1000]
    assert interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tolist() == [3] * 1000


def test_two_variables_by_name() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, y = graph.input("x", (2,)), graph.input("y", (2,))
    first, second, again = variable(graph, "one"), variable(graph, "two"), variable(graph, "one")
    graph.node("ASSIGN_VARIABLE", [first, x])
    graph.node("ASSIGN_VARIABLE", [second, y])
    graph.output(*[graph.node("READ_VARIABLE", [h], out=(f"r{h}", (2,))) for h in (again, second)])
    (found,) = agree(builder.build(), [floats(1, 2), floats(3, 4)])
    assert [f.tolist() for f in found] == [[1, 2], [3, 4]]


def test_nobody_reads_what_a_hidden_read_points_at() -> None:
    """The sum is computed from the variable's own bytes, which move when a larger value is assigned."""
    interpreter = ready(accumulator(1))
    run(interpreter, floats(1))
    state = engine_of(interpreter).session().state
    places = [state.place(detail["index"]) for detail in interpreter.get_tensor_details()]
    hidden = [place for place in places if place.storage == "none" and place.bytes]
    assert hidden
    assert not any(place.address for place in hidden)


def test_variable_read_before_it_is_assigned() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.input("x", (2,))
    graph.output(graph.node("READ_VARIABLE", [variable(graph)], out=("r", (2,))))
    interpreter = ready(builder.build())
    with pytest.raises(KernelError, match=r"^subgraph 0, node 1 \(READ_VARIABLE 'r'\): .*read before it is assigned$"):
        interpreter.invoke()


def test_call_once_runs_once_and_again_when_it_failed() -> None:
    builder = ModelBuilder()
    graph, init = builder.subgraph("main"), builder.subgraph("init")
    x = graph.input("x", (1,))
    graph.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
    graph.output(graph.node("RELU", [x], out=("y", (1,))))
    init.node(
        "ASSIGN_VARIABLE",
        [variable(init), init.node("Count", [init.constant("k", floats(1))], out=("v", (1,)), custom=True)],
    )
    calls: list[int] = []

    def counting(node: Any, k: Array) -> Array:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("not yet")
        return k

    interpreter = ready(builder.build(), custom_ops={"Count": counting})
    with pytest.raises(OSError, match="not yet"):
        interpreter.invoke()
    for _ in range(3):
        interpreter.invoke()
    assert len(calls) == 2
    interpreter.reset_all_variables()
    interpreter.invoke()
    assert len(calls) == 2
    forget(interpreter)
    interpreter.invoke()
    assert len(calls) == 3


def test_variable_written_in_a_loop() -> None:
    def body(g: Any, c: list[int]) -> list[int]:
        handle = variable(g)
        g.node("ASSIGN_VARIABLE", [handle, c[1]])
        old = g.node("READ_VARIABLE", [handle], out=("old", (3,)))
        return [next_count(g, c[0]), g.node("ADD", [old, c[1]], out=("sum", (3,))), old]

    (found,) = agree(loop(PAIR, below(3), body), [integer(0), A, B])
    assert found[1].tolist() == (8 * A).tolist()
    assert found[2].tolist() == (4 * A).tolist()


# Values that are read where they lie ----------------------------------------------------------------------------------


def stored(interpreter: Any, tensor: int) -> str:
    """Where the plan stores a tensor of the main subgraph."""
    found: str = interpreter.plan.tensor(tensor).storage
    return found


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_value_that_is_read_before_the_variable_is_assigned_has_no_memory(late: bool) -> None:
    builder = ModelBuilder()
    graph, init = builder.subgraph("main"), builder.subgraph("init")
    x = graph.input("x", (3,))
    graph.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
    handle = variable(graph)
    old = graph.node("READ_VARIABLE", [handle], out=("old", (3,)))
    y = x if late else graph.node("SUB", [x, old], out=("y", (3,)))
    graph.node("ASSIGN_VARIABLE", [variable(graph), x])
    graph.output(graph.node("SUB", [x, old], out=("y", (3,))) if late else y)
    init.node("ASSIGN_VARIABLE", [variable(init), init.constant("first", floats(1, 2, 3))])
    model = builder.build()
    runs = [[floats(5, 5, 5)], [floats(7, 8, 9)]]
    assert [found.tolist() for (found,) in agree(model, *runs)] == [[4, 3, 2], [2, 3, 4]]
    interpreter, kept = ready(model), ready(model, experimental_preserve_all_tensors=True)
    assert (stored(interpreter, old), stored(kept, old)) == ("arena" if late else "none", "arena")
    for one in (interpreter, kept):
        run(one, floats(5, 5, 5))
    assert kept.get_tensor(old).tolist() == [1, 2, 3]
    if not late:
        with pytest.raises(StateError, match=r"tensor \d+ \('old'\) has no memory"):
            interpreter.get_tensor(old)


@pytest.mark.parametrize("names", [("one", "two"), ("two", "one")])
def test_assigning_another_variable_leaves_a_value_where_it_is(names: tuple[str, str]) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (2,))
    for name in ("one", "two"):
        graph.node("ASSIGN_VARIABLE", [variable(graph, name), graph.constant(f"first {name}", floats(1, 2))])
    old = graph.node("READ_VARIABLE", [variable(graph, names[0])], out=("old", (2,)))
    graph.node("ASSIGN_VARIABLE", [variable(graph, names[1]), x])
    graph.output(graph.node("SUB", [x, old], out=("y", (2,))))
    assert stored(ready(builder.build()), old) == "none"
    assert agree(builder.build(), [floats(5, 7)])[0][0].tolist() == [4, 5]


def test_value_that_is_an_output_keeps_what_was_read() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (2,))
    graph.node("ASSIGN_VARIABLE", [variable(graph), graph.constant("first", floats(1, 2))])
    old = graph.node("READ_VARIABLE", [variable(graph)], out=("old", (2,)))
    y = graph.node("ADD", [old, x], out=("y", (2,)))
    graph.node("ASSIGN_VARIABLE", [variable(graph), y])
    graph.output(old, y)
    for found in agree(builder.build(), [floats(3, 4)], [floats(5, 6)]):
        assert found[0].tolist() == [1, 2]


def test_assignment_by_a_handle_that_was_passed_in() -> None:
    """While the graph is made it is unknown which variable the handle means."""
    builder = ModelBuilder()
    main, some, other = (builder.subgraph(name) for name in ("main", "some", "other"))
    flag, x = main.input("flag", (), TensorType.BOOL), main.input("x", (2,))
    handle = variable(main)
    main.node("ASSIGN_VARIABLE", [handle, main.constant("first", floats(1, 2))])
    options = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    main.output(*main.node("IF", [flag, handle, x], out=[("y", (2,))], options=options))
    for graph in (some, other):
        given, value = graph.input("handle", (), TensorType.RESOURCE), graph.input("x", (2,))
        old = graph.node("READ_VARIABLE", [variable(graph)], out=("old", (2,)))
        if graph is some:
            graph.node("ASSIGN_VARIABLE", [given, value])
        graph.output(graph.node("ADD", [old, value], out=("y", (2,))))
    interpreter = ready(builder.build())
    for flag_now in (True, False):
        assert run(interpreter, np.array(flag_now), floats(10, 20))[0].tolist() == [11, 22]


def test_steady_runs_prepare_nothing() -> None:
    interpreter = ready(accumulator())
    for _ in range(2):
        run(interpreter, floats(1, 1, 1, 1))
    assert count_since(interpreter, lambda: run(interpreter, floats(1, 1, 1, 1)))["nodes_prepared"] == 0
