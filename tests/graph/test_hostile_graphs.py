"""Hostile files that once broke the interpreter: each is refused with an error that says what is wrong, or runs."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import floats, graph_with, head, loop, ready, request, run
from processes import apart
from support.apart import answers

import minilite
from minilite.cli import main
from minilite.errors import MiniliteError, ModelFormatError, ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.builder import SubgraphBuilder as Graph
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization

# Files whose graph is wrong: all of these have overrun or underrun memory ---------------------------------------------

REFUSED = (ModelFormatError, UnsupportedOpError, ShapeError)


def constant_overwritten(g: Graph) -> Sequence[int]:
    c = g.constant("c", np.ones(4, np.float32))
    g.node("RELU", [g.input("x", (400_000,))], [c])
    return [c]


def two_writers(g: Graph) -> Sequence[int]:
    x, s, y = g.input("x", (1_000_000,)), g.input("s", (4,)), g.tensor("y", (4,))
    for source in (x, s):
        g.node("RELU", [source], [y])
    return [y]


def two_writers_of_a_folded_value(g: Graph) -> Sequence[int]:
    x, s = g.input("x", (1_000_000,), TensorType.INT32), g.input("s", (2, 3))
    y = g.tensor("y", (2,), TensorType.INT32)
    g.node("ADD", [x, x], [y])
    g.node("SHAPE", [s], [y], options={"out_type": "INT32"})
    return [y]


def input_overwritten(g: Graph, *, variable: bool = False) -> Sequence[int]:
    """A node reads the tensor before its producer runs: the reader was prepared for the shape in the file."""
    x = g.input("x", (4,))
    y = g.variable("y", (3_000_000,)) if variable else g.input("y", (3_000_000,))
    z = g.node("RELU", [y], out=("z", (4,)))
    g.node("RELU", [x], [y])
    return [z, y]


def where_into_a_variable(g: Graph) -> Sequence[int]:
    limit = g.constant("limit", floats(1))
    mask = g.node("LESS", [g.input("x", (300, 300)), limit], out=("mask", (300, 300), TensorType.BOOL))
    v = g.variable("v", (1, 2), TensorType.INT64)
    g.node("WHERE", [mask], [v])
    return [v]


def custom_into_a_variable(g: Graph) -> Sequence[int]:
    x, v = g.input("x", (4,)), g.variable("v", (1,))
    g.node("Head", [x], [v], custom=True)
    return [v]


def read_before_written(g: Graph) -> Sequence[int]:
    """The producer also changes the tensor's type, so the reader was lowered for another type."""
    n, q = 3_000_000, Quantization((0.5,), (0,))
    x, t = g.input("x", (n,), TensorType.INT8, quantization=q), g.tensor("t", (n,), TensorType.INT64, quantization=q)
    z = g.node("CAST", [t], out=("z", (n,)), options={"in_data_type": "INT64", "out_data_type": "FLOAT32"})
    g.node("ADD", [x, x], [t])
    return [z, t]


def var_handle_without_outputs(g: Graph) -> Sequence[int]:
    g.node("VAR_HANDLE", [], [], options={"shared_name": "v"})
    return [g.node("RELU", [g.input("x", (1,))], out=("y", (1,)))]


def body_or_condition_overwrites_its_input(in_condition: bool) -> bytes:
    def overwrite(g: Graph, carry: int) -> None:
        g.node("RELU", [g.constant("big", np.ones(500_000, np.float32))], [carry])

    def condition(g: Graph, carries: list[int]) -> int:
        limit = g.constant("limit", floats(3))
        result: int = g.node("LESS", [carries[0], limit], out=("go_on", (1,), TensorType.BOOL))
        if in_condition:
            overwrite(g, carries[0])
        return result

    def body(g: Graph, carries: list[int]) -> list[int]:
        if not in_condition:
            overwrite(g, carries[0])
        one = g.constant("one", floats(1))
        return [g.node("ADD", [one, one], out=("o", (1,)))]

    return loop([("x", (1,), TensorType.FLOAT32)], condition, body)


def condition_of_another_type() -> bytes:
    """The carry is of int8, the condition reads eight times its bytes."""
    n = 4_000_000
    builder = ModelBuilder()
    graph, test, body = builder.subgraph("main"), builder.subgraph("condition"), builder.subgraph("body")
    calls = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    x = graph.input("x", (n,), TensorType.INT8)
    graph.output(*graph.node("WHILE", [x], out=[("y", (n,), TensorType.INT8)], options=calls))
    a = test.input("a", (n,), TensorType.INT64)
    mask = test.node("LESS", [a, test.constant("k", np.array([1], np.int64))], out=("m", (n,), TensorType.BOOL))
    ends = [test.constant(name, np.array([value], np.int32)) for name, value in (("b", 0), ("e", 1), ("s", 1))]
    test.output(test.node("STRIDED_SLICE", [mask, *ends], out=("first", (1,), TensorType.BOOL)))
    a = body.input("a", (n,), TensorType.INT8)
    body.output(body.node("CONCATENATION", [a], out=("o", (n,), TensorType.INT8), options={"axis": 0}))
    return builder.build()


