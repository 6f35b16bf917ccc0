"""Inputs that `run` reads in the caller's arrays: which ones, what they leave, and what they cost."""

from __future__ import annotations

import gc
import mmap
import random
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import Array, bound, ready

import minilite
from minilite import ArenaError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization

LARGE, SMALL = 40_000, 16  # floats: 160,000 bytes are read in place, 64 are copied
GAP = 2048
"""Bytes before the first large input: half a page, so that its node's loads do not alias the arena's stores."""


def doubled(size: int = LARGE, inputs: int = 1) -> bytes:
    """y = RELU(x0) + x0 + x1 ..., of any number of elements."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    xs = [graph.input(f"x{i}", (size,), signature=(-1,)) for i in range(inputs)]
    total = graph.node("RELU", [xs[0]], out=("relu", (size,)))
    for number, x in enumerate(xs):
        total = graph.node("ADD", [total, x], out=(f"sum{number}", (size,)))
    graph.output(total)
    return bytes(builder.build())


def values(seed: int, size: int = LARGE) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, size).astype(np.float32)


def expected(*xs: Array) -> Array:
    total = np.maximum(xs[0], 0)
    for x in xs:
        total = total + x
    return total


def result(interpreter: minilite.Interpreter, *xs: Any) -> Array:
    (found,) = interpreter.run(*xs).values()
    return found


def storage(interpreter: minilite.Interpreter, tensor: int = 0) -> str:
    memory = interpreter.memory
    assert memory is not None
    return memory.tensor(tensor).storage


def output(interpreter: minilite.Interpreter) -> Array:
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


# After a run ----------------------------------------------------------------------------------------------------------


def test_runs_on_arrays_take_no_memory_for_inputs() -> None:
    interpreter = minilite.Interpreter(model_content=doubled())
    for seed in range(3):
        x = values(seed)
        assert (result(interpreter, x) == expected(x)).all()
        assert storage(interpreter) == "bound"
    plan, usage = interpreter.plan, interpreter.usage
    assert plan is not None
    assert plan.tensor(0).storage == "input"
    assert plan.input_bytes == GAP + LARGE * 4
    assert usage.input_bytes == 0
    assert usage.arena_capacity < plan.arena_bytes + plan.input_bytes


def test_arrays_in_place_and_copied_ones_in_turn_plan_once() -> None:
    interpreter = minilite.Interpreter(model_content=doubled())
    wide = np.zeros(2 * LARGE, np.float32)
    for seed in range(4):
        x = values(seed)
        wide[::2] = x
        for array, where in ((x, "bound"), (wide[::2], "input")):
            assert (result(interpreter, array) == expected(x)).all()
            assert storage(interpreter) == where
    assert interpreter.counters["plans"] == 1
    assert interpreter.usage.input_bytes == GAP + LARGE * 4


USES: dict[str, Callable[[minilite.Interpreter], object]] = {
    "get_tensor": lambda one: one.get_tensor(0),
    "tensor": lambda one: one.tensor(0)().copy(),
    "invoke": lambda one: one.invoke(),
    "invoke until cancelled": lambda one: one.invoke(cancel=minilite.Cancel()),
    "profile": lambda one: one.profile(2),
    "a bound output": lambda one: (one.bind_tensor(1, np.zeros(LARGE, np.float32)), one.allocate_tensors()),
    "trim": lambda one: one.trim(),
    "a view of an output": lambda one: one.tensor(one.get_output_details()[0]["index"])().copy(),
}


@pytest.mark.parametrize("use", USES)
def test_after_a_run_the_input_has_its_values(use: str) -> None:
    interpreter, x = minilite.Interpreter(model_content=doubled()), values(1)
    result(interpreter, values(0))
    result(interpreter, x)
    USES[use](interpreter)
    if use == "a bound output":
        interpreter.set_tensor(0, x)  # another plan: values of inputs are undefined, as after a resize
    assert (interpreter.get_tensor(0) == x).all()
    interpreter.invoke()
    assert (output(interpreter) == expected(x)).all()


def test_timed_runs_without_a_warm_one_read_the_last_array() -> None:
    from minilite.engine.engine import engine_of
    from minilite.profiling.profile import profile

    interpreter, x = minilite.Interpreter(model_content=doubled()), values(1)
    result(interpreter, x)
    profile(engine_of(interpreter).session(), 2, warm=False)
    assert (output(interpreter) == expected(x)).all()


def test_values_that_are_set_take_the_place_of_an_array() -> None:
    interpreter, x, y = minilite.Interpreter(model_content=doubled(inputs=2)), values(1), values(2)
    result(interpreter, values(3), values(4))
    interpreter.set_tensor(0, x)
    result_of_both = expected(x, values(4))
    interpreter.invoke()
    assert (output(interpreter) == result_of_both).all()
    interpreter.set_tensor(1, y)
    interpreter.invoke()
    assert (output(interpreter) == expected(x, y)).all()


def test_a_view_that_is_held_sees_the_next_array() -> None:
    interpreter, x = ready(doubled()), values(1)
    view = interpreter.tensor(0)()
    assert (result(interpreter, x) == expected(x)).all()
    assert (view == x).all()
    view[:] = 2
    interpreter.invoke()
    assert (output(interpreter) == 4).all()


def test_an_array_is_kept_until_the_input_has_other_values() -> None:
    interpreter = minilite.Interpreter(model_content=doubled())
    for end in (
        lambda: result(interpreter, values(1)),
        lambda: interpreter.set_tensor(0, values(1)),
        lambda: interpreter.get_tensor(0),
        lambda: interpreter.invoke(),
    ):
        x = values(0)
        gone = weakref.ref(x)
        result(interpreter, x)
        del x
        assert gone() is not None
        end()
        gc.collect()
        assert gone() is None


def test_a_resize_goes_on_with_arrays_in_place() -> None:
    interpreter = minilite.Interpreter(model_content=doubled())
    for size in (LARGE, 2 * LARGE, SMALL, LARGE, 2 * LARGE, SMALL):
        x = values(size, size)
        assert (result(interpreter, x) == expected(x)).all()
        assert storage(interpreter) == ("input" if size == SMALL else "bound")
    assert interpreter.counters["plans"] == 3


def test_a_run_on_arrays_fits_where_a_copy_does_not() -> None:
    x, free = values(1), minilite.Interpreter(model_content=doubled())
    result(free, x)
    interpreter = minilite.Interpreter(model_content=doubled(), max_bytes=free.usage.taken_bytes)
    assert (result(interpreter, x) == expected(x)).all()
    with pytest.raises(ArenaError, match=r"the arena needs .* bytes more"):
        interpreter.set_tensor(0, x)
    assert (result(interpreter, x) == expected(x)).all()


def test_runs_whose_tensors_outgrow_their_places_read_arrays_in_place() -> None:
    interpreter, dice = minilite.Interpreter(model_content=grows()), np.random.default_rng(1)
    for positive in (10, 5000, 3, 39_000, 20, 40_000, 1):
        x = -dice.random(LARGE, np.float32)
        x[dice.choice(LARGE, positive, replace=False)] = 1
        (found,) = interpreter.run(x).values()
        assert np.array_equal(found.ravel(), np.flatnonzero(x > 0))
        assert storage(interpreter) == "bound"
    assert interpreter.counters["replans"] > 0


# Arrays that are read in place or copied ------------------------------------------------------------------------------


def unaligned(x: Array) -> Array:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    found = memory[1:].view(np.float32)
    found[:] = x
    return found


def mapped(x: Array) -> Array:
    found = np.frombuffer(mmap.mmap(-1, x.nbytes), np.float32)
    found[:] = x
    return found


def read_only(x: Array) -> Array:
    found = x.copy()
    found.flags.writeable = False
    return found


ARRAYS: dict[str, tuple[Callable[[Array], Any], str]] = {
    "own": (lambda x: x, "bound"),
    "read-only": (read_only, "bound"),
    "a part of a larger one": (lambda x: np.concatenate([x, x])[LARGE:], "bound"),
    "strided": (lambda x: np.repeat(x, 2)[::2], "input"),
    "unaligned": (unaligned, "input"),
    "in a mapping": (mapped, "input"),
    "in a bytearray": (lambda x: np.frombuffer(bytearray(x.tobytes()), np.float32), "input"),
    "a subclass": (lambda x: x.view(np.memmap), "input"),
    "a list": (lambda x: x.tolist(), "bound"),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_are_read_in_place_or_copied(kind: str) -> None:
    make, where = ARRAYS[kind]
    interpreter, x = minilite.Interpreter(model_content=doubled()), values(5)
    for _ in range(2):
        assert (result(interpreter, make(x)) == expected(x)).all()
    if kind not in ("a subclass", "a list"):  # numpy makes another array of these first
        assert storage(interpreter) == where
    assert (interpreter.get_tensor(0) == x).all()


def test_memory_that_others_own_can_be_closed_after_a_run() -> None:
    interpreter, memory = minilite.Interpreter(model_content=doubled()), mmap.mmap(-1, 4 * LARGE)
    result(interpreter, np.frombuffer(memory, np.float32))
    memory.close()  # BufferError while an array over it is alive


def test_an_array_of_the_other_byte_order_is_refused_as_before() -> None:
    interpreter, x = minilite.Interpreter(model_content=doubled()), values(5)
    with pytest.raises(minilite.InputError):
        result(interpreter, x.astype(x.dtype.newbyteorder()))


# Inputs that are always copied ----------------------------------------------------------------------------------------


def of_node(op: str, dtype: Any = np.float32, **node: Any) -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    kind = TensorType[{"float32": "FLOAT32", "int8": "INT8", "int32": "INT32"}[np.dtype(dtype).name]]
    quantization = Quantization((1 / 256,), (-128,)) if kind == TensorType.INT8 else NOT_QUANTIZED
    x = graph.input("x", (160, 1024), kind, quantization=quantization)
    operands = [x] * node.pop("reads", 1)
    y = graph.node(op, operands, out=("y", (160, 1024), kind, quantization), **node)
    graph.output(y)
    return bytes(builder.build())


def twice(_: Any, x: Array) -> Array:
    return x * 2


twice.shape = lambda _, shape: shape  # type: ignore[attr-defined]


def is_output() -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (LARGE,))
    graph.output(x, graph.node("RELU", [x], out=("y", (LARGE,))))
    return bytes(builder.build())


def grows() -> bytes:
    """A dynamic tensor beside it."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (LARGE,))
    mask = graph.node(
        "LESS", [graph.constant("zero", np.zeros(1, np.float32)), x], out=("mask", (LARGE,), TensorType.BOOL)
    )
    graph.output(graph.node("WHERE", [mask], out=("where", (LARGE, 1), TensorType.INT64)))
    return bytes(builder.build())


