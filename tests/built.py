"""Small models that several tests run, and the Python operators in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.peer import interpreter as oracle

import minilite
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

Array = NDArray[Any]


def floats(*values: float) -> Array:
    """A float32 vector."""
    return np.array(values, np.float32)


def texts(*values: bytes | str, shape: tuple[int, ...] | None = None) -> Array:
    """An array of objects."""
    found = np.empty(len(values), object)
    found[:] = values
    return found.reshape(shape if shape is not None else (len(values),))


def ready(model: bytes, **options: Any) -> minilite.Interpreter:
    """An interpreter with its tensors allocated."""
    interpreter = minilite.Interpreter(model_content=model, **options)
    interpreter.allocate_tensors()
    return interpreter


def zeros(count: int) -> Array:
    """A float32 vector of zeros."""
    return np.zeros(count, np.float32)


def bound(model: bytes, arrays: Mapping[Any, Any], **options: Any) -> minilite.Interpreter:
    """An interpreter that was allocated with these arrays in the place of tensors."""
    interpreter = minilite.Interpreter(model_content=model, **options)
    for tensor, array in arrays.items():
        interpreter.bind_tensor(tensor, array)
    interpreter.allocate_tensors()
    return interpreter


def run(interpreter: Any, *arrays: Array) -> list[Array]:
    """Sets the inputs, invokes, reads the outputs; no resizing."""
    for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def count_since(interpreter: minilite.Interpreter, action: Callable[[], Any]) -> Mapping[str, int]:
    """Returns the growth of each counter during an action."""
    before = interpreter.counters
    action()
    return {name: value - before[name] for name, value in interpreter.counters.items()}


def relu_chain(length: int = 3, size: int = 4) -> bytes:
    """x (size or any number of floats) -> RELU -> RELU -> ... -> the last one's output."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    tensor = graph.input("x", (size,), signature=(-1,))
    for number in range(length):
        tensor = graph.node("RELU", [tensor], out=(f"y{number}", (size,)))
    graph.output(tensor)
    return builder.build()


def custom_chain(name: str, size: int = 4) -> bytes:
    """x -> custom operator -> RELU -> z: tensors 0, 1, 2."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (size,), signature=(-1,))
    y = graph.node(name, [x], out=("y", (size,)), custom=True)
    graph.output(graph.node("RELU", [y], out=("z", (size,))))
    return builder.build()


def head(node: Any, x: Array) -> Array:
    """A custom operator whose output's length is its input's first value: the other values, repeated as needed."""
    return np.resize(x[1:], int(x[0]))


def request(count: int, size: int = 4) -> Array:
    """Returns the input for which `head` gives `count` values: the numbers from 1 to size - 1, repeated."""
    return np.arange(size, dtype=np.float32) + np.eye(1, size, dtype=np.float32)[0] * np.float32(count)


def wanted(count: int, size: int = 4) -> Array:
    """The result of `head` for `request`."""
    return np.resize(np.arange(1, size, dtype=np.float32), count)


def accumulator(size: int = 4) -> bytes:
    """A streaming model: adds its input to a resource variable, which CALL_ONCE sets to zeros, and returns the sum."""
    builder = ModelBuilder()
    graph, init = builder.subgraph("main"), builder.subgraph("init")
    x = graph.input("x", (size,))
    graph.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
    handle = variable(graph)
    old = graph.node("READ_VARIABLE", [handle], out=("old", (size,)))
    new = graph.node("ADD", [old, x], out=("new", (size,)))
    graph.node("ASSIGN_VARIABLE", [handle, new])
    graph.output(new)
    init.node("ASSIGN_VARIABLE", [variable(init), init.constant("zeros", np.zeros(size, np.float32))])
    return builder.build()


def variable(graph: Any, name: str = "sum") -> int:
    """The handle of a resource variable."""
    options = {"container": "", "shared_name": name}
    handle: int = graph.node("VAR_HANDLE", [], out=(f"{name}_handle", (), TensorType.RESOURCE), options=options)
    return handle


def loop(
    carries: Sequence[tuple[str, Sequence[int], TensorType]],
    condition: Callable[[Any, list[int]], int],
    body: Callable[[Any, list[int]], Sequence[int]],
    shapes_out: Sequence[Sequence[int]] | None = None,
) -> bytes:
    """A model whose only node is a WHILE over `carries`; the functions add the nodes of condition and body to their
    subgraphs."""
    builder = ModelBuilder()
    main, test, step = builder.subgraph("main"), builder.subgraph("condition"), builder.subgraph("body")
    inputs = [main.input(*carry) for carry in carries]
    outs = [
        (f"{name}_out", shape if shapes_out is None else shapes_out[i], kind)
        for i, (name, shape, kind) in enumerate(carries)
    ]
    main.output(*main.node("WHILE", inputs, out=outs, options={"cond_subgraph_index": 1, "body_subgraph_index": 2}))
    test.output(condition(test, [test.input(*carry) for carry in carries]))
    step.output(*body(step, [step.input(*carry) for carry in carries]))
    return builder.build()


def loop_graphs(builder: ModelBuilder) -> tuple[Any, Any, Any]:
    """The subgraphs main, condition and body; each has the inputs count, and x of shape (3,)."""
    graphs = builder.subgraph("main"), builder.subgraph("condition"), builder.subgraph("body")
    for graph in graphs:
        graph.input(*COUNTER)
        graph.input("x", (3,))
    return graphs


def graph_with(build: Callable[[Any], Sequence[int]]) -> bytes:
    """A model of one subgraph; the function returns its outputs."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(*build(graph))
    return builder.build()


