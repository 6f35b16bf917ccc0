"""An interpreter between its runs: what is refused and what works after it, views, threads, signals, plans, memory."""

from __future__ import annotations

import gc
import itertools
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from built import (
    accumulator,
    count_since,
    custom_chain,
    floats,
    head,
    ready,
    relu_chain,
    request,
    run,
    variable,
    wanted,
)

import minilite
from minilite import KernelError, ShapeError, StateError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType


def resized(interpreter: minilite.Interpreter, size: int) -> None:
    interpreter.resize_tensor_input(0, (size,))
    interpreter.allocate_tensors()


# Failures, and what works after them ------------------------------------------------------------------------------------


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
        with pytest.raises(OwnError, match=r"^mine$"):
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
    with pytest.raises(KernelError, match=r"output 0 came as float64, the model says float32$"):
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
    assert (error.subgraph, error.node, error.op, error.tensors) == (0, 0, "ADD", ("sum",))
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
            interpreter._session().plan_for({0: (9000,)})


def test_last_resize_before_allocation_counts() -> None:
    interpreter = minilite.Interpreter(model_content=relu_chain())
    interpreter.resize_tensor_input(0, (8,))
    interpreter.plan_for()
    interpreter.resize_tensor_input(0, (16,))
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(0).shape == (16,)


# Views ------------------------------------------------------------------------------------------------------------------


def test_trim_under_a_live_view() -> None:
    interpreter = ready(relu_chain())
    resized(interpreter, 1_000_000)
    resized(interpreter, 4)
    view = interpreter.tensor(0)()
    view[:] = 1
    with pytest.raises(StateError, match="view"):
        interpreter.trim()
    assert interpreter._session().state.arena_capacity > 1_000_000
    part = view[1:]
    del view
    with pytest.raises(StateError, match="view"):
        interpreter.trim()
    assert part.tolist() == [1, 1, 1]
    del part
    interpreter.trim()
    assert interpreter._session().state.arena_capacity == 4096
    interpreter.invoke()
    assert interpreter.get_tensor(3).tolist() == [1, 1, 1, 1]


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


# Threads and signals ----------------------------------------------------------------------------------------------------


class Blocked:
    """A run in a thread of its own that waits inside a custom operator until it is let go."""

    def __init__(self, answer: Any = None) -> None:
        self.inside, self.go = threading.Event(), threading.Event()
        self.answer = answer
        self.error: BaseException | None = None
        self.interpreter = ready(custom_chain("Wait"), custom_ops={"Wait": self.wait})
        self.thread = threading.Thread(target=self.invoke)

    def wait(self, node: Any, x: Any) -> Any:
        self.inside.set()
        assert self.go.wait(60)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return 2 * x

    def invoke(self) -> None:
        try:
            self.interpreter.invoke()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def __enter__(self) -> minilite.Interpreter:
        self.interpreter.set_tensor(0, floats(1, 2, 3, 4))
        self.thread.start()
        assert self.inside.wait(60)
        return self.interpreter

    def __exit__(self, *_: object) -> None:
        self.go.set()
        self.thread.join(60)
        assert not self.thread.is_alive()


def refused_calls(interpreter: minilite.Interpreter) -> list[Any]:
    def resize() -> None:
        interpreter.resize_tensor_input(0, (9,))
        interpreter.allocate_tensors()

    return [
        interpreter.invoke,
        lambda: interpreter.set_tensor(0, floats(9, 9, 9, 9)),
        lambda: interpreter.get_tensor(2),
        lambda: interpreter.tensor(2)(),
        lambda: interpreter.plan_for({0: (8,)}),
        interpreter.trim,
        interpreter.reset_all_variables,
        resize,
    ]


def test_two_threads_on_one_interpreter() -> None:
    with (blocked := Blocked()) as interpreter:
        for call in refused_calls(interpreter):
            with pytest.raises(StateError, match=r"^the interpreter is running in another call: one call at a time$"):
                call()
    assert blocked.error is None
    interpreter.resize_tensor_input(0, (4,))
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(2).tolist() == [2, 4, 6, 8]


def test_refused_second_thread_takes_nothing_from_the_first() -> None:
    with (
        (blocked := Blocked(answer=KeyError("the first thread's"))) as interpreter,
        pytest.raises(StateError, match="running"),
    ):
        interpreter.invoke()
    assert isinstance(blocked.error, KeyError)


def test_cancel_after_a_refused_call_says_cancelled() -> None:
    with (blocked := Blocked()) as interpreter:
        with pytest.raises(StateError, match="running"):
            interpreter.invoke()
        interpreter.cancel()
    assert isinstance(blocked.error, KernelError)
    assert str(blocked.error) == "subgraph 0, node 1 (RELU 'z'): the run was cancelled"
    blocked.interpreter.invoke()
    assert blocked.interpreter.get_tensor(2).tolist() == [2, 4, 6, 8]