MODELS: dict[str, tuple[Callable[[], bytes], dict[str, Any], str]] = {
    "read by one kernel": (lambda: of_node("RELU"), {}, "input"),
    "integers, which may be numbers of elements": (lambda: of_node("ABS", np.int32), {}, "none"),
    "read by a table": (lambda: of_node("SOFTMAX", np.int8, options={"beta": 1.0}), {}, "input"),
    "a divisor, which is checked before": (lambda: of_node("FLOOR_DIV", np.int8, reads=2), {}, "none"),
    "read by Python": (
        lambda: of_node("Own", custom=True),
        {"custom_ops": {"Own": twice}},
        "none",
    ),
    "an output too": (is_output, {}, "arena"),
    "beside a dynamic tensor": (grows, {}, "input"),
    "that the arena may reuse": (lambda: of_node("RELU"), {"preserve_inputs": False}, "arena"),
}


@pytest.mark.parametrize("kind", MODELS)
def test_inputs_that_are_always_copied(kind: str) -> None:
    make, options, where = MODELS[kind]
    interpreter = minilite.Interpreter(model_content=make(), **options)
    detail = interpreter.get_input_details()[0]
    x = np.random.default_rng(1).integers(1, 100, detail["shape"]).astype(detail["dtype"])
    other = minilite.Interpreter(model_content=make(), **options)
    other.allocate_tensors()
    other.set_tensor(detail["index"], x)
    other.invoke()
    found = interpreter.run(x)
    for output_detail in other.get_output_details():
        assert (found[output_detail["name"]] == other.get_tensor(output_detail["index"])).all()
    assert storage(interpreter) == ("bound" if where == "input" else "input" if where == "none" else where)
    if where != "input" and options.get("preserve_inputs", True):
        x[...] = 0
        assert (interpreter.get_tensor(detail["index"]) != 0).any()


