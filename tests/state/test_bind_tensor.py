"""Tensors in the caller's buffers: what is refused, what lies where, and what stays alive."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from built import (
    COUNTER,
    below,
    bound,
    count_since,
    custom_chain,
    floats,
    head,
    loop,
    next_count,
    ready,
    relu_chain,
    run,
    zeros,
)

import minilite
from minilite import ArenaError, InputError, StateError
from minilite.engine.engine import engine_of
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization


def mixed() -> bytes:
    """x (4 floats) -> RELU -> y -> ADD a constant -> z, beside SHAPE of x and a variable."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (4,), signature=(-1,))
    y = graph.node("RELU", [x], out=("y", (4,)))
    one = graph.constant("one", np.float32([1]))
    z = graph.node("ADD", [y, one], out=("z", (4,)))
    shape = graph.node("SHAPE", [x], out=("shape", (1,), TensorType.INT32), options={"out_type": "INT32"})
    state = graph.variable("state", (4,))
    graph.output(z, shape, graph.node("RELU", [state], out=("kept", (4,))))
    return builder.build()


# Refusals -------------------------------------------------------------------------------------------------------------


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("tensor", "array", "message"),
    [
        ("x", [1.0] * 4, "got list, must be a numpy array"),
        ("x", np.zeros(4, np.float64), "got float64, must be float32"),
        ("x", np.zeros(4, ">f4"), "got byte order '>', must be the machine's own"),
        ("x", np.zeros(8, np.float32)[::2], r"strides \(8,\) is not C-contiguous"),
        ("x", np.zeros((2, 4), np.float32).T, "is not C-contiguous"),
        ("x", np.zeros(17, np.uint8)[1:].view(np.float32), "must be a multiple of 4"),
        ("y", read_only(np.zeros(4, np.float32)), "the array is read-only, only a graph input may be"),
        ("z", read_only(np.zeros(4, np.float32)), "the array is read-only, only a graph input may be"),
        ("one", np.zeros(1, np.float32), r"^cannot bind tensor 2 \('one'\): it is constant$"),
        ("state", np.zeros(4, np.float32), r"^cannot bind tensor 5 \('state'\): it is a variable$"),
    ],
)  # fmt: skip
def test_refused_at_once(tensor: str, array: Any, message: str) -> None:
    interpreter = ready(mixed())
    with pytest.raises(InputError, match=message):
        interpreter.bind_tensor(tensor, array)
    assert run(interpreter, floats(-1, 2, 3, 4))[0].tolist() == [1, 3, 4, 5]