def output_of_another_type() -> bytes:
    """The output of the loop has an eighth of the carry's bytes."""
    n = 3_000_000
    builder = ModelBuilder()
    graph, test, body = builder.subgraph("main"), builder.subgraph("condition"), builder.subgraph("body")
    calls = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    x = graph.input("x", (n,), TensorType.INT64)
    graph.output(*graph.node("WHILE", [x], out=[("y", (n,), TensorType.INT8)], options=calls))
    test.input("a", (n,), TensorType.INT64)
    numbers = [test.constant(str(k), floats(k)) for k in (5, 3)]
    test.output(test.node("LESS", numbers, out=("r", (1,), TensorType.BOOL)))
    a = body.input("a", (n,), TensorType.INT64)
    body.output(body.node("CONCATENATION", [a], out=("o", (n,), TensorType.INT64), options={"axis": 0}))
    return builder.build()


HOSTILE: dict[str, tuple[Callable[[], bytes], Any]] = {
    "constant overwritten": (lambda: graph_with(constant_overwritten), ModelFormatError),
    "two writers of a tensor": (lambda: graph_with(two_writers), ModelFormatError),
    "two writers of a folded value": (lambda: graph_with(two_writers_of_a_folded_value), ModelFormatError),
    "input overwritten": (lambda: graph_with(input_overwritten), ModelFormatError),
    "variable overwritten": (lambda: graph_with(lambda g: input_overwritten(g, variable=True)), ModelFormatError),
    "input of a body overwritten": (lambda: body_or_condition_overwrites_its_input(False), ModelFormatError),
    "input of a condition overwritten": (lambda: body_or_condition_overwrites_its_input(True), ModelFormatError),
    "WHERE into a variable": (lambda: graph_with(where_into_a_variable), ModelFormatError),
    "custom operator into a variable": (lambda: graph_with(custom_into_a_variable), ModelFormatError),
    "read before written": (lambda: graph_with(read_before_written), ModelFormatError),
    "condition of another type": (condition_of_another_type, REFUSED),
    "output of another type": (output_of_another_type, REFUSED),
    "VAR_HANDLE without outputs": (lambda: graph_with(var_handle_without_outputs), REFUSED),
}


NAMES = list(HOSTILE)


def is_refused(number: int) -> bool:
    """Returns True if the file is refused before a run; else runs it."""
    build, errors = HOSTILE[NAMES[number]]
    model = build()
    try:
        interpreter = ready(model, custom_ops={"Head": head})
    except errors:
        return True
    if NAMES[number] == "custom operator into a variable":
        interpreter.set_tensor(0, request(1_000_000))
    for _ in range(2):
        interpreter.invoke()
    return False


@pytest.fixture(scope="module")
def refusals() -> dict[str, object]:
    """Loads the files in children of this process: an interpreter that accepts one of them usually crashes."""
    return {NAMES[number]: answer for number, answer in answers(is_refused, range(len(NAMES)), lambda: None)}


@pytest.mark.parametrize("name", NAMES)
def test_hostile_graph_is_refused(name: str, refusals: dict[str, object]) -> None:
    assert refusals[name] is True


# Files with odd numbers -----------------------------------------------------------------------------------------------


def without_outputs(op: str, count: int) -> bytes:
    def build(g: Graph) -> Sequence[int]:
        inputs = [g.input(f"x{k}", (1, 4)) for k in range(count)]
        g.node(op, inputs, [])
        return inputs[:1]

    return graph_with(build)


def quantized(op: str, q: Quantization, count: int = 1) -> bytes:
    def build(g: Graph) -> Sequence[int]:
        x = g.input("x", (1, 4), TensorType.INT8, quantization=q)
        kind = {"DEQUANTIZE": TensorType.FLOAT32, "LESS": TensorType.BOOL}.get(op, TensorType.INT8)
        return [g.node(op, [x] * count, out=("y", (1, 4), kind, q if kind == TensorType.INT8 else NOT_QUANTIZED))]

    return graph_with(build)


