"""An interpreter between its runs: what is refused and what works after it, views, threads, signals, plans, memory."""

from __future__ import annotations

import gc
import mmap
from typing import Any

import numpy as np
import pytest
from built import (
    S32,
    Array,
    below,
    custom_chain,
    floats,
    head,
    integer,
    loop_graphs,
    next_count,
    ready,
    relu_chain,
    request,
    resized,
    run,
    variable,
    wanted,
)
from support.system import needs_system

import minilite
from minilite import KernelError, ShapeError, StateError
from minilite.engine.engine import engine_of
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

# Failures, and what works after them ----------------------------------------------------------------------------------


def test_state_of_a_stream_survives_resizes() -> None:
    builder = ModelBuilder()
    graph, init = builder.subgraph("main"), builder.subgraph("init")
    x = graph.input("x", (2,), signature=(-1,))
    graph.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
    handle = variable(graph)
    graph.output(
        graph.node("Last", [x, graph.node("READ_VARIABLE", [handle], out=("old", (1,)))], out=("y", (1,)), custom=True)
    )
    graph.node("ASSIGN_VARIABLE", [handle, 3])
    init.node("ASSIGN_VARIABLE", [variable(init), init.constant("zeros", floats(100.0))])
    assert builder.model().subgraphs[0].tensors[3].name == "y"
    interpreter = ready(builder.build(), custom_ops={"Last": lambda node, x, old: old + x[-1:]})
    assert run(interpreter, floats(0, 1))[0] == [101]
    resized(interpreter, 3)
    assert run(interpreter, floats(0, 0, 10))[0] == [111]
    resized(interpreter, 2)
    assert run(interpreter, floats(0, 1000))[0] == [1111]


def test_python_operator_that_raises_then_works() -> None:
    class OwnError(Exception):
        pass

    failing = [True]

    def double(node: Any, x: Any) -> Any:
        if failing[0]:
            raise OwnError("mine")
        return 2 * x

    interpreter = ready(custom_chain("Double"), custom_ops={"Double": double})
    for _ in range(2):
        with pytest.raises(OwnError, match=r"^mine\b"):
            run(interpreter, floats(-1, 2, 3, 4))
    failing[0] = False
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == [0, 4, 6, 8]


def test_python_operator_with_wrong_output() -> None:
    answers = iter([(floats(1), floats(2)), np.zeros(4), floats(1, 2, 3, 4)])
    interpreter = ready(custom_chain("Odd"), custom_ops={"Odd": lambda node, x: next(answers)})
    with pytest.raises(
        KernelError, match=r"^subgraph 0, node 0 \(Odd 'y'\): the function gave 2 outputs, the node has 1$"
    ):
        interpreter.invoke()
    with pytest.raises(
        KernelError, match=r"output 0 is float64, the model says float32: convert it with \.astype\('float32'\)$"
    ):
        interpreter.invoke()
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == [1, 2, 3, 4]


def two_inputs() -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    a, b = graph.input("a", (2, 3), signature=(-1, 3)), graph.input("b", (2, 3), signature=(-1, 3))
    graph.output(graph.node("ADD", [a, b], out=("sum", (2, 3))))
    return builder.build()


def test_refused_resize_leaves_the_old_size_in_force() -> None:
    interpreter = ready(two_inputs())
    ones = np.ones((2, 3), np.float32)
    interpreter.set_tensor(0, ones)
    interpreter.resize_tensor_input(0, (4, 3))
    with pytest.raises(ShapeError, match=r"^subgraph 0, node 0 \(ADD 'sum'\): .*\(4, 3\).*\(2, 3\)") as caught:
        interpreter.allocate_tensors()
    error = caught.value
    assert (error.subgraph, error.node, error.op) == (0, 0, "ADD")
    assert (error.tensors, error.shapes) == (("a", "b"), ((4, 3), (2, 3)))
    assert interpreter.get_input_details()[0]["shape"].tolist() == [2, 3]
    assert interpreter.get_tensor(0).tolist() == ones.tolist()
    interpreter.set_tensor(1, 4 * ones)
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == (5 * ones).tolist()