COUNTER = ("count", (), TensorType.INT32)
"""The carry that `below` compares and `next_count` increments."""


def below(limit: int) -> Callable[[Any, list[int]], int]:
    """A condition: the first carry, a COUNTER, is less than `limit`."""

    def condition(graph: Any, carries: list[int]) -> int:
        constant = graph.constant("limit", np.array(limit, np.int32))
        result: int = graph.node("LESS", [carries[0], constant], out=("go_on", (), TensorType.BOOL))
        return result

    return condition


def endless(graph: Any, carries: list[int]) -> list[int]:
    """A body that negates a COUNTER: with `below` the largest number a loop never ends, unless it begins there."""
    return [graph.node("NEG", carries, out=("negated", (), TensorType.INT32))]


def next_count(graph: Any, count: int) -> int:
    """A COUNTER plus one."""
    result: int = graph.node(
        "ADD", [count, graph.constant("one", np.array(1, np.int32))], out=("next", (), TensorType.INT32)
    )
    return result


def records_are_right(interpreter: Any) -> None:
    """Each tensor lies in the record of its root, and what is live at once does not overlap."""
    memory = interpreter.memory
    for frame, (subgraph, _, _) in enumerate(memory.frames()):
        records = memory.records(frame)
        placed = {number: (size, offset) for number, size, _, _, offset in records}
        for number in range(len(interpreter.model.subgraphs[subgraph].tensors)):
            tensor = memory.tensor(number, frame)
            if tensor.storage == "arena" and tensor.bytes > 0 and tensor.root in placed:
                size, offset = placed[tensor.root]
                assert tensor.offset == offset, (frame, number)
                assert tensor.bytes <= size, (frame, number)
        for number, size, first, last, offset in records:
            for other, more, begin, end, at in records:
                apart = last < begin or end < first or offset + size <= at or at + more <= offset
                assert other == number or apart, (frame, number, other)


def litert(model: bytes) -> Any:
    """LiteRT's interpreter with its own kernels (no XNNPACK), tensors allocated."""
    interpreter = oracle.Interpreter(
        model_content=model, experimental_op_resolver_type=oracle.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    )
    interpreter.allocate_tensors()
    return interpreter


F32, S32 = TensorType.FLOAT32, TensorType.INT32


def resized(interpreter: minilite.Interpreter, size: int) -> None:
    interpreter.resize_tensor_input(0, (size,))
    interpreter.allocate_tensors()


def integer(value: int) -> Array:
    return np.array(value, np.int32)


def agree(model: bytes, *runs: list[Array], **options: Any) -> list[list[Array]]:
    """Runs minilite and LiteRT side by side on every set of inputs; returns the outputs, which must be equal."""
    ours, theirs, results = ready(model, **options), litert(model), []
    for arrays in runs:
        results.append(run(ours, *arrays))
        for found, expected in zip(results[-1], run(theirs, *arrays), strict=True):
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            assert np.array_equal(found, expected)
    return results


PAIR = [COUNTER, ("a", (3,), F32), ("b", (3,), F32)]


A, B = floats(1, 2, 3), floats(-1, 0, 5)


def signed() -> bytes:
    """Two subgraphs with a signature each: a -> RELU -> b, and (p, q) -> (p + q, p)."""
    builder = ModelBuilder()
    first, second = builder.subgraph("first"), builder.subgraph("second")
    x = first.input("x", (4,), signature=(-1,))
    y = first.node("RELU", [x], out=("y", (4,)))
    first.output(y)
    p, q = second.input("p_in", (2,), signature=(-1,)), second.input("q_in", (2,), signature=(-1,))
    total = second.node("ADD", [p, q], out=("total", (2,)))
    copy = second.node("RELU", [p], out=("copy", (2,)))
    second.output(total, copy)
    builder.signature("clip", {"a": x}, {"b": y}, first)
    builder.signature("sum", {"p": p, "q": q}, {"total": total, "copy": copy}, second)
    return builder.build()


def one_signature() -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 4), signature=(-1, 4))
    y = graph.node("RELU", [x], out=("y", (1, 4)))
    graph.output(y)
    builder.signature("serving_default", {"a": x}, {"b": y})
    return builder.build()
