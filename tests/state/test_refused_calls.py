"""Calls that Python's own classes never make, and csrc/state refuses: calls before tensors are allocated, of tensors
that do not exist, with the number of another moment, and of a state that runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import Array, accumulator, custom_chain, floats, graph_with, ready, run, texts

import minilite
from minilite._core import ffi, lib
from minilite._native.state import Place, Shared, State
from minilite.engine.engine import engine_of
from minilite.engine.program import new_state
from minilite.errors import MiniliteError, ShapeError, StateError
from minilite.format.dtypes import TensorType

X, W, Y = range(3)
OUTSIDE = (-1, 3, 2**31 - 1)
"""Numbers of no tensor of `model`."""


def model() -> bytes:
    """x + w -> y."""

    def build(g: Any) -> list[int]:
        return [g.node("ADD", [g.input("x", (4,)), g.constant("w", floats(1, 2, 3, 4))], out=("y", (4,)))]

    return graph_with(build)


def state_of(interpreter: minilite.Interpreter) -> State:
    return engine_of(interpreter).session().state


def test_state_before_allocation_refuses_calls() -> None:
    state = state_of(minilite.Interpreter(model_content=model()))
    assert state.plan is None
    assert state.memory is None
    assert state.overwriter(X) == -1
    assert (state.usage().arena_bytes, state.usage().bound_bytes) == (0, 0)
    for ask, message in ((lambda: state.place(X), "no tensors are allocated"), (state.run(), "is not ready")):
        with pytest.raises(StateError, match=message):
            ask()
    for call in (state.reset_variables, state.trim, state.release_memory):
        call()
    assert state.plan is None


def test_tensors_that_do_not_exist() -> None:
    interpreter = ready(model())
    state, place = state_of(interpreter), state_of(interpreter).place(X)
    for tensor in OUTSIDE:
        with pytest.raises(StateError, match=f"there is no tensor {tensor}"):
            state.place(tensor)
        assert not state.read(tensor, place, np.zeros(4, np.float32))
        assert not state.write(tensor, place, np.zeros(4, np.float32))
        assert not state.write_heap(tensor, place, np.zeros(4, np.uint8))
        assert lib.ml_state_request(state.pointer, tensor, np.int32([4]).tobytes(), 1) == lib.ML_REQUEST_WRONG
        assert state.requested(tensor) is None


def kinds() -> bytes:
    """x + w -> y -> RELU -> z, a variable that is read, and strings."""

    def build(g: Any) -> list[int]:
        x, w = g.input("x", (4,)), g.constant("w", floats(1, 2, 3, 4))
        y = g.node("ADD", [x, w], out=("y", (4,)))
        kept, words = g.variable("kept", (4,)), g.input("words", (2,), TensorType.STRING)
        z = g.node("RELU", [y], out=("z", (4,)))
        return [z, g.node("NEG", [kept], out=("k", (4,))), words]

    return graph_with(build)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (-1, "there is no tensor -1 to bind, or no buffer"),
        (7, "there is no tensor 7 to bind, or no buffer"),
        (W, "cannot be bound: it is constant"),
        (Y, "cannot be bound: it is hidden between nodes"),
        (3, "cannot be bound: it is a variable"),
        (4, "cannot be bound: it is of no fixed size"),
    ],
)
def test_tensors_that_cannot_be_bound(tensor: int, message: str) -> None:
    interpreter, array = ready(kinds()), np.zeros(4, np.float32)
    assert state_of(interpreter).bind([(array.ctypes.data, array.nbytes, 1, tensor)])
    prepare, state = state_of(interpreter).preparing()
    failed = prepare(state)
    with pytest.raises(MiniliteError, match=message):
        state_of(interpreter).check(failed)
    assert interpreter.get_tensor(0).tolist() == [0, 0, 0, 0]


def test_no_buffer_is_bound() -> None:
    interpreter = ready(kinds())
    assert state_of(interpreter).bind([(0, 16, 1, X)])
    prepare, state = state_of(interpreter).preparing()
    with pytest.raises(MiniliteError, match="there is no tensor 0 to bind, or no buffer"):
        state_of(interpreter).check(prepare(state))


def test_a_variable_has_no_negative_dimension() -> None:
    interpreter = ready(kinds())
    for dims in ([-1], [2**31 - 1] * 3):
        with pytest.raises(ShapeError, match=r"variable .*cannot take the shape"):
            state_of(interpreter).plan_for([3, len(dims), *dims])
    with pytest.raises(ShapeError, match="is constant: it keeps its shape"):
        state_of(interpreter).plan_for([W, 1, 5])


class Moment:
    """A place of another moment."""

    def __init__(self, place: Place) -> None:
        self.generation = place.generation + 1


def test_copies_of_another_moment_or_size_are_refused() -> None:
    interpreter = ready(model())
    state, place = state_of(interpreter), state_of(interpreter).place(X)
    run(interpreter, floats(5, 6, 7, 8))
    late: Any = Moment(place)
    for array in (np.full(4, 9, np.float32), np.zeros(3, np.float32), np.zeros(5, np.float32), np.zeros(0, np.float32)):
        for at in (place, late):
            fits = at is place and len(array) == 4
            assert state.read(X, at, array.copy()) == fits
            assert state.write(X, at, array) == fits
    assert interpreter.get_tensor(X).tolist() == [9, 9, 9, 9]
    for tensor in (W, Y):
        there = np.zeros(4, np.float32)
        assert state.read(tensor, state.place(tensor), there)
        assert state.write(tensor, state.place(tensor), floats(0, 0, 0, 0)) == (tensor == Y)
    assert interpreter.get_tensor(W).tolist() == [1, 2, 3, 4]


def test_folded_values_are_not_written() -> None:
    def build(g: Any) -> list[int]:
        x = g.input("x", (4,))
        shape = g.node("SHAPE", [x], out=("shape", (1,), TensorType.INT32), options={"out_type": "INT32"})
        return [shape, g.node("NEG", [x], out=("y", (4,)))]

    interpreter = ready(graph_with(build))
    state = state_of(interpreter)
    assert not state.write(1, state.place(1), np.int32([7]))
    assert run(interpreter, floats(1, 2, 3, 4))[0].tolist() == [4]


def test_nothing_is_copied_where_there_is_nothing() -> None:
    interpreter = ready(model())
    interpreter.resize_tensor_input(X, (0,))
    with pytest.raises(ShapeError):
        interpreter.allocate_tensors()
    empty = ready(graph_with(lambda g: [g.node("NEG", [g.input("x", (0,))], out=("y", (0,)))]))
    state, nothing = state_of(empty), np.zeros(0, np.float32)
    assert state.write(0, state.place(0), nothing)
    assert state.read(0, state.place(0), nothing)
    assert not state.read(0, state.place(0), np.zeros(1, np.float32))


def test_strings_of_another_moment_are_refused() -> None:
    def build(g: Any) -> list[int]:
        return [g.node("RESHAPE", [g.input("x", (2,), TensorType.STRING), g.constant("s", np.int32([2]))],
                       out=("y", (2,), TensorType.STRING))]  # fmt: skip

    interpreter = ready(graph_with(build))
    run(interpreter, texts("a", "bc"))
    state = state_of(interpreter)
    place, bytes_of = state.place(0), np.frombuffer(b"\0" * 8, np.uint8)
    assert not state.write_heap(0, Moment(place), bytes_of)  # type: ignore[arg-type]
    assert not state.write_heap(1, place, bytes_of)  # a constant
    assert interpreter.get_tensor(0).tolist() == [b"a", b"bc"]


@pytest.mark.parametrize("rank", [-1, 9, 2**31 - 1])
def test_requests_of_no_rank(rank: int) -> None:
    state = state_of(ready(model()))
    assert lib.ml_state_request(state.pointer, X, np.zeros(16, np.int32).tobytes(), rank) == lib.ML_REQUEST_WRONG
    assert lib.ml_state_request(state.pointer, X, np.int32([-4]).tobytes(), 1) == lib.ML_REQUEST_WRONG


@pytest.mark.parametrize(
    "rows",
    [[X], [-1, 0], [3, 1, 4], [X, -1], [X, 9, *[1] * 9], [X, 2, 4], [X, 1, 4, X], [X, 1, -4], [W, 1, 5], [2**30, 1, 4]],
)
def test_impossible_shapes_are_refused_by_the_core(rows: list[int]) -> None:
    interpreter = ready(model())
    with pytest.raises(MiniliteError):
        state_of(interpreter).plan_for(rows)
    assert run(interpreter, floats(0, 0, 0, 0))[0].tolist() == [1, 2, 3, 4]


def test_interpreters_of_negative_counts_or_for_another_graph() -> None:
    for resources, subgraphs in ((-1, 1), (1, -1)):
        with pytest.raises(MiniliteError, match=f"^{resources} resources and {subgraphs} subgraphs, neither can be"):
            Shared(resources, subgraphs)
    program = engine_of(minilite.Interpreter(model_content=accumulator())).program()  # two subgraphs, one resource
    for resources, subgraphs in ((0, 2), (1, 1), (0, 0)):
        with pytest.raises(MiniliteError, match=f"the graph numbers 1 resources, the interpreter has {resources}"):
            new_state(program, Shared(resources, subgraphs), 0, "default", 0, 0)
    with pytest.raises(MiniliteError, match="there is no planning strategy 'nope'"):
        new_state(program, Shared(1, 2), 0, "nope", 0, 0)
    assert new_state(program, Shared(2, 3), 0, "default", 0, 0).plan is None


def test_a_snapshot_in_a_run_is_refused() -> None:
    """Also of a model two of whose signatures were never allocated: they have nothing to keep."""
    seen: list[str] = []

    def calls(_: Any, x: Array) -> Array:
        for call in (interpreter.get_state, lambda: interpreter.set_state(before)):
            try:
                call()
            except StateError as error:
                seen.append(str(error))
        return x

    interpreter = minilite.Interpreter(model_content=custom_chain("Calls"), custom_ops={"Calls": calls})
    engine_of(interpreter).session()
    before = interpreter.get_state()
    interpreter.set_state(before)
    interpreter.allocate_tensors()
    before = interpreter.get_state()
    run(interpreter, floats(1, 2, 3, 4))
    assert len(seen) == 2


@pytest.mark.parametrize("threads", [0, -1])
def test_threads_are_one_or_more(threads: int) -> None:
    interpreter = ready(model())
    assert engine_of(interpreter).shared is not None
    engine_of(interpreter).shared.set_threads(threads)
    assert run(interpreter, floats(0, 0, 0, 0))[0].tolist() == [1, 2, 3, 4]


CALLS: dict[str, Callable[[State], object]] = {
    "plan": lambda s: s.plan,
    "memory": lambda s: s.memory,
    "plan_for": lambda s: s.plan_for([0, 1, 5]),
    "overwriter": lambda s: s.overwriter(X),
    "usage": State.usage,
    "counters": State.counters,
    "place": lambda s: s.place(X),
    "trim": State.trim,
    "release_memory": State.release_memory,
    "reset_variables": State.reset_variables,
    "read": lambda s: s.read(X, PLACES[0], np.zeros(4, np.float32)),
    "write": lambda s: s.write(X, PLACES[0], np.zeros(4, np.float32)),
    "write_heap": lambda s: s.write_heap(X, PLACES[0], np.zeros(4, np.uint8)),
    "run": lambda s: s.run()(),
}
PLACES: list[Place] = []


@pytest.mark.parametrize("name", CALLS)
def test_a_state_that_runs_is_left_alone(name: str) -> None:
    """An operator of the caller calls back in the run of its own interpreter."""
    seen: list[str] = []

    def calls(_: Any, x: Array) -> Array:
        try:
            CALLS[name](state)
        except StateError as error:
            seen.append(str(error))
        return x

    interpreter = minilite.Interpreter(model_content=custom_chain("Calls"), custom_ops={"Calls": calls})
    interpreter.allocate_tensors()
    state = state_of(interpreter)
    PLACES[:] = [state.place(X)]
    assert run(interpreter, floats(-1, 2, 3, 4))[0].tolist() == [0, 2, 3, 4]
    assert len(seen) == 1
    assert "running" in seen[0]


def test_the_core_has_no_kernel_of_other_names() -> None:
    assert lib.ml_kernel_find(b"nothing") == ffi.NULL
    assert lib.ml_kernel_at(2**31 - 1) == ffi.NULL
    assert lib.ml_kernel_family(ffi.NULL) == ffi.NULL