def test_run_with_refused_shapes_leaves_the_old_size_in_force() -> None:
    interpreter = minilite.Interpreter(model_content=two_inputs())
    good = {"a": np.ones((5, 3), np.float32), "b": np.ones((5, 3), np.float32)}
    interpreter.run(good)
    with pytest.raises(ShapeError):
        interpreter.run({**good, "b": np.ones((4, 3), np.float32)})
    assert interpreter.get_tensor(2).shape == (5, 3)
    assert interpreter.run(good)["sum"].sum() == 30


def test_first_size_refused_then_another_works() -> None:
    interpreter = minilite.Interpreter(model_content=two_inputs())
    interpreter.resize_tensor_input(0, (4, 3))
    with pytest.raises(ShapeError):
        interpreter.allocate_tensors()
    with pytest.raises(StateError):
        interpreter.invoke()
    interpreter.allocate_tensors()
    assert run(interpreter, *[np.ones((2, 3), np.float32)] * 2)[0].sum() == 12


def test_too_large_a_size_is_refused_and_the_old_one_runs() -> None:
    interpreter = ready(relu_chain())
    for shape in ((2**31 - 1, 2**25), (2**31 - 1, 2**20, 4)):
        interpreter.resize_tensor_input(0, shape)
        with pytest.raises(minilite.ArenaError, match="bytes"):
            interpreter.allocate_tensors()
    interpreter.resize_tensor_input(0, (2**31 - 1,) * 3)
    with pytest.raises(ShapeError, match="more elements than an int64 counts"):
        interpreter.allocate_tensors()
    assert run(interpreter, floats(-1, 2, 3, 4))[0].tolist() == [0, 2, 3, 4]


def test_too_large_an_input_that_no_kernel_measures() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (4,), signature=(-1,))
    graph.output(graph.node("SHAPE", [x], out=("y", (1,), TensorType.INT32), options={"out_type": "INT32"}))
    interpreter = ready(builder.build())
    interpreter.resize_tensor_input(0, (2**31 - 1,) * 3)
    with pytest.raises(ShapeError, match="more elements than an int64 counts"):
        interpreter.allocate_tensors()
    assert run(interpreter, floats(1, 2, 3, 4))[0].tolist() == [4]


def test_constants_keep_their_shape() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    c = graph.constant("c", floats(1, -2))
    graph.output(graph.node("RELU", [c], out=("y", (2,))))
    fresh, allocated = minilite.Interpreter(model_content=builder.build()), ready(builder.build())
    for interpreter in (fresh, allocated):
        with pytest.raises(
            minilite.InputError, match=r"^tensor 0 \('c'\) is constant: its shape \(2,\) cannot become \(9000,\)"
        ):
            interpreter.resize_tensor_input(0, (9000,))
        interpreter.resize_tensor_input(0, (2,))
        with pytest.raises(ShapeError, match="constant"):
            engine_of(interpreter).session().plan_for({0: (9000,)})


def test_last_resize_before_allocation_counts() -> None:
    interpreter = minilite.Interpreter(model_content=relu_chain())
    interpreter.resize_tensor_input(0, (8,))
    interpreter.plan_for()
    interpreter.resize_tensor_input(0, (16,))
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(0).shape == (16,)


