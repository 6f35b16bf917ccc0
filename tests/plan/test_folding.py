"""Shapes computed from shapes are known before a run, and make no tensor dynamic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import (
    COUNTER,
    F32,
    S32,
    below,
    floats,
    integer,
    loop,
    next_count,
    ready,
    run,
)

import minilite
from minilite import ShapeError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType


def folding_model() -> bytes:
    """x (n, 4) -> (n, 2, 2) -> (2n, 2), both targets computed from x's shape."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (3, 4), signature=(-1, 4))
    shape = graph.node("SHAPE", [x], out=("shape", (2,), TensorType.INT32), options={"out_type": "INT32"})
    ends = [
        graph.constant(name, np.array([value], np.int32)) for name, value in (("begin", 0), ("end", 1), ("step", 1))
    ]
    n = graph.node("STRIDED_SLICE", [shape, *ends], out=("n", (), TensorType.INT32), options={"shrink_axis_mask": 1})
    two = graph.constant("two", np.array(2, np.int32))
    options = {"values_count": 3, "axis": 0}
    target = graph.node("PACK", [n, two, two], out=("target", (3,), TensorType.INT32), options=options)
    cube = graph.node("RESHAPE", [graph.node("RELU", [x], out=("relu", (3, 4))), target], out=("cube", (3, 2, 2)))
    twice = graph.node("MUL", [n, two], out=("twice", (), TensorType.INT32))
    other = graph.node(
        "PACK", [twice, two], out=("other", (2,), TensorType.INT32), options={"values_count": 2, "axis": 0}
    )
    graph.output(graph.node("RELU", [graph.node("RESHAPE", [cube, other], out=("flat", (6, 2)))], out=("y", (6, 2))))
    return builder.build()


def test_folded_shapes_make_no_dynamic_tensor() -> None:
    interpreter = ready(folding_model())
    tensors = {tensor.name: tensor.index for tensor in interpreter.model.subgraphs[0].tensors}
    plan = interpreter.plan
    assert plan is not None
    assert not any(plan.tensor(index).dynamic for index in tensors.values())
    assert {name for name, index in tensors.items() if plan.tensor(index).storage == "folded"} == {
        "shape", "n", "target", "twice", "other",
    }  # fmt: skip
    assert [plan.node_status(node) for node in range(8)] == [
        "folded", "folded", "folded", "runs", "view", "folded", "folded", "view",
    ]  # fmt: skip
    for size in (3, 1, 50, 3):
        interpreter.resize_tensor_input(0, (size, 4))
        interpreter.allocate_tensors()
        x = np.linspace(-1, 1, size * 4, dtype=np.float32).reshape(size, 4)
        before = interpreter.counters
        run(interpreter, x)
        assert interpreter.counters["nodes_prepared"] == before["nodes_prepared"]
        assert interpreter.counters["capacity_misses"] == 0
        assert np.array_equal(interpreter.get_tensor(tensors["y"]), np.maximum(x, 0).reshape(-1, 2))
        assert interpreter.get_tensor(tensors["other"]).tolist() == [2 * size, 2]
        with pytest.raises(minilite.InputError, match="is constant"):
            interpreter.set_tensor(tensors["other"], np.array([1, 1], np.int32))


def test_folded_readers_keep_nothing_alive() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    tensor = first = graph.node("RELU", [graph.input("x", (2, 3))], out=("first", (2, 3)))
    for number in range(4):
        tensor = graph.node("MUL", [tensor, tensor], out=(f"t{number}", (2, 3)))
    shape = graph.node("SHAPE", [first], out=("shape", (2,), TensorType.INT32), options={"out_type": "INT32"})
    graph.output(graph.node("RESHAPE", [tensor, shape], out=("y", (2, 3))))
    plan = ready(builder.build(), in_place="none").plan
    assert plan is not None
    assert [(begin, end) for number, _, begin, end, _ in plan.records() if number == first] == [(0, 1)]


def test_folded_shape_that_does_not_fit_is_refused_at_the_resize() -> None:
    interpreter = ready(folding_model())
    interpreter.resize_tensor_input(0, (3, 5))
    with pytest.raises(ShapeError, match=r"node \d+ \(RESHAPE 'cube'\)"):
        interpreter.allocate_tensors()
    x = np.ones((3, 4), np.float32)
    assert run(interpreter, x)[0].sum() == 12


def test_folded_values_that_grow_from_turn_to_turn() -> None:
    """Each turn of the loop puts out the shape of x, four times in a row, and then x gains a leading dimension of 1."""

    def body(graph: Any, carries: list[int]) -> list[int]:
        count, x, _ = carries
        shape = graph.node("SHAPE", [x], out=("shape", (1,), S32), options={"out_type": "INT32"})
        joined = {"axis": 0}
        target = graph.node(
            "CONCATENATION", [graph.constant("one", integer(1)[None]), shape], out=("target", (2,), S32), options=joined
        )
        twice = graph.node("CONCATENATION", [shape, shape], out=("twice", (2,), S32), options=joined)
        fourfold = graph.node("CONCATENATION", [twice, twice], out=("fourfold", (4,), S32), options=joined)
        return [next_count(graph, count), graph.node("RESHAPE", [x, target], out=("wider", (1, 2))), fourfold]

    carries = [COUNTER, ("x", (2,), F32), ("shapes", (4,), S32)]
    interpreter = ready(loop(carries, below(5), body))
    for _ in range(2):
        count, x, shapes = run(interpreter, integer(0), floats(3, 4), np.zeros(4, np.int32))
        assert count == 5
        assert x.shape == (1, 1, 1, 1, 1, 2)
        assert x.ravel().tolist() == [3, 4]
        assert shapes.tolist() == [1, 1, 1, 1, 2] * 4