def test_types_that_lowering_settles() -> None:
    """A file that calls the sum of two uint8 tensors float32: it is computed, and bound, as uint8."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    q = Quantization((1.0,), (0,))
    x = graph.input("x", (4,), TensorType.UINT8, quantization=q)
    y = graph.node("ADD", [x, x], out=("y", (4,), TensorType.FLOAT32, q))
    graph.output(y)
    interpreter = minilite.Interpreter(model_content=builder.build())
    with pytest.raises(InputError, match="got float32, must be uint8"):
        interpreter.bind_tensor("y", zeros(4))


def test_unknown_tensors() -> None:
    interpreter = minilite.Interpreter(model_content=relu_chain())
    with pytest.raises(InputError, match="there is no tensor 'nope': inputs are x, outputs are y2"):
        interpreter.bind_tensor("nope", zeros(4))
    for number in (-1, 4):
        with pytest.raises(InputError, match="Invalid tensor index"):
            interpreter.bind_tensor(number, zeros(4))


def test_folded_tensor_is_refused_when_planned() -> None:
    interpreter = ready(mixed())
    interpreter.bind_tensor("shape", np.zeros(1, np.int32))
    with pytest.raises(InputError, match=r"^tensor 4 \('shape'\) cannot be bound: its value is known") as caught:
        interpreter.allocate_tensors()
    assert caught.value.tensors == ("shape",)
    assert run(interpreter, floats(-1, 2, 3, 4))[1].tolist() == [4]
    interpreter.resize_tensor_input(0, (5,))
    interpreter.allocate_tensors()  # the refused binding is forgotten
    assert run(interpreter, floats(-1, 2, 3, 4, 5))[1].tolist() == [5]


def test_too_small() -> None:
    interpreter = ready(relu_chain())
    run(interpreter, floats(1, 2, 3, 4))
    interpreter.bind_tensor(1, zeros(3))
    with pytest.raises(ArenaError, match=r"^tensor 1 \('y0'\) needs 16 bytes, the buffer bound to it has 12$"):
        interpreter.allocate_tensors()
    interpreter.invoke()
    assert interpreter.get_tensor(3).tolist() == [1, 2, 3, 4]


# Where bytes lie ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"preserve_inputs": False}, {"in_place": "none"}, {"planner": "tflite"}])
@pytest.mark.parametrize("tensors", [[0], [1], [3], [0, 3], [0, 1, 2, 3]])
def test_zero_copies(tensors: list[int], options: dict[str, Any]) -> None:
    arrays = {t: zeros(4) for t in tensors}
    interpreter = bound(relu_chain(), dict(arrays), **options)
    assert interpreter.plan is not None
    x = floats(-1, 2, -3, 4)
    interpreter.set_tensor(0, x)
    interpreter.invoke()
    for tensor, array in arrays.items():
        assert array.tolist() == (x if tensor == 0 else np.maximum(x, 0)).tolist()
        assert np.shares_memory(interpreter.tensor(tensor)(), array)
        assert interpreter.plan.tensor(tensor).storage == "bound"
        assert interpreter.get_tensor(tensor).tolist() == array.tolist()
        assert not np.shares_memory(interpreter.get_tensor(tensor), array)
    if 0 in arrays:
        arrays[0][:] = 7
        interpreter.invoke()
        assert interpreter.get_tensor(3).tolist() == [7] * 4


def test_the_arena_shrinks() -> None:
    model = relu_chain(3, 1000)
    plain = ready(model).arena_bytes
    some = bound(model, {"y1": zeros(1000)}).arena_bytes
    whole = bound(model, {t: zeros(1000) for t in range(4)})
    assert plain > some > whole.arena_bytes == 0
    assert run(whole, np.full(1000, 3, np.float32))[0].sum() == 3000


def test_larger_buffers_and_other_shapes() -> None:
    array = np.zeros((3, 5), np.float32)
    interpreter = bound(relu_chain(), {3: array})
    assert run(interpreter, floats(1, -2, 3, 4))[0].tolist() == [1, 0, 3, 4]
    assert array.ravel().tolist() == [1, 0, 3, 4] + [0] * 11


def test_read_only_input_is_never_overwritten() -> None:
    x = floats(-1, 2, -3, 4)
    for options in ({}, {"preserve_inputs": False}):
        interpreter = bound(relu_chain(), {"x": read_only(x.copy())}, **options)
        interpreter.invoke()
        assert interpreter.get_tensor(0).tolist() == x.tolist()
        assert interpreter.get_tensor(3).tolist() == [0, 2, 0, 4]
        with pytest.raises(InputError, match=r"tensor 0 \('x'\) is bound to a read-only array"):
            interpreter.set_tensor(0, x)
        with pytest.raises(ValueError, match="read-only"):
            interpreter.tensor(0)()[:] = 1


def test_views_do_not_run_through_buffers() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (2, 3))
    y = graph.node("RESHAPE", [x, graph.constant("to", np.int32([6]))], out=("y", (6,)))
    graph.output(graph.node("RELU", [y], out=("z", (6,))))
    for tensors in ([0], [2], [0, 2, 3]):
        arrays = {t: np.zeros(6, np.float32) for t in tensors}
        interpreter = bound(builder.build(), dict(arrays), preserve_inputs=False)
        x_value = np.arange(6, dtype=np.float32).reshape(2, 3)
        assert run(interpreter, x_value)[0].tolist() == list(range(6))
        assert all(array.tolist() == list(range(6)) for array in arrays.values())


def test_loops_read_bound_carries() -> None:
    model = loop(
        [COUNTER, ("x", (4,), TensorType.FLOAT32)],
        below(3),
        lambda graph, c: [next_count(graph, c[0]), graph.node("ADD", [c[1], c[1]], out=("x2", (4,)))],
    )
    x, out = read_only(floats(1, 2, 3, 4)), zeros(4)
    interpreter = bound(model, {1: x, 3: out})
    for _ in range(2):
        interpreter.set_tensor(0, np.array(0, np.int32))
        interpreter.invoke()
        assert (x.tolist(), out.tolist()) == ([1, 2, 3, 4], [8, 16, 24, 32])


# Overlap --------------------------------------------------------------------------------------------------------------


def test_overlap_of_disjoint_lifetimes() -> None:
    memory = zeros(4)
    interpreter = bound(relu_chain(), {0: memory, 3: memory}, preserve_inputs=False)
    assert run(interpreter, floats(-1, 2, -3, 4))[0].tolist() == [0, 2, 0, 4]
    assert memory.tolist() == [0, 2, 0, 4]


def test_one_array_for_both_sides_of_a_node_in_place() -> None:
    memory = zeros(4)
    interpreter = bound(relu_chain(), {0: memory, 1: memory}, preserve_inputs=False)
    assert run(interpreter, floats(-1, 2, -3, 4))[0].tolist() == [0, 2, 0, 4]
    assert memory.tolist() == [0, 2, 0, 4]
    with pytest.raises(InputError, match=r"their buffers must not overlap"):
        bound(relu_chain(), {0: memory, 1: memory})


@pytest.mark.parametrize(
    ("tensors", "options"),
    [((0, 3), {}), ((0, 1), {"preserve_inputs": False}), ((1, 2), {}), ((1, 3), {"experimental_preserve_all_tensors": True})],
)  # fmt: skip
def test_overlap_of_live_tensors(tensors: tuple[int, int], options: dict[str, Any]) -> None:
    memory = zeros(7)
    arrays = dict(zip(tensors, (memory[:4], memory[3:]), strict=True))
    names = ["x", "y0", "y1", "y2"]
    with pytest.raises(InputError, match=r"their buffers must not overlap") as caught:
        bound(relu_chain(), dict(arrays), **options)
    assert caught.value.tensors == tuple(names[t] for t in tensors)
    assert all(f"tensor {t} ('{names[t]}')" in str(caught.value) for t in tensors)


def test_only_the_bytes_of_tensors_count() -> None:
    memory = zeros(8)
    interpreter = bound(relu_chain(), {0: memory, 3: memory[4:]})
    assert run(interpreter, floats(-1, 2, 3, 4))[0].tolist() == [0, 2, 3, 4]
    interpreter.resize_tensor_input(0, (2,))
    interpreter.allocate_tensors()
    interpreter.bind_tensor(3, memory[1:])
    with pytest.raises(InputError, match="overlap"):
        interpreter.allocate_tensors()
    assert run(interpreter, floats(-1, 2))[0].tolist() == [0, 2]
    assert memory[4:6].tolist() == [0, 2]


# Resizing, other buffers, none ----------------------------------------------------------------------------------------


def resized(interpreter: minilite.Interpreter, size: int) -> None:
    interpreter.resize_tensor_input(0, (size,))
    interpreter.allocate_tensors()


def test_resize_within_and_beyond_a_buffer() -> None:
    memory = zeros(6)
    interpreter = bound(relu_chain(), {3: memory})
    for size in (6, 2, 6, 4):
        resized(interpreter, size)
        run(interpreter, np.arange(size, dtype=np.float32))
        assert memory[:size].tolist() == list(range(size))
    with pytest.raises(ArenaError, match=r"tensor 3 \('y2'\) needs 28 bytes, the buffer bound to it has 24"):
        resized(interpreter, 7)
    assert run(interpreter, floats(4, 3, 2, 1))[0].tolist() == [4, 3, 2, 1]
    assert memory[:4].tolist() == [4, 3, 2, 1]
    interpreter.bind_tensor(3, zeros(7))
    resized(interpreter, 7)
    assert interpreter.get_tensor(3).shape == (7,)


def test_a_cached_plan_asks_the_buffer_again() -> None:
    interpreter = bound(relu_chain(), {3: zeros(6)})
    resized(interpreter, 6)
    resized(interpreter, 4)
    interpreter.bind_tensor(3, zeros(4))
    interpreter.allocate_tensors()
    with pytest.raises(ArenaError, match="needs 24 bytes"):
        resized(interpreter, 6)
    with pytest.raises(ArenaError, match="needs 24 bytes"):
        interpreter.plan_for({"x": (6,)})


def test_unbind() -> None:
    memory = zeros(4)
    interpreter = ready(relu_chain())
    before = interpreter.arena_bytes
    for _ in range(2):
        interpreter.bind_tensor(3, memory)
        interpreter.allocate_tensors()
        assert interpreter.arena_bytes < before
        interpreter.bind_tensor(3, None)
        interpreter.allocate_tensors()
        assert interpreter.arena_bytes == before
    run(interpreter, floats(1, 2, 3, 4))
    assert memory.tolist() == [0] * 4
    assert count_since(interpreter, lambda: interpreter.bind_tensor(1, None))["plans"] == 0
    interpreter.invoke()


def test_nothing_changes_before_allocate() -> None:
    interpreter = bound(relu_chain(), {3: (old := zeros(4))})
    interpreter.bind_tensor(3, zeros(4))
    with pytest.raises(StateError):
        interpreter.invoke()
    assert np.shares_memory(interpreter.tensor(3)(), old)


def test_clones_are_independent() -> None:
    memory = zeros(4)
    interpreter = bound(relu_chain(), {3: memory})
    other = interpreter.clone()
    other.allocate_tensors()
    assert run(other, floats(1, 2, 3, 4))[0].tolist() == [1, 2, 3, 4]
    assert memory.tolist() == [0] * 4
    assert other.plan is not None
    assert other.plan.tensor(3).storage == "arena"


# Dynamic tensors ------------------------------------------------------------------------------------------------------


def test_dynamic_tensors_in_buffers() -> None:
    arrays = {1: zeros(6), 2: zeros(5)}
    interpreter = bound(custom_chain("Head"), dict(arrays), custom_ops={"Head": head})
    for count in (2, 5, 3):
        values = floats(count, 1, 2, 3)
        assert run(interpreter, values)[0].tolist() == np.resize(values[1:], count).tolist()
        assert arrays[2][:count].tolist() == np.resize(values[1:], count).tolist()
    with pytest.raises(ArenaError, match=r"tensor 2 \('z'\) needs 24 bytes, the buffer bound to it has 20"):
        run(interpreter, floats(6, 1, 2, 3))
    with pytest.raises(ArenaError, match=r"tensor 1 \('y'\) needs 28 bytes, the buffer bound to it has 24"):
        run(interpreter, floats(7, 1, 2, 3))
    assert run(interpreter, floats(4, 1, 2, 3))[0].tolist() == [1, 2, 3, 1]


def test_dynamic_tensors_keep_their_whole_buffers() -> None:
    memory = zeros(8)
    with pytest.raises(InputError, match="overlap"):
        bound(custom_chain("Head"), {1: memory, 2: memory[4:]}, custom_ops={"Head": head})


# Advice ---------------------------------------------------------------------------------------------------------------


def test_advice_is_what_binding_does() -> None:
    model = relu_chain(3, 1000)
    for options in ({}, {"in_place": "none"}, {"preserve_inputs": False}):
        interpreter = ready(model, **options)
        assert interpreter.plan is not None
        advice = interpreter.plan.advise_bind()
        assert advice
        assert advice[-1].arena_bytes < interpreter.arena_bytes
        following = bound(model, {a.tensor: zeros(1000) for a in advice}, **options)
        assert following.arena_bytes == advice[-1].arena_bytes
        assert all(a.bytes == 4000 for a in advice)


def test_advice_outlives_its_interpreter() -> None:
    plan = ready(relu_chain(), in_place="none").plan
    gc.collect()
    assert plan is not None
    assert plan.advise_bind()
    everything = bound(relu_chain(), {t: zeros(4) for t in range(4)}).plan
    assert everything is not None
    assert everything.advise_bind() == []


def test_arrays_live_as_long_as_c_may_use_them() -> None:
    """From the call that gives one on, until another one, or none, is in use in its place."""
    interpreter = ready(mixed())
    shape = interpreter.get_tensor(0)
    alive: list[weakref.ref[Any]] = []

    def give() -> None:
        buffer = np.zeros_like(shape)
        alive.append(weakref.ref(buffer))
        interpreter.bind_tensor(0, buffer)

    def living() -> list[bool]:
        gc.collect()
        return [reference() is not None for reference in alive]

    give()
    interpreter.allocate_tensors()
    give()
    assert living() == [True, True]
    give()
    interpreter.allocate_tensors()
    assert living() == [False, False, True]
    interpreter.bind_tensor(0, None)
    assert living() == [False, False, True]
    interpreter.allocate_tensors()
    assert living() == [False, False, False]


def test_a_lower_number_of_another_thread_is_given_again() -> None:
    """Two threads bind at once; the one whose number came too late takes another."""
    interpreter = ready(mixed())
    session, array = engine_of(interpreter).session(), np.zeros_like(interpreter.get_tensor(0))
    numbers = iter((5, 3, 4, 6))
    session._numbers = numbers  # type: ignore[assignment]
    interpreter.bind_tensor(0, array)
    interpreter.bind_tensor(0, array)
    assert session.state.requested_buffer(0) == 6
    interpreter.allocate_tensors()
    assert list(session._arrays) == [6]


# Buffers that may overlap ---------------------------------------------------------------------------------------------


def placed(order: str, *, op: str = "RELU", sizes: tuple[int, int] = (4, 4)) -> bytes:
    """x -> ABS -> a -> op -> b -> NEG -> c, the tensors numbered in that order of letters."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    tensors = {name: graph.tensor(name, (sizes[name != "x"],)) for name in order}
    graph._inputs.append(tensors["x"])
    graph.node("ABS", [tensors["x"]], [tensors["a"]])
    graph.node(op, [tensors["a"]], [tensors["b"]], custom=op == "Own")
    graph.node("NEG", [tensors["b"]], [tensors["c"]])
    graph.output(tensors["c"])
    return builder.build()