def test_calls_from_within_a_custom_operator_are_refused() -> None:
    found: list[str] = []

    def nosy(node: Any, x: Any) -> Any:
        for call in refused_calls(interpreter):
            with pytest.raises(StateError) as caught:
                call()
            found.append(str(caught.value))
        return x

    interpreter = ready(custom_chain("Nosy"), custom_ops={"Nosy": nosy})
    run(interpreter, floats(1, 2, 3, 4))
    assert len(found) == 8
    assert set(found) == {"the interpreter is running in another call: one call at a time"}


def test_two_interpreters_of_one_model_in_two_threads() -> None:
    with (blocked := Blocked()) as interpreter:
        other = interpreter.clone()
        other.allocate_tensors()
        blocked.go.set()
        assert run(other, floats(4, 3, 2, 1))[0].tolist() == [8, 6, 4, 2]
    assert blocked.error is None
    assert interpreter.get_tensor(2).tolist() == [2, 4, 6, 8]


ENDLESS = """
import sys, time
sys.path.insert(0, {here!r})
import numpy as np
from built import ready
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

builder = ModelBuilder()
main, test, body = (builder.subgraph() for _ in range(3))
flag, x = main.input("flag", (), TensorType.BOOL), main.input("x", (4,))
outs = [("flag_out", (), TensorType.BOOL), ("x_out", (4,))]
main.output(*main.node("WHILE", [flag, x], out=outs, options=dict(cond_subgraph_index=1, body_subgraph_index=2)))
test.output(test.input("flag", (), TensorType.BOOL))
test.input("x", (4,))
passed = body.input("flag", (), TensorType.BOOL)
body.output(passed, body.node("RELU", [body.input("x", (4,))], out=("y", (4,))))
interpreter = ready(builder.build())
interpreter.set_tensor(0, np.array(True))
print("running", flush=True)
try:
    interpreter.invoke()
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
interpreter.set_tensor(0, np.array(False))
interpreter.set_tensor(1, np.arange(4, dtype=np.float32))
interpreter.invoke()
print(interpreter.get_tensor(3).tolist(), flush=True)
"""


def test_ctrl_c_in_an_endless_loop() -> None:
    here = str(pathlib.Path(__file__).parent)
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS.format(here=here)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "running\n"
            time.sleep(0.3)  # it is in the loop by now; were it not, there would be nothing to answer
            sent = time.time()
            process.send_signal(signal.SIGINT)
            word, when = process.stdout.readline().split()
            assert (word, process.stdout.readline()) == ("interrupted", "[0.0, 1.0, 2.0, 3.0]\n")
            assert float(when) - sent < 0.2
        finally:
            process.kill()


# Plans ------------------------------------------------------------------------------------------------------------------


def test_going_back_to_a_size_is_a_hit() -> None:
    interpreter = ready(relu_chain())
    first = count_since(interpreter, lambda: resized(interpreter, 9))
    assert (first["plans"], first["plan_hits"], first["nodes_prepared"]) == (1, 0, 3)
    back = count_since(interpreter, lambda: [resized(interpreter, size) for size in (4, 9, 4)])
    assert (back["plans"], back["plan_hits"], back["nodes_prepared"]) == (0, 3, 0)
    same = count_since(interpreter, lambda: resized(interpreter, 4))
    assert not any(same.values())


def test_the_plan_longest_unused_goes_first() -> None:
    interpreter = ready(relu_chain())
    room = 16
    for size in range(5, 5 + room - 1):
        resized(interpreter, size)
    assert count_since(interpreter, lambda: resized(interpreter, 4))["plan_hits"] == 1
    assert count_since(interpreter, lambda: resized(interpreter, 1000))["plans"] == 1  # 5 had to go
    assert count_since(interpreter, lambda: resized(interpreter, 4))["plan_hits"] == 1
    assert count_since(interpreter, lambda: resized(interpreter, 5))["plans"] == 1
    assert count_since(interpreter, lambda: resized(interpreter, 1000))["plan_hits"] == 1


def test_a_plan_outlives_its_place_in_the_cache() -> None:
    interpreter = ready(relu_chain())
    plan = interpreter.plan
    assert plan is not None
    for size in range(5, 60):
        resized(interpreter, size)
    assert (plan.shape(0), plan.arena_bytes) == ((4,), ready(relu_chain()).arena_bytes)
    del interpreter
    gc.collect()
    assert plan.tensor(3).shape == (4,)


def test_interpreters_in_reference_cycles_are_freed() -> None:
    """The collector frees graph, state and plans in any order; run under AddressSanitizer to see it fail."""
    for order in range(4):
        interpreters = [minilite.Interpreter(model_content=relu_chain()) for _ in range(3)]
        for interpreter in interpreters:
            interpreter.allocate_tensors()
        cycle = [interpreters, interpreters[0]._program, *[i.plan for i in interpreters]]
        cycle.append(cycle[order:])
        cycle.append(cycle)
        del interpreters, interpreter, cycle
        gc.collect()