def test_variables_of_a_loop_and_of_its_caller_keep_apart() -> None:
    """`outer` is a variable of the main subgraph; `inner`, of a loop's body, which adds it to x, stays zero."""
    builder = ModelBuilder()
    main, test, body = loop_graphs(builder)
    outer = main.variable("outer", (3,))
    outs = [("count_out", (), S32), ("x_out", (3,))]
    _, last = main.node("WHILE", [0, 1], out=outs, options={"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.output(last, main.node("RELU", [outer], out=("outer_out", (3,))))
    test.output(below(2)(test, [0]))
    inner = body.variable("inner", (3,))
    body.output(next_count(body, 0), body.node("ADD", [1, inner], out=("same", (3,))))
    interpreter = ready(builder.build())
    interpreter.set_tensor(outer, floats(100, 200, 300))
    for _ in range(3):
        same, kept = run(interpreter, integer(0), floats(1, 2, 3))
        assert same.tolist() == [1, 2, 3]
        assert kept.tolist() == interpreter.get_tensor(outer).tolist() == [100, 200, 300]


# Views ----------------------------------------------------------------------------------------------------------------


@needs_system
def test_trim_under_a_live_view() -> None:
    interpreter = ready(relu_chain())
    resized(interpreter, 1_000_000)
    resized(interpreter, 4)
    view = interpreter.tensor(0)()
    view[:] = 1
    with pytest.raises(StateError, match="view"):
        interpreter.trim()
    assert engine_of(interpreter).session().state.usage().arena_capacity > 1_000_000
    part = view[1:]
    del view
    with pytest.raises(StateError, match="view"):
        interpreter.trim()
    assert part.tolist() == [1, 1, 1]
    del part
    interpreter.trim()
    assert engine_of(interpreter).session().state.usage().arena_capacity == mmap.PAGESIZE
    interpreter.invoke()
    assert interpreter.get_tensor(3).tolist() == [1, 1, 1, 1]


def test_every_view_holds_the_arena_for_itself() -> None:
    interpreter = ready(relu_chain())
    resized(interpreter, 1_000_000)
    resized(interpreter, 4)
    a, b = interpreter.tensor(0)(), interpreter.tensor(3)()
    del a
    with pytest.raises(StateError, match="view"):
        interpreter.trim()
    interpreter.set_tensor(0, floats(-1, 2, 3, 4))
    interpreter.invoke()
    assert b.tolist() == [0, 2, 3, 4]
    del b
    interpreter.trim()


def test_every_view_holds_what_a_run_would_move() -> None:
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head})
    run(interpreter, request(2))
    a, b = interpreter.tensor(0)(), interpreter.tensor(2)()
    a[:] = request(100_000)
    del a
    with pytest.raises(StateError, match="view"):
        interpreter.invoke()
    assert b.tolist() == wanted(2).tolist()
    del b
    interpreter.set_tensor(0, request(100_000))
    interpreter.invoke()
    assert np.array_equal(interpreter.get_tensor(2), wanted(100_000))


def test_resize_under_a_live_view_waits_for_it() -> None:
    interpreter = ready(relu_chain())
    view = interpreter.tensor(0)()
    interpreter.resize_tensor_input(0, (100_000,))
    with pytest.raises(StateError, match=r"^There is at least 1 reference to internal data"):
        interpreter.allocate_tensors()
    view[:] = 2
    del view
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(0).shape == (100_000,)


def test_views_are_live_and_keep_their_interpreter() -> None:
    interpreter = ready(relu_chain())
    source, result = interpreter.tensor(0)(), interpreter.tensor(3)()
    source[:] = floats(-1, 2, -3, 4)
    interpreter.invoke()
    assert result.tolist() == [0, 2, 0, 4]
    source[:] = 5
    interpreter.invoke()
    assert result.tolist() == [5] * 4
    del interpreter
    gc.collect()
    source[:] = result
    assert source.tolist() == [5] * 4


def test_run_that_would_move_viewed_tensors_is_refused() -> None:
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head})
    assert run(interpreter, request(2))[0].tolist() == wanted(2).tolist()
    view = interpreter.tensor(2)()
    interpreter.set_tensor(0, request(100_000))
    with pytest.raises(StateError, match="view"):
        interpreter.invoke()
    view[:] = 7
    assert view.tolist() == [7, 7]
    with pytest.raises(StateError, match="view"):
        interpreter.invoke()
    del view
    interpreter.invoke()
    assert np.array_equal(interpreter.get_tensor(2), wanted(100_000))


def test_custom_function_may_keep_its_inputs() -> None:
    kept: list[Array] = []

    def keep(node: Any, x: Array) -> Array:
        kept.append(x)
        return x

    interpreter = minilite.Interpreter(model_content=custom_chain("Keep"), custom_ops={"Keep": keep})
    interpreter.allocate_tensors()
    interpreter.invoke()
    address = interpreter.tensor(interpreter.get_input_details()[0]["index"])().__array_interface__["data"][0]
    assert kept[0].base is None
    assert kept[0].__array_interface__["data"][0] != address
