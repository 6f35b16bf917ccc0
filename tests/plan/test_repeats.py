"""Nodes that repeat an earlier one are given its results: as many are prepared as there are distinct layers, and every
answer is that of a fresh interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import count_since
from support.drawn import made
from support.drawn_all import DRAWN
from support.node import Given, OneNode, kind_of

import minilite
from minilite.errors import MiniliteError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.quantization import NOT_QUANTIZED, Quantization

F32, S8, U8 = TensorType.FLOAT32, TensorType.INT8, TensorType.UINT8
DEEP = 8


def prepared(model: bytes, *shapes: Any) -> int:
    """The nodes that are prepared for these shapes of the inputs, as the fourth size of an interpreter; the answer is
    that of a fresh one."""
    used = minilite.Interpreter(model_content=model)
    inputs = [entry["index"] for entry in used.get_input_details()]

    def run(interpreter: minilite.Interpreter, step: int) -> list[Any]:
        for index, shape in zip(inputs, shapes, strict=True):
            interpreter.resize_tensor_input(index, (shape[0] + step, *shape[1:]))
        interpreter.allocate_tensors()
        for index in inputs:
            current = interpreter.get_tensor(index)
            values = np.arange(current.size).reshape(current.shape) % 11 - 5
            interpreter.set_tensor(index, values.astype(current.dtype))
        interpreter.invoke()
        return [interpreter.get_tensor(entry["index"]).copy() for entry in interpreter.get_output_details()]

    for step in (3, 2, 1):
        run(used, step)
    counted = count_since(used, lambda: run(used, 0))
    fresh = run(minilite.Interpreter(model_content=model), 0)
    for got, wanted in zip(run(used, 0), fresh, strict=True):
        assert np.array_equal(got, wanted)
    return counted["nodes_prepared"]


def convolutions(kind: TensorType, quantized: Any = None, zero_points: Any = lambda n: 0) -> bytes:
    """A chain of 3 x 3 convolutions with other weights each; `quantized(n)`: scale and zero point of tensor n."""
    built, rng = ModelBuilder(), np.random.default_rng(3)
    graph = built.subgraph()

    def about(n: int) -> Any:
        return Quantization(*((value,) for value in quantized(n))) if quantized else NOT_QUANTIZED

    now = graph.input("x", (1, 5, 5, 4), kind, quantization=about(0))
    for n in range(DEEP):
        values = rng.integers(1, 9, (4, 3, 3, 4))
        weights = graph.constant(
            f"w{n}",
            values.astype(numpy_type(kind)),
            quantization=Quantization((0.01 + n / 100,), (zero_points(n),)) if quantized else NOT_QUANTIZED,
        )
        bias = graph.constant(f"b{n}", rng.integers(-9, 9, 4).astype(np.int32 if quantized else np.float32))
        now = graph.node(
            "CONV_2D",
            [now, weights, bias],
            out=(f"y{n}", (1, 5, 5, 4), kind, about(n + 1)),
            options={"padding": "SAME", "stride_h": 1, "stride_w": 1},
        )
    graph.output(now)
    return built.build()


def test_layers_with_other_weights_are_one() -> None:
    assert prepared(convolutions(F32), (2, 5, 5, 4)) == 1


def test_layers_with_other_scales_and_zero_points_of_activations_are_one() -> None:
    model = convolutions(S8, quantized=lambda n: (0.05 + n / 50, n - 3))
    assert prepared(model, (2, 5, 5, 4)) == 1


def test_zero_points_of_weights_tell_layers_apart() -> None:
    """The layout of packed weights depends on them."""
    model = convolutions(U8, quantized=lambda n: (0.05, 128), zero_points=lambda n: 128 if n % 2 else 120)
    assert prepared(model, (2, 5, 5, 4)) == 2


def test_values_that_prepare_reads_tell_nodes_apart() -> None:
    """Two nodes pad by the same numbers, in constants of their own; the third by others."""
    built = ModelBuilder()
    graph = built.subgraph()
    x = graph.input("x", (1, 3), F32)
    for n, pads in enumerate(([[0, 0], [1, 1]], [[0, 0], [1, 1]], [[0, 0], [2, 0]])):
        by = graph.constant(f"pads{n}", np.array(pads, np.int32))
        graph.output(graph.node("PAD", [x, by], out=(f"y{n}", (1, 5), F32)))
    assert prepared(built.build(), (4, 3)) == 2


def test_shapes_tell_nodes_apart() -> None:
    """The file has one shape for both inputs, and the caller gives them two."""
    built = ModelBuilder()
    graph = built.subgraph()
    for name in "ab":
        now = graph.input(name, (1, 4), F32)
        for n in range(3):
            now = graph.node("RELU" if n % 2 else "ABS", [now], out=(f"{name}{n}", (1, 4), F32))
        graph.output(now)
    assert prepared(built.build(), (5, 4), (9, 4)) == 4
    assert prepared(built.build(), (5, 4), (5, 4)) == 2


def test_known_values_are_folded_as_before() -> None:
    """Nodes over shapes have values in each plan; those over the input have none."""
    built = ModelBuilder()
    graph = built.subgraph()
    x = graph.input("x", (1, 4), F32)
    shape = graph.node("SHAPE", [x], out=("shape", (2,), TensorType.INT32), options={"out_type": "INT32"})
    for n in range(3):
        shape = graph.node("NEG", [shape], out=(f"shape{n}", (2,), TensorType.INT32))
    y = graph.node(
        "RESHAPE", [x, graph.node("NEG", [shape], out=("s", (2,), TensorType.INT32))], out=("y", (1, 4), F32)
    )
    graph.output(y)
    assert prepared(built.build(), (5, 4)) == 6


@pytest.mark.parametrize("kind", [F32, S8])
def test_effects_are_not_repeated(kind: TensorType) -> None:
    """Custom operators are prepared each."""
    built = ModelBuilder()
    graph = built.subgraph()
    now = graph.input("x", (1, 4), kind)
    for n in range(3):
        now = graph.node("Same", [now], out=(f"y{n}", (1, 4), kind), custom=True)
    graph.output(now)
    seen: list[Any] = []
    interpreter = minilite.Interpreter(
        model_content=built.build(), custom_ops={"Same": lambda _, x: (seen.append(x.shape), x)[1]}
    )
    for rows in (2, 3, 4):
        interpreter.run({"x": np.zeros((rows, 4), numpy_type(kind))})
    assert seen == [(rows, 4) for rows in (2, 3, 4) for _ in range(3)]


def changed(given: Given) -> Given:
    """A constant with other values, scales and zero points; else what was given."""
    q = given.quantization
    other = q._replace(scales=tuple(scale * 1.25 for scale in q.scales), zero_points=q.zero_points[::-1])
    if not given.constant:
        return given._replace(quantization=other if q.scales else q)
    array = np.roll(given.array, 1) if given.array.size > 1 else given.array
    if array.dtype.kind == "f":
        array = -array
    return given._replace(array=array, quantization=other if q.scales else q)


def side_by_side(node: OneNode) -> bytes:
    """A model that has the node three times, the second time with other constants and scales. Each has inputs of its
    own."""
    built = ModelBuilder()
    graph = built.subgraph()
    for copy in range(3):
        numbers = []
        for at, plain in enumerate(node.given):
            if plain is None:
                numbers.append(-1)
                continue
            given = changed(plain) if copy == 1 else plain
            name, kind = f"{copy}_{at}", kind_of(given.array if given.kind is None else given.kind)
            shape = given.array.shape if given.shape is None else given.shape
            make = graph.constant if given.constant else graph.variable if given.variable else graph.input
            what = given.array if given.constant else shape
            numbers.append(make(name, what, kind, quantization=given.quantization))
        outs = [(f"{copy}y{i}", out.shape, kind_of(out.kind), out.quantization) for i, out in enumerate(node.outs)]
        text = {"custom": node.custom is not None, "custom_options": node.custom or b""}
        graph.output(*graph.node(node.op, numbers, out=outs, options=node.options or {}, version=node.version, **text))
    return built.build()


def answers(interpreter: minilite.Interpreter, arrays: list[Any]) -> list[Any]:
    """All outputs, as bytes; texts as they are."""
    interpreter.allocate_tensors()
    for entry, array in zip(interpreter.get_input_details(), arrays, strict=True):
        if entry["shape"].tolist() != list(array.shape):
            interpreter.resize_tensor_input(entry["index"], array.shape)
    interpreter.allocate_tensors()
    for entry, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(entry["index"], array)
    interpreter.invoke()
    found = [interpreter.get_tensor(entry["index"]) for entry in interpreter.get_output_details()]
    return [array.tolist() if array.dtype == object else array.tobytes() for array in found]


@pytest.mark.parametrize("op", sorted(DRAWN))
def test_every_operator_beside_itself(op: str) -> None:
    """The plans of clones are later ones of the same graph. Where the changed node is refused, another one is drawn."""
    compared = 0
    for number in range(12):
        node = made(op, 1, number)
        if not isinstance(node, OneNode):
            continue
        try:
            first = minilite.Interpreter(model_content=side_by_side(node))
            wanted = answers(first, node.arrays * 3)
        except MiniliteError:
            continue
        for _ in range(2):
            assert answers(first.clone(), node.arrays * 3) == wanted
        compared += 1
        if compared == 3:
            break