def test_plan_for_leaves_everything_untouched() -> None:
    interpreter = ready(relu_chain())
    run(interpreter, floats(-1, 2, 3, 4))
    before = (
        interpreter.counters,
        interpreter.arena_bytes,
        interpreter.get_tensor(3).tolist(),
        interpreter._session().state.generation,
    )
    plan = interpreter.plan_for({"x": (1_000_000,)})
    assert plan.shape(3) == (1_000_000,)
    assert plan.arena_bytes >= 4_000_000
    with pytest.raises(minilite.InputError, match="there is no input 'nope', the model takes x"):
        interpreter.plan_for({"nope": (1,)})
    for key, shape in ((4, (1,)), (-1, (1,)), (0, (-1,)), ("x", (2**31,)), (0, (2,) * 9)):
        with pytest.raises(minilite.InputError):
            interpreter.plan_for({key: shape})
    after = (
        interpreter.counters,
        interpreter.arena_bytes,
        interpreter.get_tensor(3).tolist(),
        interpreter._session().state.generation,
    )
    assert before == after
    assert count_since(interpreter, lambda: resized(interpreter, 1_000_000))["plans"] == 1


def test_plan_for_equals_what_comes_into_force() -> None:
    interpreter = ready(relu_chain())
    planned = interpreter.plan_for({"x": (77,)})
    resized(interpreter, 77)
    assert interpreter.plan is not None
    assert planned.records() == interpreter.plan.records()
    assert planned.arena_bytes == interpreter.arena_bytes


def test_clones_share_nothing_that_changes() -> None:
    interpreter = ready(accumulator())
    run(interpreter, floats(1, 1, 1, 1))
    other = interpreter.clone()
    assert other.plan is None
    other.allocate_tensors()
    assert run(other, floats(2, 2, 2, 2))[0].tolist() == [2] * 4
    assert run(interpreter, floats(1, 1, 1, 1))[0].tolist() == [2] * 4
    assert other.counters["invokes"] == 1


def test_preserve_all_keeps_every_tensor() -> None:
    reusing = ready(relu_chain(6, 1000))
    keeping = ready(relu_chain(6, 1000), experimental_preserve_all_tensors=True)
    assert reusing.arena_bytes < keeping.arena_bytes
    assert keeping.plan is not None
    places = [keeping.plan.tensor(t).offset for t in range(7)]
    assert all(abs(a - b) >= 4000 for a, b in itertools.combinations(places, 2))
    x = np.linspace(-1, 1, 1000, dtype=np.float32)
    run(keeping, x)
    assert keeping.get_tensor(0).tolist() == x.tolist()
    assert all(keeping.get_tensor(t).tolist() == np.maximum(x, 0).tolist() for t in range(1, 7))


# Memory -----------------------------------------------------------------------------------------------------------------


def test_release_and_acquire() -> None:
    interpreter = ready(relu_chain(3, 100_000))
    session = interpreter._session()
    session.release_memory()
    assert session.state.arena_capacity == 0
    for call in (interpreter.invoke, lambda: interpreter.get_tensor(0), lambda: interpreter.tensor(3)()):
        with pytest.raises(StateError):
            call()
    with pytest.raises(StateError):
        interpreter.set_tensor(0, np.zeros(100_000, np.float32))
    counted = count_since(interpreter, interpreter.allocate_tensors)
    assert counted["plans"] == counted["plan_hits"] == 0
    assert run(interpreter, np.full(100_000, 3, np.float32))[0].sum() == 300_000


def test_release_does_not_forget_a_resize() -> None:
    interpreter = ready(relu_chain())
    interpreter.resize_tensor_input(0, (8,))
    interpreter._session().release_memory()
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(0).shape == (8,)


def test_release_is_refused_under_a_view() -> None:
    interpreter = ready(relu_chain())
    view = interpreter.tensor(0)()
    with pytest.raises(StateError, match="view"):
        interpreter._session().release_memory()
    view[:] = 1
    interpreter.invoke()
    assert interpreter.get_tensor(3).tolist() == [1] * 4


def test_variable_tensors() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (4,), signature=(-1,))
    state = graph.variable("state", (100_000,))
    graph.output(graph.node("RELU", [state], out=("y", (100_000,))), graph.node("RELU", [x], out=("z", (4,))))
    interpreter = ready(builder.build())
    assert interpreter.get_tensor(state).any() == np.False_
    interpreter.set_tensor(state, np.ones(100_000, np.float32))
    for _ in range(2):
        run(interpreter, floats(1, 2, 3, 4))
        assert interpreter.get_tensor(2).sum() == 100_000
    interpreter.reset_all_variables()
    interpreter.invoke()
    assert interpreter.get_tensor(2).sum() == 0
    interpreter.set_tensor(state, np.ones(100_000, np.float32))
    resized(interpreter, 5)  # variable tensors are zeroed when they are allocated anew, as in LiteRT
    assert interpreter.get_tensor(state).sum() == 0


def test_variable_tensor_of_impossible_size() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.input("x", (4,))
    state = graph.variable("state", (4,))
    graph.output(graph.node("RELU", [state], out=("y", (4,))))
    interpreter = ready(builder.build())
    interpreter.resize_tensor_input(state, (2**31 - 1,) * 4)
    with pytest.raises(ShapeError, match="more elements than an int64 counts"):
        interpreter.allocate_tensors()
    interpreter.set_tensor(state, floats(1, 2, 3, 4))
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == [1, 2, 3, 4]
    assert interpreter.model.subgraphs[0].tensors[state].type == TensorType.FLOAT32
