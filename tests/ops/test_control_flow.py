"""WHILE and CALL_ONCE: carries of every kind, loops in loops and in resized models, variables; LiteRT is the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import (
    COUNTER,
    F32,
    PAIR,
    S32,
    A,
    B,
    agree,
    below,
    count_since,
    floats,
    head,
    integer,
    litert,
    loop,
    next_count,
    ready,
    request,
    run,
    wanted,
)

import minilite
from minilite import ModelFormatError, ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_swapped_carries(turns: int) -> None:
    """Without LiteRT: it copies bare inputs carry by carry, so that B overwrites A before A is read."""
    model = loop(PAIR, below(turns), lambda g, c: [next_count(g, c[0]), c[2], c[1]])
    found = run(ready(model), integer(0), A, B)
    assert [f.tolist() for f in found[1:]] == [x.tolist() for x in ((A, B) if turns % 2 == 0 else (B, A))]


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_swapped_carries_that_are_computed(turns: int) -> None:
    def body(g: Any, c: list[int]) -> list[int]:
        return [next_count(g, c[0]), *[g.node("ADD", [c[i], c[i]], out=(f"t{i}", (3,))) for i in (2, 1)]]

    (found,) = agree(loop(PAIR, below(turns), body), [integer(0), A, B])
    assert found[1].tolist() == (2**turns * (A if turns % 2 == 0 else B)).tolist()


@pytest.mark.parametrize("turns", [0, 1, 4])
def test_three_carries_in_rotation(turns: int) -> None:
    carries = [COUNTER, *[(name, (3,), F32) for name in "abc"]]
    model = loop(carries, below(turns), lambda g, c: [next_count(g, c[0]), c[2], c[3], c[1]])
    found = run(ready(model), integer(0), A, B, A + B)
    assert [f.tolist() for f in found[1:]] == [np.roll([A, B, A + B], -turns, axis=0)[i].tolist() for i in range(3)]


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_carry_that_passes_through(turns: int) -> None:
    def body(g: Any, c: list[int]) -> list[int]:
        return [next_count(g, c[0]), c[1], g.node("ADD", [c[1], c[2]], out=("sum", (3,)))]

    (found,) = agree(loop(PAIR, below(turns), body), [integer(0), A, B])
    assert found[1].tolist() == A.tolist()
    assert found[2].tolist() == (B + turns * A).tolist()


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_carry_that_becomes_a_constant(turns: int) -> None:
    def body(g: Any, c: list[int]) -> list[int]:
        return [next_count(g, c[0]), g.constant("k", floats(7, 8, 9)), g.node("ADD", [c[1], c[2]], out=("sum", (3,)))]

    (found,) = agree(loop(PAIR, below(turns), body), [integer(0), A, B])
    assert found[1].tolist() == ([7, 8, 9] if turns else A.tolist())


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_loop_body_with_an_output_twice(turns: int) -> None:
    def body(g: Any, c: list[int]) -> list[int]:
        total = g.node("ADD", [c[1], c[2]], out=("sum", (3,)))
        return [next_count(g, c[0]), total, total]

    (found,) = agree(loop(PAIR, below(turns), body), [integer(0), A, B])
    assert found[1].tolist() == (2 ** (turns - 1) * (A + B) if turns else A).tolist()


def test_loop_body_with_an_input_twice_among_outputs() -> None:
    model = loop(PAIR, below(3), lambda g, c: [next_count(g, c[0]), c[2], c[2]])
    (found,) = agree(model, [integer(0), A, B])
    assert (found[1].tolist(), found[2].tolist()) == (B.tolist(), B.tolist())


def test_body_that_overwrites_in_place_leaves_its_inputs_alone() -> None:
    def body(g: Any, c: list[int]) -> list[int]:
        up = g.node("RELU", [c[1]], out=("up", (3,)))
        return [
            next_count(g, c[0]),
            g.node("ADD", [up, c[2]], out=("sum", (3,))),
            g.node("RELU", [c[1]], out=("r", (3,))),
        ]

    agree(loop(PAIR, below(4), body), [integer(0), A, B], [integer(2), B, A])


def test_runs_follow_each_other() -> None:
    model = loop(PAIR, below(6), lambda g, c: [next_count(g, c[0]), c[2], g.node("ADD", [c[1], c[2]], out=("s", (3,)))])
    interpreter = ready(model)
    agree(model, *[[integer(start), A * start, B] for start in (0, 5, 6, 9, 1)])
    run(interpreter, integer(0), A, B)
    steady = count_since(interpreter, lambda: [run(interpreter, integer(start), A, B) for start in (0, 6, 2)])
    assert {name for name, grown in steady.items() if grown} == {"invokes"}


# Carries that change shape --------------------------------------------------------------------------------------------


def doubling(turns: int, size: int = 2) -> bytes:
    def body(g: Any, c: list[int]) -> list[int]:
        twice = g.node("CONCATENATION", [c[1], c[1]], out=("twice", (2 * size,)), options={"axis": 0})
        return [next_count(g, c[0]), g.node("RELU", [twice], out=("relu", (2 * size,)))]

    return loop([COUNTER, ("x", (size,), F32)], below(turns), body, shapes_out=[(), (size << turns,)])


def test_carry_that_changes_shape() -> None:
    model = doubling(10)
    x = floats(1, 2)
    for found, turns in zip(
        agree(model, *[[integer(10 - t), x] for t in (3, 10, 0, 1, 10)]), (3, 10, 0, 1, 10), strict=True
    ):
        assert found[1].tolist() == np.tile(x, 2**turns).tolist()


def test_changing_carry_in_a_resized_model() -> None:
    interpreter, other = ready(doubling(4)), litert(doubling(4))
    for size, start in ((2, 0), (100, 1), (2, 2), (3, 4), (100, 0)):
        x = np.arange(size, dtype=np.float32)
        for one in (interpreter, other):
            one.resize_tensor_input(1, (size,))
            one.allocate_tensors()
        found, expected = run(interpreter, integer(start), x), run(other, integer(start), x)
        assert np.array_equal(found[1], np.tile(x, 2 ** (4 - start)))
        assert np.array_equal(found[1], expected[1])


def test_nodes_after_a_loop_that_changes_shapes() -> None:
    builder = ModelBuilder()
    main, test, body = builder.subgraph("main"), builder.subgraph("condition"), builder.subgraph("body")
    count, x = main.input("count", (), S32), main.input("x", (2,))
    live = main.node("RELU", [x], out=("live", (2,)))
    outs = [("count_out", (), S32), ("x_out", (2,))]
    _, grown = main.node("WHILE", [count, x], out=outs, options={"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.output(main.node("RELU", [grown], out=("y", (2,))), main.node("RELU", [live], out=("kept", (2,))))
    for graph in (test, body):
        graph.input("count", (), S32)
        graph.input("x", (2,))
    test.output(below(8)(test, [0]))
    body.output(next_count(body, 0), body.node("CONCATENATION", [1, 1], out=("twice", (4,)), options={"axis": 0}))
    x0 = floats(3, -4)
    results = agree(builder.build(), *[[integer(start), x0] for start in (7, 0, 8, 4, 0)])
    assert [len(found[0]) for found in results] == [4, 512, 2, 32, 512]
    assert all(found[1].tolist() == [3, 0] for found in results)


def test_body_of_the_wrong_shape_for_its_condition() -> None:
    carries = [("x", (2,), F32)]
    model = loop(carries, lambda g, c: g.node("LESS", [c[0], c[0]], out=("t", (2,), TensorType.BOOL)), lambda _, c: c)
    with pytest.raises(ShapeError, match=r"^subgraph 0, node 0 \(WHILE 'x_out'\): .*condition's output has 2 elements"):
        ready(model)


def test_body_that_does_not_compute_its_output() -> None:
    model = loop(PAIR, below(3), lambda g, c: [next_count(g, c[0]), g.tensor("orphan", (1000,)), c[2]])
    with pytest.raises(
        ModelFormatError, match=r"^tensor \d+ \('orphan'\), output 1 of subgraph 2, is computed by no node$"
    ):
        ready(model)


def test_types_that_differ() -> None:
    model = loop(PAIR, below(3), lambda g, c: [next_count(g, c[0]), c[0], c[2]])
    with pytest.raises(ShapeError, match=r"\(WHILE 'count_out'\): carried value 1 has type f32, the body returns s32"):
        ready(model)


def test_arity_that_differs() -> None:
    model = loop(PAIR, below(3), lambda g, c: [next_count(g, c[0]), c[1]])
    with pytest.raises(ShapeError, match=r"\(WHILE 'count_out'\): the body has 2 outputs, must have 3"):
        ready(model)


def test_failure_inside_a_body_names_the_inner_node() -> None:
    def body(g: Any, c: list[int]) -> list[int]:
        heads = g.node("Head", [c[1]], out=("heads", (1,)), custom=True)
        return [next_count(g, c[0]), g.node("ADD", [heads, g.constant("k", floats(1, 2, 3, 4))], out=("sum", (4,)))]

    interpreter = ready(loop([COUNTER, ("x", (4,), F32)], below(1), body), custom_ops={"Head": head})
    assert run(interpreter, integer(0), request(4))[1].tolist() == (wanted(4) + floats(1, 2, 3, 4)).tolist()
    for _ in range(2):
        with pytest.raises(ShapeError, match=r"^subgraph 2, node 2 \(ADD 'sum'\): .*\(3\)") as caught:
            run(interpreter, integer(0), request(3))
        assert (caught.value.subgraph, caught.value.node) == (2, 2)
        assert run(interpreter, integer(0), request(4))[1].tolist() == (wanted(4) + floats(1, 2, 3, 4)).tolist()


# Loops in loops, and what is refused ----------------------------------------------------------------------------------


def nested(inner_turns: int, size: int = 3) -> ModelBuilder:
    """while count < 4: (inner = 0; while inner < inner_turns: x += x); x is put through RELU, count goes up."""
    builder = ModelBuilder()
    main, test, body, inner_test, inner_body = (builder.subgraph() for _ in range(5))
    shape = (size,)
    for graph in (main, test, body, inner_test, inner_body):
        graph.input("count", (), S32)
        graph.input("x", shape, signature=(-1,))
    outs = [("count_out", (), S32), ("x_out", shape)]
    main.output(*main.node("WHILE", [0, 1], out=outs, options={"cond_subgraph_index": 1, "body_subgraph_index": 2}))
    test.output(below(4)(test, [0]))
    zero = body.constant("zero", integer(0))
    relu = body.node("RELU", [1], out=("relu", shape))
    options = {"cond_subgraph_index": 3, "body_subgraph_index": 4}
    _, x = body.node("WHILE", [zero, relu], out=[("inner", (), S32), ("xs", shape)], options=options)
    body.output(next_count(body, 0), body.node("ADD", [x, relu], out=("sum", shape)))
    inner_test.output(below(inner_turns)(inner_test, [0]))
    inner_body.output(next_count(inner_body, 0), inner_body.node("ADD", [1, 1], out=("twice", shape)))
    return builder


@pytest.mark.parametrize("inner_turns", [0, 1, 3])
def test_loop_in_a_loop(inner_turns: int) -> None:
    model = nested(inner_turns).build()
    results = agree(model, [integer(0), A], [integer(3), A], [integer(4), A], [integer(1), -A])
    assert results[0][1].tolist() == (A * (2**inner_turns + 1) ** 4).tolist()
    interpreter = ready(model)
    for size in (1, 1000, 3):
        interpreter.resize_tensor_input(1, (size,))
        interpreter.allocate_tensors()
        x = np.arange(size, dtype=np.float32)
        assert np.array_equal(run(interpreter, integer(2), x)[1], x * (2**inner_turns + 1) ** 2)


def test_each_call_has_a_frame_of_its_own() -> None:
    plan = ready(nested(1).build()).plan
    assert plan is not None
    assert plan.frames() == [(0, -1, -1), (1, 0, 0), (2, 0, 0), (3, 2, 1), (4, 2, 1)]
    assert plan.arena_bytes >= plan.lower_bound > 0


def test_one_body_called_from_two_places() -> None:
    builder = ModelBuilder()
    main, test, body = builder.subgraph("main"), builder.subgraph("condition"), builder.subgraph("body")
    count, small, large = main.input("count", (), S32), main.input("s", (2,)), main.input("l", (9,))
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    results = []
    for x, size in ((small, 2), (large, 9)):
        outs = [(f"count{size}", (), S32), (f"out{size}", (size,))]
        results.append(main.node("WHILE", [count, x], out=outs, options=options)[1])
    main.output(*results)
    for graph in (test, body):
        graph.input("count", (), S32)
        graph.input("x", (2,))
    test.output(below(3)(test, [0]))
    body.output(next_count(body, 0), body.node("ADD", [1, 1], out=("twice", (2,))))
    found = run(ready(builder.build()), integer(0), floats(1, 2), np.arange(9, dtype=np.float32))
    assert found[0].tolist() == [8, 16]
    assert found[1].tolist() == (8 * np.arange(9)).tolist()


def test_a_branch_may_be_the_first_subgraph() -> None:
    """If another one is run: that of a signature."""
    builder = ModelBuilder()
    first, second = builder.subgraph("first"), builder.subgraph("second")
    y = first.node("NEG", [first.input("x", (2,))], out=("y", (2,)))
    first.output(y)
    chosen, x = second.input("chosen", (), TensorType.BOOL), second.input("x", (2,))
    options = {"then_subgraph_index": 0, "else_subgraph_index": 0}
    z = second.node("IF", [chosen, x], out=("z", (2,)), options=options)
    second.output(z)
    builder.signature("one", {"x": 0}, {"y": y})
    builder.signature("other", {"chosen": chosen, "x": x}, {"z": z}, second)
    runner = minilite.Interpreter(model_content=builder.build()).get_signature_runner("other")
    assert runner(chosen=np.array(True), x=floats(1, 2))["z"].tolist() == [-1, -2]


def calling(*calls: tuple[int, int]) -> bytes:
    """A model whose subgraphs each hold one WHILE that calls (condition, body); the last subgraph holds none."""
    builder = ModelBuilder()
    for condition, body in calls:
        graph = builder.subgraph()
        x = graph.input("x", (), TensorType.BOOL)
        options = {"cond_subgraph_index": condition, "body_subgraph_index": body}
        graph.output(*graph.node("WHILE", [x], out=[("y", (), TensorType.BOOL)], options=options))
    last = builder.subgraph()
    last.output(last.input("x", (), TensorType.BOOL))
    return builder.build()


@pytest.mark.parametrize(
    ("calls", "again"),
    [
        ([(0, 0)], 0), ([(1, 0)], 0), ([(2, 1), (2, 1)], 1), ([(3, 1), (3, 2), (3, 0)], 0), ([(3, 1), (3, 2), (1, 3)], 1),
    ],
)  # fmt: skip
def test_recursion_is_refused(calls: list[tuple[int, int]], again: int) -> None:
    with pytest.raises(ModelFormatError, match=f"subgraph {again} calls itself"):
        ready(calling(*calls))


def test_calls_that_do_not_recur_are_fine() -> None:
    assert run(ready(calling((2, 1), (2, 2))), np.array(False))[0] == np.False_


def test_calls_that_unfold_without_end_are_refused() -> None:
    with pytest.raises(ModelFormatError, match=r"called from more than \d+ places"):
        ready(calling(*[(n + 1, n + 1) for n in range(30)]))


def calling_by(op: str, options: dict[str, int], outputs: int) -> bytes:
    """A model of one node that calls a subgraph of one input and one output."""
    builder = ModelBuilder()
    main, other = builder.subgraph(), builder.subgraph()
    x = main.input("x", (2,) if op != "IF" else (), TensorType.FLOAT32 if op != "IF" else TensorType.BOOL)
    made = main.node(op, [x] if outputs else [], out=[(f"y{i}", (2,)) for i in range(outputs)], options=options)
    main.output(*(made if outputs else [x]))
    other.output(other.input("x", (2,)))
    return builder.build()


@pytest.mark.parametrize(
    ("op", "options", "outputs", "words"),
    [
        ("WHILE", {"cond_subgraph_index": 1, "body_subgraph_index": 1}, 2, "1 inputs and 2 outputs: the counts must"),
        ("IF", {"then_subgraph_index": -1, "else_subgraph_index": 1}, 1, "branches are subgraphs -1 and 1"),
        ("CALL_ONCE", {"init_subgraph_index": -1}, 0, "calls subgraph -1, must be 0 or more"),
        (
            "STABLEHLO_COMPOSITE",
            {"name": "a", "decomposition_subgraph_index": -1},
            1,
            "is subgraph -1, must be 0 or more",
        ),
    ],
)
def test_calls_refused(op: str, options: dict[str, int], outputs: int, words: str) -> None:
    with pytest.raises(UnsupportedOpError, match=words):
        ready(calling_by(op, options, outputs))


@pytest.mark.parametrize("called", [-1, 7])
def test_call_of_a_subgraph_that_does_not_exist(called: int) -> None:
    with pytest.raises(minilite.MiniliteError, match=str(called)):
        ready(calling((1, called)))
