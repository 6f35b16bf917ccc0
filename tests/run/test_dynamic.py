"""Tensors whose shape is known only when their node is reached: capacities, placing again, failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import (
    S32,
    Array,
    count_since,
    custom_chain,
    floats,
    graph_with,
    head,
    litert,
    ready,
    request,
    run,
    wanted,
)

import minilite
from minilite import ArenaError, ModelFormatError, ShapeError
from minilite.engine.engine import engine_of
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType


def where_model(size: int = 64) -> bytes:
    """x -> (0 < x) -> WHERE -> indices; RELU(x) is computed before them and is an output, so its memory has to stay."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (size,), signature=(-1,))
    before = graph.node("RELU", [x], out=("before", (size,)))
    mask = graph.node("LESS", [graph.constant("zero", floats(0)), x], out=("mask", (size,), TensorType.BOOL))
    indices = graph.node("WHERE", [mask], out=("indices", (size, 1), TensorType.INT64))
    graph.output(indices, graph.node("RELU", [before], out=("after", (size,))))
    return builder.build()


def positive(count: int, size: int = 64) -> Array:
    """`count` positive values, spread out."""
    x = np.full(size, -1, np.float32)
    x[:: size // count][:count] = 1 + np.arange(count)
    return x


def check_where(interpreter: minilite.Interpreter, count: int, size: int = 64) -> None:
    x = positive(count, size)
    indices, after = run(interpreter, x)
    assert np.array_equal(indices, np.argwhere(x > 0))
    assert np.array_equal(after, np.maximum(x, 0))


def test_count_that_changes_every_run() -> None:
    interpreter = ready(where_model())
    assert count_since(interpreter, lambda: check_where(interpreter, 32))["capacity_misses"] == 1
    base = interpreter.arena_bytes
    grown = count_since(interpreter, lambda: [check_where(interpreter, count) for count in (31, 1, 32, 8, 16, 30)])
    assert (grown["plans"], grown["capacity_misses"], grown["arena_moves"]) == (0, 0, 0)
    assert interpreter.arena_bytes == base
    grown = count_since(interpreter, lambda: check_where(interpreter, 64))
    assert (grown["plans"], grown["capacity_misses"]) == (0, 1)
    assert interpreter.arena_bytes > base
    assert count_since(interpreter, lambda: check_where(interpreter, 63))["capacity_misses"] == 0
    assert interpreter.memory is not None
    assert interpreter.memory.tensor(4).storage == "arena"


def test_steady_count_prepares_one_node_and_moves_nothing() -> None:
    interpreter = ready(where_model())
    check_where(interpreter, 16)
    grown = count_since(interpreter, lambda: check_where(interpreter, 16))
    assert (grown["nodes_prepared"], grown["resolves"], grown["capacity_misses"]) == (1, 0, 0)


def test_nothing_found_and_found_again() -> None:
    interpreter = ready(where_model())
    for count in (5, 0, 5, 0):
        x = positive(count) if count else np.full(64, -1, np.float32)
        assert run(interpreter, x)[0].shape == (count, 1)


def test_counts_agree_with_litert() -> None:
    interpreter, other = ready(where_model()), litert(where_model())
    for count in (3, 64, 1, 17):
        ours, theirs = run(interpreter, positive(count)), run(other, positive(count))
        assert all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_prediction_serves_the_next_size() -> None:
    interpreter = ready(where_model())
    check_where(interpreter, 32)
    interpreter.resize_tensor_input(0, (128,))
    interpreter.allocate_tensors()
    assert count_since(interpreter, lambda: check_where(interpreter, 32, 128))["capacity_misses"] == 0
    assert count_since(interpreter, lambda: check_where(interpreter, 64, 128))["capacity_misses"] == 1


def test_two_dynamic_operators_into_one_broadcast() -> None:
    """The sum must not stay in the place of either input: sometimes one is a scalar, sometimes the other."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    heads = [graph.node("Head", [graph.input(name, (4,))], out=(f"head_{name}", (1,)), custom=True) for name in "xy"]
    graph.output(graph.node("RELU", [graph.node("ADD", heads, out=("sum", (1,)))], out=("z", (1,))))
    interpreter = ready(builder.build(), custom_ops={"Head": head})
    for left, right in ((3, 3), (1, 5), (5, 1), (1, 5000), (5000, 1), (7, 7), (1, 70_000)):
        (found,) = run(interpreter, request(left), request(right))
        assert np.array_equal(found, wanted(left) + wanted(right)), (left, right)


def test_static_operators_after_a_dynamic_one() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (4,))
    tensor = graph.node("Head", [x], out=("head", (1,)), custom=True)
    for number in range(6):
        other = graph.node("RELU", [tensor], out=(f"relu{number}", (1,)))
        tensor = graph.node("ADD", [tensor, other], out=(f"sum{number}", (1,)))
    graph.output(tensor)
    interpreter = ready(builder.build(), custom_ops={"Head": head})
    for count in (3, 7, 7, 1, 1000, 999, 1001):
        assert np.array_equal(run(interpreter, request(count))[0], 64 * wanted(count))


def test_chain_of_dynamic_operators() -> None:
    def odd_ones(node: Any, x: Array) -> Array:
        return x[x % 2 == 1]

    def doubled(node: Any, x: Array) -> Array:
        return np.concatenate([x, x])

    builder = ModelBuilder()
    graph = builder.subgraph()
    tensor = graph.input("x", (4,))
    live = graph.node("RELU", [tensor], out=("live", (4,)))
    for number, name in enumerate(["Head", "Odd", "Doubled", "Odd", "Doubled"]):
        tensor = graph.node(name, [tensor], out=(f"t{number}", (1,)), custom=True)
        tensor = graph.node("RELU", [tensor], out=(f"r{number}", (1,)))
    graph.output(tensor, graph.node("RELU", [live], out=("kept", (4,))))
    interpreter = ready(builder.build(), custom_ops={"Head": head, "Odd": odd_ones, "Doubled": doubled})
    for count in (3, 300, 20, 0, 301):
        expected = np.tile(wanted(count)[wanted(count) % 2 == 1], 4)
        found, kept = run(interpreter, request(count))
        assert np.array_equal(found, expected)
        assert np.array_equal(kept, request(count))
    calm = count_since(interpreter, lambda: [run(interpreter, request(count)) for count in (300, 10, 301)])
    assert calm["capacity_misses"] == 0


def test_shape_function_keeps_a_custom_operator_static() -> None:
    def twice(node: Any, x: Array) -> Array:
        return np.concatenate([x, x])

    def shape(node: Any, x: tuple[int, ...]) -> tuple[int, ...]:
        return (2 * x[0],)

    twice.shape = shape  # type: ignore[attr-defined]
    interpreter = ready(custom_chain("Twice"), custom_ops={"Twice": twice})
    assert interpreter.plan is not None
    assert not any(interpreter.plan.tensor(t).dynamic for t in range(3))
    assert interpreter.plan_for({0: (50,)}).shape(2) == (100,)
    assert run(interpreter, floats(1, 2, 3, -4))[0].tolist() == [1, 2, 3, 0] * 2


def reshape_model() -> bytes:
    """x (12,) reshaped to what the input `shape` says, then RELU."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, shape = graph.input("x", (12,)), graph.input("shape", (2,), TensorType.INT32)
    graph.output(graph.node("RELU", [graph.node("RESHAPE", [x, shape], out=("reshaped", (3, 4)))], out=("y", (3, 4))))
    return builder.build()


def test_reshape_by_a_run_time_shape() -> None:
    interpreter, other = ready(reshape_model()), litert(reshape_model())
    x = np.arange(12, dtype=np.float32)
    for shape in ((3, 4), (4, 3), (12, 1), (2, -1)):
        (found,) = run(interpreter, x, np.array(shape, np.int32))
        assert np.array_equal(found, x.reshape(shape))
        assert np.array_equal(found, run(other, x, np.array(shape, np.int32))[0])
    replanned = count_since(interpreter, lambda: run(interpreter, x, np.array((6, 2), np.int32)))
    assert replanned["capacity_misses"] == 0
    with pytest.raises(ShapeError, match=r"^subgraph 0, node 0 \(RESHAPE 'reshaped'\): "):
        run(interpreter, x, np.array((5, 2), np.int32))
    assert run(interpreter, x, np.array((1, 12), np.int32))[0].shape == (1, 12)


# Failures in mid-run --------------------------------------------------------------------------------------------------


def three_or_one() -> bytes:
    """head(x) + (10, 20, 30), which takes 3 values or 1; x itself is put out as well."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    first, x = graph.input("first", (2000,)), graph.input("x", (4,))
    heads = graph.node("Head", [x], out=("heads", (3,)), custom=True)
    total = graph.node("ADD", [heads, graph.constant("c", floats(10, 20, 30))], out=("total", (3,)))
    graph.output(total, graph.node("RELU", [first], out=("y", (2000,))))
    return builder.build()


def test_shape_refused_in_mid_run_then_usable_again() -> None:
    interpreter = ready(three_or_one(), custom_ops={"Head": head})
    first = np.arange(2000, dtype=np.float32)
    good = (floats(10, 20, 30) + wanted(3)).tolist()
    assert run(interpreter, first, request(3))[0].tolist() == good
    for count in (5, 700, 2):
        with pytest.raises(ShapeError, match=rf"^subgraph 0, node 1 \(ADD 'total'\): .*\({count}\)") as caught:
            run(interpreter, first, request(count))
        assert caught.value.node == 1
        assert np.array_equal(interpreter.get_tensor(0), first)
        assert np.array_equal(interpreter.get_tensor(1), request(count))
        interpreter.set_tensor(1, request(3))  # the other input keeps its value through the failure
        interpreter.invoke()
        assert interpreter.get_tensor(4).tolist() == good
        assert np.array_equal(interpreter.get_tensor(5), first)
    assert run(interpreter, first, request(1))[0].tolist() == [11, 21, 31]


def test_inputs_survive_a_placement_between_runs() -> None:
    """A large run leaves its tensors after the planned ones; the next run starts by placing everything again, and
    inputs that were set before keep their values."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    inputs = [graph.input(name, (4,)) for name in "ab"]
    heads = [graph.node("Head", [tensor], out=(f"head{tensor}", (1,)), custom=True) for tensor in inputs]
    graph.output(graph.node("ADD", heads, out=("sum", (1,))))
    interpreter = ready(builder.build(), custom_ops={"Head": head})
    run(interpreter, request(5000), request(5000))
    with pytest.raises(ShapeError):
        run(interpreter, request(5000), request(4000))
    assert np.array_equal(interpreter.get_tensor(inputs[0]), request(5000))
    assert np.array_equal(interpreter.get_tensor(inputs[1]), request(4000))
    run(interpreter, request(5000), request(5000))
    memory = interpreter.memory
    assert memory is not None
    assert interpreter.arena_bytes == memory.arena_bytes == memory.lower_bound
    assert interpreter.counters["replans"] == 1
    interpreter.invoke()
    assert np.array_equal(interpreter.get_tensor(inputs[0]), request(5000))
    assert np.array_equal(interpreter.get_tensor(4), 2 * wanted(5000))


def test_refused_at_the_first_run() -> None:
    interpreter = ready(three_or_one(), custom_ops={"Head": head})
    first = np.ones(2000, np.float32)
    with pytest.raises(ShapeError):
        run(interpreter, first, request(5))
    assert run(interpreter, first, request(3))[0].tolist() == [11, 22, 33]


def test_memory_refused_in_mid_run_then_usable_again() -> None:
    def column(node: Any, x: Array) -> Array:
        return np.full((int(x[0]), 1), x[0], np.float32)

    def row(node: Any, x: Array) -> Array:
        return np.full((1, int(x[0])), 1, np.float32)

    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1,))
    a = graph.node("Column", [x], out=("a", (1, 1)), custom=True)
    b = graph.node("Row", [x], out=("b", (1, 1)), custom=True)
    graph.output(graph.node("ADD", [a, b], out=("sum", (1, 1))))
    interpreter = ready(builder.build(), custom_ops={"Column": column, "Row": row})
    assert run(interpreter, floats(3))[0].tolist() == [[4] * 3] * 3
    for _ in range(2):
        with pytest.raises(ArenaError, match="bytes"):
            run(interpreter, floats(2**23))  # 2**48 bytes: beyond any address space
        assert interpreter.get_tensor(0).tolist() == [2**23]
        assert run(interpreter, floats(2))[0].tolist() == [[3] * 2] * 2


