"""Dynamic tensors in the body of a loop, whose lengths change from turn to turn."""

from __future__ import annotations

from typing import Any

import numpy as np
from built import COUNTER, Array, below, count_since, floats, loop, next_count, ready, run, variable

from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType


def swelling_loop(size: int = 4) -> bytes:
    """count = 0; while count < 5: acc += sum of the vector Swell(count); the vector's length changes every time."""
    builder = ModelBuilder()
    main, test, body = builder.subgraph("main"), builder.subgraph("condition"), builder.subgraph("body")
    count, acc = main.input("count", (), TensorType.INT32), main.input("acc", (size,), signature=(-1,))
    outs = [("count_out", (), TensorType.INT32), ("acc_out", (size,))]
    main.output(
        *main.node("WHILE", [count, acc], out=outs, options={"cond_subgraph_index": 1, "body_subgraph_index": 2})
    )
    n = test.input("n", (), TensorType.INT32)
    test.input("a", (size,))
    limit = test.constant("limit", np.array(5, np.int32))
    test.output(test.node("LESS", [n, limit], out=("go_on", (), TensorType.BOOL)))
    n, a = body.input("n", (), TensorType.INT32), body.input("a", (size,))
    one = body.constant("one", np.array(1, np.int32))
    after = body.node("ADD", [n, one], out=("after", (), TensorType.INT32))
    vector = body.node("Swell", [n], out=("vector", (1,)), custom=True)
    vector = body.node("RELU", [vector], out=("vector2", (1,)))
    body.output(after, body.node("AddSum", [a, vector], out=("sum", (size,)), custom=True))
    return builder.build()


def swell(node: Any, n: Array) -> Array:
    return np.full((int(n) * 7919 % 5) * 1000 + 1, 1, np.float32)


def add_sum(node: Any, a: Array, vector: Array) -> Array:
    return a + vector.sum()


add_sum.shape = lambda node, a, vector: a  # type: ignore[attr-defined]


def test_dynamic_inside_a_loop() -> None:
    interpreter = ready(swelling_loop(), custom_ops={"Swell": swell, "AddSum": add_sum})
    for start, size in ((0, 4), (3, 4), (0, 4), (1, 100), (0, 4), (0, 100)):
        interpreter.resize_tensor_input(1, (size,))
        interpreter.allocate_tensors()
        a = np.arange(size, dtype=np.float32)
        for _ in range(2):
            count, acc = run(interpreter, np.array(start, np.int32), a)
            assert count == 5
            assert np.array_equal(acc, a + sum(len(swell(None, np.array(n))) for n in range(start, 5)))
    replanned = count_since(interpreter, lambda: run(interpreter, np.array(0, np.int32), a))
    assert replanned["capacity_misses"] == 0


def test_a_loop_body_that_grows_does_not_overwrite_carries() -> None:
    """The carries keep their shapes, so they lie in slots after the body's region. A vector that is only assigned to a
    variable makes the body grow beyond that region; it stays so although another size is in use in between."""
    builder = ModelBuilder()
    main, test, body = builder.subgraph("main"), builder.subgraph("condition"), builder.subgraph("body")
    for graph in (main, test, body):
        graph.input("count", (), TensorType.INT32)
        graph.input("acc", (4,), signature=(-1,))
    outs = [("count_out", (), TensorType.INT32), ("acc_out", (4,))]
    main.output(*main.node("WHILE", [0, 1], out=outs, options={"cond_subgraph_index": 1, "body_subgraph_index": 2}))
    test.output(below(5)(test, [0]))
    body.output(next_count(body, 0), body.node("ADD", [1, body.constant("one", floats(1))], out=("sum", (4,))))
    vector = body.node("Swell", [0], out=("vector", (1,)), custom=True)
    body.node("ASSIGN_VARIABLE", [variable(body), body.node("RELU", [vector], out=("vector2", (1,)))])
    interpreter = ready(builder.build(), custom_ops={"Swell": swell})
    for size in (4, 100, 4, 7, 4, 100):
        interpreter.resize_tensor_input(1, (size,))
        interpreter.allocate_tensors()
        for start in (0, 2):
            count, acc = run(interpreter, np.array(start, np.int32), np.arange(size, dtype=np.float32))
            assert count == 5
            assert np.array_equal(acc, np.arange(size) + 5 - start)


def test_an_unchanged_carry_keeps_its_value_when_another_grows() -> None:
    kept, grown = ("kept", (2,), TensorType.FLOAT32), ("grown", (1,), TensorType.FLOAT32)

    def condition(graph: Any, carries: list[int]) -> int:
        limit = graph.constant("limit", np.array(3, np.int32))
        result: int = graph.node("LESS", [carries[1], limit], out=("go_on", (), TensorType.BOOL))
        return result

    def body(graph: Any, carries: list[int]) -> list[int]:
        longer = graph.node("CONCATENATION", [carries[2], carries[0]], out=("longer", (3,)), options={"axis": 0})
        return [carries[0], next_count(graph, carries[1]), longer]

    interpreter = ready(loop([kept, COUNTER, grown], condition, body))
    for start, a, b in ((0, 1, 2), (1, 3, 4), (3, 5, 6), (0, 7, 8)):
        found = run(interpreter, floats(a, b), np.array(start, np.int32), floats(0))
        assert [x.tolist() for x in found] == [[a, b], 3, [0, *(3 - start) * [a, b]]]


def test_carries_that_come_from_anywhere() -> None:
    """The body computes one, and returns it twice; two change places; one is a constant, one passes through. The body
    also reads what it has computed, in a view."""
    names = ("grown", "twice", "left", "right", "same", "kept")
    carries = [COUNTER, *((name, (1,), TensorType.FLOAT32) for name in names)]

    def body(graph: Any, now: list[int]) -> list[int]:
        count, grown, _, left, right, _, kept = now
        longer = graph.node("CONCATENATION", [grown, kept], out=("longer", (2,)), options={"axis": 0})
        row = graph.constant("row", np.array([1, -1], np.int32))
        view = graph.node("RESHAPE", [longer, row], out=("view", (1, 2)), options={"new_shape": (1, -1)})
        axes = graph.constant("axes", np.array([0, 1], np.int32))
        total = graph.node("SUM", [view, axes], out=("total", ()), options={"keep_dims": False})
        right = graph.node("ADD", [right, total], out=("right'", (1,)))
        return [next_count(graph, count), longer, longer, right, left, graph.constant("seven", floats(7)), kept]

    interpreter = ready(loop(carries, below(4), body))
    for start, width in ((0, 2), (3, 1), (4, 3), (0, 5), (2, 2), (0, 2)):
        values = [np.arange(i, i + width, dtype=np.float32) for i in range(6)]
        interpreter.resize_tensor_input(0, ())
        for i in range(6):
            interpreter.resize_tensor_input(1 + i, (width,))
        interpreter.allocate_tensors()
        for _ in range(2):
            found = run(interpreter, np.array(start, np.int32), *values)
            grown, twice, left, right, same, kept = values
            for _ in range(start, 4):
                grown = twice = np.concatenate([grown, kept])
                left, right, same = right + grown.sum(), left, floats(7)
            assert [x.tolist() for x in found] == [4, *(x.tolist() for x in (grown, twice, left, right, same, kept))]