OWN = {"Own": lambda _, x: np.maximum(x, 0)}


@pytest.mark.parametrize("order", ["xabc", "cbax", "bxca"])
def test_buffers_that_are_used_one_after_the_other(order: str) -> None:
    """a and c are never live at once, a and b meet at one node that may overwrite its input, x and b do not meet."""
    array = zeros(4)
    for pair in ("ac", "xb", "ab", "ba"):
        interpreter = bound(placed(order), {order.index(name): array for name in pair}, preserve_inputs=False)
        assert run(interpreter, floats(-1, 2, -3, 4))[0].tolist() == [-1, -2, -3, -4]


@pytest.mark.parametrize("order", ["xabc", "cbax"])
def test_buffers_that_meet_at_a_node_that_must_not_overwrite(order: str) -> None:
    array = zeros(5)
    for binds in ({"a": array[:4], "b": array[1:]}, {"b": array[:4], "a": array[1:]}):
        with pytest.raises(InputError, match=r"are live at once at node 1, their buffers must not overlap"):
            bound(placed(order), {order.index(name): part for name, part in binds.items()})
    with pytest.raises(InputError, match="are live at once at node 1"):
        bound(placed(order, op="Own"), {order.index(name): array[:4] for name in "ab"}, custom_ops=OWN)


def test_buffers_of_no_bytes_meet_nowhere() -> None:
    array = zeros(4)
    interpreter = bound(placed("xabc", sizes=(0, 0)), dict.fromkeys((1, 2), array[2:2]))
    assert run(interpreter, zeros(0))[0].tolist() == []