def test_a_small_input_takes_no_memory_from_a_large_one() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, scale = graph.input("x", (LARGE,)), graph.input("scale", (1,))
    graph.output(graph.node("MUL", [x, scale], out=("y", (LARGE,))))
    interpreter = minilite.Interpreter(model_content=builder.build())
    x_values = values(1)
    assert (result(interpreter, x_values, np.float32([2])) == 2 * x_values).all()
    assert (storage(interpreter, 0), storage(interpreter, 1)) == ("bound", "input")
    assert interpreter.usage.input_bytes == 64
    interpreter.set_tensor(0, 3 * x_values)  # the arena may move for it
    assert interpreter.get_tensor(1) == 2
    interpreter.invoke()
    assert (output(interpreter) == 6 * x_values).all()


def test_a_bound_input_is_set_as_before() -> None:
    memory, x = np.zeros(LARGE, np.float32), values(1)
    interpreter = bound(doubled(), {"x0": memory})
    assert (result(interpreter, x) == expected(x)).all()
    assert (memory == x).all()


# All together ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_random_calls_give_what_a_fresh_interpreter_gives(seed: int) -> None:
    rng = random.Random(seed)
    interpreter = minilite.Interpreter(model_content=doubled(inputs=2))
    now: list[Array] | None = None
    for turn in range(60):
        size = rng.choice([SMALL, LARGE, LARGE + 1, 2 * LARGE]) if now is None or rng.random() < 0.3 else len(now[0])
        given = [values(1000 * seed + 2 * turn + i, size) for i in range(2)]
        step = rng.choice(["run", "run", "strided", "mixed", "set", "invoke", "get", "view", "trim", "release"])
        if now is None or step in ("run", "strided", "mixed"):
            arrays = [
                np.repeat(x, 2)[::2] if step == "strided" or (step == "mixed" and i) else x.copy()
                for i, x in enumerate(given)
            ]
            assert (result(interpreter, *arrays) == expected(*given)).all()
            now = given
            continue
        if step == "set":
            at = rng.randrange(2)
            now[at] = values(7000 + turn, len(now[at]))
            interpreter.set_tensor(at, now[at])
        elif step == "view":
            view = interpreter.tensor(rng.randrange(2))()
            view += 1
            now = [interpreter.get_tensor(i) for i in range(2)]
            del view
        elif step == "trim":
            interpreter.trim()
        elif step == "get":
            assert all((interpreter.get_tensor(i) == x).all() for i, x in enumerate(now))
        interpreter.invoke()
        assert (output(interpreter) == expected(*now)).all()