def constant_dequantize(q: Quantization) -> bytes:
    def build(g: Graph) -> Sequence[int]:
        return [g.node("DEQUANTIZE", [g.constant("x", np.ones((2, 3), np.int8), quantization=q)], out=("y", (2, 3)))]

    return graph_with(build)


OUTPUTLESS = {
    "ADD": 2, "MUL": 2, "LESS": 2, "CAST": 1, "QUANTIZE": 1, "DEQUANTIZE": 1, "RELU": 1, "RELU6": 1, "LOGISTIC": 1,
    "SOFTMAX": 1, "MEAN": 2,
}  # fmt: skip
HUGE = Quantization((0.5,), (2**40,))
ODD: dict[str, bytes] = {
    **{f"{op}, zero point 2**40": quantized(op, HUGE, 2) for op in ("ADD", "MUL", "LESS")},
    **{f"{op}, zero point 2**40": quantized(op, HUGE) for op in ("RELU", "QUANTIZE", "DEQUANTIZE")},
    "MUL, zero point 2**31-1": quantized("MUL", Quantization((0.5,), (2**31 - 1,)), 2),
    "MUL, scales 3e38": quantized("MUL", Quantization((3e38,), (0,)), 2),
    "constant DEQUANTIZE, axis 7": constant_dequantize(Quantization((1.0, 2.0, 3.0), (0, 0, 0), 7)),
    "constant DEQUANTIZE, zero points 2**40": constant_dequantize(Quantization((1.0, 2.0, 3.0), (2**40, 0, 0), 1)),
}


@pytest.mark.parametrize("name", [f"{op} without outputs" for op in OUTPUTLESS])
def test_node_without_outputs_is_refused(name: str) -> None:
    op = name.split()[0]
    with pytest.raises(REFUSED, match=op):
        ready(without_outputs(op, OUTPUTLESS[op]))


@pytest.mark.parametrize("name", list(ODD))
def test_odd_numbers_run_or_are_refused_by_name(name: str) -> None:
    """LiteRT runs most of these. minilite runs them or raises one of its own errors, and gives details."""
    try:
        interpreter = minilite.Interpreter(model_content=ODD[name])
    except ModelFormatError:
        return
    interpreter.get_tensor_details()
    try:
        interpreter.allocate_tensors()
        interpreter.invoke()
    except REFUSED:
        return
    assert interpreter.get_tensor_details()[-1]["name"] == "y"


def test_surplus_inputs_are_refused() -> None:
    model = quantized("DEQUANTIZE", Quantization((0.5,), (0,)), 2)
    for kind in (minilite.OpResolverType.AUTO, minilite.OpResolverType.BUILTIN_REF):
        with pytest.raises(REFUSED, match="DEQUANTIZE"):
            ready(model, experimental_op_resolver_type=kind)


def resource_handle_of_no_elements(g: Graph) -> Sequence[int]:
    x = g.input("x", (1,))
    handle = g.constant("h", np.zeros(0, np.int32), TensorType.RESOURCE, shape=(0,))
    g.node("ASSIGN_VARIABLE", [handle, x])
    return [g.node("READ_VARIABLE", [handle], out=("y", (1,)))]


def refuse_handle() -> None:
    with pytest.raises(MiniliteError, match=r"ASSIGN_VARIABLE.*element"):
        ready(graph_with(resource_handle_of_no_elements)).invoke()


def test_resource_handle_of_no_elements_is_refused() -> None:
    """Runs in a process of its own, because the read would lie beyond the tensor."""
    apart(refuse_handle)


def many_calls_of_a_wide_subgraph() -> None:
    """A file of a megabyte, in less than two gigabytes of address space."""
    builder = ModelBuilder()
    graph, wide = builder.subgraph(), builder.subgraph("wide")
    graph.output(graph.node("RELU", [graph.input("x", (1,))], out=("y", (1,))))
    for _ in range(4000):
        graph.node("CALL_ONCE", [], [], options={"init_subgraph_index": 1})
    for _ in range(20_000):
        wide.tensor("", (1,))
    model = builder.build()
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    try:
        interpreter = ready(model)
    except ModelFormatError:
        return
    assert run(interpreter, floats(-1))[0].tolist() == [0]


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer takes all address space")
def test_many_calls_of_a_wide_subgraph() -> None:
    """LiteRT runs it."""
    apart(many_calls_of_a_wide_subgraph)


def test_offset_beyond_int64_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "problem.csv"
    path.write_text(f"id,lower,upper,size,offset\n0,0,2,8,{2**70}\n")
    assert main(["plan", "--problem", str(path)]) != 0
    assert len(capsys.readouterr().err.splitlines()) == 1
