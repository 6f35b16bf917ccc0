"""Results that once differed from LiteRT's: variables and signatures, ties, plans of files, empty weights, numpy
references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from built import Array, floats, graph_with, litert, ready, run, variable
from support.peer import interpreter as oracle

import minilite
from minilite.format.builder import ModelBuilder
from minilite.format.builder import SubgraphBuilder as Graph
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization
from minilite.memory import offline


def both(model: bytes) -> list[Any]:
    return [oracle.Interpreter(model_content=model), minilite.Interpreter(model_content=model)]


def write_and_read() -> bytes:
    """Two signatures: one assigns a variable, one reads it."""
    builder = ModelBuilder()
    writer, reader = builder.subgraph("writer"), builder.subgraph("reader")
    x = writer.input("x", (2,))
    writer.node("ASSIGN_VARIABLE", [variable(writer), x])
    z = writer.node("RELU", [x], out=("z", (2,)))
    writer.output(z)
    y = reader.node("READ_VARIABLE", [variable(reader)], out=("y", (2,)))
    reader.output(y)
    builder.signature("write", {"x": x}, {"z": z}, writer)
    builder.signature("read", {}, {"y": y}, reader)
    return builder.build()


def counters(count: int) -> bytes:
    """Signatures "a", "b", ... that each add x to one variable, which CALL_ONCE sets to 1, and return the sum."""
    builder = ModelBuilder()
    graphs = [builder.subgraph(name) for name in "abc"[:count]]
    init = builder.subgraph("init")
    init.node("ASSIGN_VARIABLE", [variable(init), init.constant("one", floats(1))])
    for graph in graphs:
        x = graph.input("x", (1,))
        graph.node("CALL_ONCE", [], [], options={"init_subgraph_index": count})
        handle = variable(graph)
        old = graph.node("READ_VARIABLE", [handle], out=("old", (1,)))
        total = graph.node("ADD", [old, x], out=("total", (1,)))
        graph.node("ASSIGN_VARIABLE", [handle, total])
        graph.output(total)
        builder.signature(graph.name, {"x": x}, {"total": total}, graph)
    return builder.build()


def test_signatures_share_variables() -> None:
    for interpreter in both(write_and_read()):
        interpreter.get_signature_runner("write")(x=floats(3, 4))
        assert interpreter.get_signature_runner("read")()["y"].tolist() == [3, 4]


def test_signatures_call_once_together() -> None:
    for interpreter in both(counters(2)):
        runners = {key: interpreter.get_signature_runner(key) for key in "ab"}
        assert [float(runners[key](x=floats(1))["total"][0]) for key in "abab"] == [2, 3, 4, 5]


def test_reset_all_variables_leaves_resources_alone() -> None:
    for interpreter in both(counters(1)):
        interpreter.allocate_tensors()
        found = [float(run(interpreter, floats(1))[0][0]) for _ in range(2)]
        interpreter.reset_all_variables()
        assert [*found, float(run(interpreter, floats(1))[0][0])] == [2, 3, 4]


UINT8_TIES = [(0.007333723828196526, [25838, 25839, 25840]), (0.00948566384613514, [5322, 5323, 5324])]


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize(("filter_scale", "sums"), UINT8_TIES)
def test_uint8_convolution_next_to_a_tie(filter_scale: float, sums: list[int], op: str) -> None:
    """The product of the scales is rounded to a float; the sums, which are only bias, lie next to ties."""
    n, scale, deep = len(sums), 0.023528477177023888, op.startswith("DEPTHWISE")

    def build(g: Graph) -> Sequence[int]:
        product = float(np.float32(scale) * np.float32(filter_scale))
        x = g.input("x", (1, 1, 1, n), TensorType.UINT8, quantization=Quantization((scale,), (0,)))
        weights = np.full((1, 1, 1, n) if deep else (n, 1, 1, n), 128, np.uint8)
        w = g.constant("w", weights, quantization=Quantization((filter_scale,), (128,)))
        b = g.constant("b", np.array(sums, np.int32), quantization=Quantization((product,), (0,)))
        options = {"stride_h": 1, "stride_w": 1, "padding": "SAME"} | ({"depth_multiplier": 1} if deep else {})
        out = ("y", (1, 1, 1, n), TensorType.UINT8, Quantization((scale,), (0,)))
        return [g.node(op, [x, w, b], out=out, options=options)]

    x = np.zeros((1, 1, 1, n), np.uint8)
    model = graph_with(build)
    reference = oracle.Interpreter(model_content=model, experimental_op_resolver_type=oracle.OpResolverType.BUILTIN_REF)
    reference.allocate_tensors()
    assert run(ready(model), x)[0].tolist() == run(reference, x)[0].tolist()


@pytest.mark.parametrize("preserve", [True, False])
def test_plan_of_a_file_with_an_unread_input(preserve: bool) -> None:
    """The plan gives the unread input's memory to the first node: the input is dead by then, whatever the options
    say."""

    def build(g: Graph) -> Sequence[int]:
        x = g.input("x", (64,))
        g.input("unread", (64,))
        y = g.node("RELU", [x], out=("y", (64,)))
        return [g.node("RELU6", [y], out=("z", (64,)))]

    model, _ = offline.write_offline(graph_with(build))
    interpreter = ready(model, preserve_inputs=preserve)
    assert interpreter.arena_bytes == 512
    x = np.linspace(-1, 9, 64, dtype=np.float32)
    assert np.array_equal(run(interpreter, x, x)[0], np.clip(x, 0, 6))


def test_fully_connected_of_depth_0_gives_zeros() -> None:
    """Outputs are zeros for any bias."""

    def build(g: Graph) -> Sequence[int]:
        x, w = g.input("x", (3, 0)), g.input("w", (4, 0))
        bias = g.constant("b", floats(1, -2, 3, 4))
        return [g.node("FULLY_CONNECTED", [x, w, bias], out=("y", (3, 4)))]

    model, empty = graph_with(build), [np.zeros((3, 0), np.float32), np.zeros((4, 0), np.float32)]
    for interpreter in (litert(model), ready(model)):
        assert run(interpreter, *empty)[0].tolist() == [[0, 0, 0, 0]] * 3


@pytest.mark.parametrize("name", ["MAX_POOL_2D", "SOFTMAX"])
def test_numpy_reference_of_odd_values(name: str) -> None:
    """NaN under a window; an exponent that overflows by a beta below 0. The kernels do what LiteRT's do."""

    def build(g: Graph) -> Sequence[int]:
        if name == "SOFTMAX":
            return [g.node("SOFTMAX", [g.input("x", (1, 2))], out=("y", (1, 2)), options={"beta": -1.0})]
        options = {"filter_height": 1, "filter_width": 2, "stride_h": 1, "stride_w": 1, "padding": "VALID"}
        return [g.node("MAX_POOL_2D", [g.input("x", (1, 1, 2, 1))], out=("y", (1, 1, 1, 1)), options=options)]

    x: Array = floats(88, -88).reshape(1, 2) if name == "SOFTMAX" else floats(1, np.nan).reshape(1, 1, 2, 1)
    model, kinds = graph_with(build), minilite.OpResolverType
    (want,) = run(litert(model), x)
    for kind in (kinds.AUTO, kinds.BUILTIN_REF):
        np.testing.assert_array_equal(run(ready(model, experimental_op_resolver_type=kind), x)[0], want)