def test_tensors_of_unknown_shape_cannot_be_read() -> None:
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head})
    with pytest.raises(minilite.StateError, match=r"^Tensor data is null"):
        interpreter.get_tensor(2)
    run(interpreter, request(9))
    assert interpreter.get_output_details()[0]["shape"].tolist() == [9]


def test_tensor_that_nothing_computes() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.input("x", (4,))
    graph.output(graph.node("RELU", [graph.tensor("orphan", (4,))], out=("y", (4,))))
    text = r"^subgraph 0, node 0 \(RELU 'y'\): tensor 1 \('orphan'\), its input 0, is read before any node computes it$"
    with pytest.raises(ModelFormatError, match=text):
        ready(builder.build())


def test_a_constant_takes_the_shape_that_a_run_gives() -> None:
    def build(graph: Any) -> list[int]:
        constant, shape = graph.constant("c", np.arange(6, dtype=np.float32)), graph.input("shape", (2,), S32)
        return [graph.node("NEG", [graph.node("RESHAPE", [constant, shape], out=("view", (2, 3)))], out=("y", (2, 3)))]

    interpreter = ready(graph_with(build))
    for shape in ((2, 3), (2, 3), (6, 1), (3, 2), (3, 2)):
        (y,) = run(interpreter, np.array(shape, np.int32))
        assert np.array_equal(y, -np.arange(6).reshape(shape))


def test_inputs_are_found_again_though_a_run_moved_outputs() -> None:
    """A run that changes shapes leaves inputs where they are, so only outputs are looked up again."""
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head})
    for _ in range(2):  # the second places grown tensors again
        run(interpreter, request(900))
    interpreter.set_tensor(0, request(900))
    session = engine_of(interpreter).session()
    looked: list[int] = []
    look = session._look
    session._look = lambda index: (looked.append(index), look(index))[1]  # type: ignore[method-assign]
    for length in (3, 800, 20, 850):
        interpreter.set_tensor(0, request(length))
        interpreter.invoke()
        assert np.array_equal(interpreter.get_tensor(2), wanted(length))
    assert looked == [2, 2, 2, 2]
