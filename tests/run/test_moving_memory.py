"""Memory that moves or grows during a run, or between runs: all pointers into it have to follow."""

from __future__ import annotations

import os
import resource
from typing import Any

import numpy as np
import pytest
from built import (
    COUNTER,
    F32,
    S32,
    Array,
    below,
    count_since,
    floats,
    head,
    integer,
    loop,
    loop_graphs,
    next_count,
    ready,
    records_are_right,
    relu_chain,
    request,
    resized,
    run,
    variable,
    wanted,
)
from processes import apart
from support.system import HAS_SYSTEM

import minilite
from minilite import ArenaError
from minilite.engine.engine import engine_of
from minilite.format.builder import ModelBuilder


def loop_before_a_dynamic_node() -> bytes:
    """count, x, req -> RELU of what a WHILE made of x (three turns of t = RELU(x), x = t + (t + x)), and RELU of
    Head(req)."""
    builder = ModelBuilder()
    main, test, body = loop_graphs(builder)
    req = main.input("req", (4,))
    outs = [("count_out", (), S32), ("x_out", (3,))]
    _, x = main.node("WHILE", [0, 1], out=outs, options={"cond_subgraph_index": 1, "body_subgraph_index": 2})
    looped = main.node("RELU", [x], out=("looped", (3,)))
    heads = main.node("Head", [req], out=("heads", (1,)), custom=True)
    main.output(looped, main.node("RELU", [heads], out=("y", (1,))))
    test.output(below(3)(test, [0]))
    t = body.node("RELU", [1], out=("t", (3,)))
    once = body.node("ADD", [t, 1], out=("once", (3,)))
    body.output(next_count(body, 0), body.node("ADD", [t, once], out=("twice", (3,))))
    return builder.build()


@pytest.mark.parametrize("planner", ["default", "greedy_by_size"])
def test_arena_moves_after_a_loop_has_run(planner: str) -> None:
    """The loop runs in memory that an earlier run took midway, for the first time in the third run."""
    interpreter = ready(loop_before_a_dynamic_node(), custom_ops={"Head": head}, planner=planner)
    for count in (2, 5_000_000, 5_000_000, 2):
        looped, y = run(interpreter, integer(0), floats(1, 2, 3), request(count))
        assert looped.tolist() == [27, 54, 81]
        assert np.array_equal(y, wanted(count))
    assert interpreter.arena_bytes > 20_000_000


def loop_whose_body_grows() -> bytes:
    """count, other -> a WHILE whose body runs an inner WHILE, then assigns RELU(Swell(count)) to a variable.

    The carries keep their shapes. `other` may take any size; the body adds what the inner loop makes of 1 (three turns
    of x = x + x, so 8) to it.
    """
    builder = ModelBuilder()
    main, test, body = (builder.subgraph(name) for name in ("main", "condition", "body"))
    inner_test, inner_body = builder.subgraph("inner_condition"), builder.subgraph("inner_body")
    for graph in (main, test, body):
        graph.input(*COUNTER)
        graph.input("other", (4,), signature=(-1,))
    for graph in (inner_test, inner_body):
        graph.input(*COUNTER)
        graph.input("x", (1,))
    outs = [("count_out", (), S32), ("other_out", (4,))]
    main.output(*main.node("WHILE", [0, 1], out=outs, options={"cond_subgraph_index": 1, "body_subgraph_index": 2}))
    test.output(below(4)(test, [0]))
    inner_test.output(below(3)(inner_test, [0]))
    doubled = inner_body.node("ADD", [inner_body.node("RELU", [1], out=("same", (1,))), 1], out=("doubled", (1,)))
    inner_body.output(next_count(inner_body, 0), doubled)
    starts = [body.constant("zero", integer(0)), body.constant("start", floats(1))]
    outs = [("inner_count", (), S32), ("eight", (1,))]
    calls = {"cond_subgraph_index": 3, "body_subgraph_index": 4}
    _, eight = body.node("WHILE", starts, out=outs, options=calls)
    vector = body.node("Swell", [0], out=("vector", (1,)), custom=True)
    body.node("ASSIGN_VARIABLE", [variable(body), body.node("RELU", [vector], out=("vector2", (1,)))])
    body.output(next_count(body, 0), body.node("ADD", [1, eight], out=("sum", (4,))))
    return builder.build()


def swell(node: Any, n: Array) -> Array:
    return np.ones((4_000_000, 4_000_000, 1_000_000, 300_000)[int(n)], np.float32)


def grow_the_body(planner: str) -> None:
    """Another size in between, so that the plan comes back from the cache with the room that an earlier run gave it."""
    interpreter = ready(loop_whose_body_grows(), custom_ops={"Swell": swell}, planner=planner)
    for start, size in ((2, 4), (3, 100), (2, 4), (0, 4), (3, 7), (0, 4)):
        interpreter.resize_tensor_input(1, (size,))
        interpreter.allocate_tensors()
        count, other = run(interpreter, integer(start), np.arange(size, dtype=np.float32))
        assert count == 4
        assert np.array_equal(other, np.arange(size) + 8 * (4 - start))
        records_are_right(interpreter)


@pytest.mark.parametrize("planner", ["default", "greedy_by_size"])
def test_loop_body_that_grows_in_mid_run(planner: str) -> None:
    """The inner loop's scratch lies in the region of the body, which outgrows it after that loop has run.

    In a process whose malloc gives every large block back to the system at once, so that a stale pointer shows.
    """
    apart(grow_the_body, planner, MALLOC_MMAP_THRESHOLD_="65536")


def move_what_was_spilled() -> None:
    """With little address space: a tensor that outgrew a loop's room moves when another size needs more of that
    room."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    interpreter = ready(loop_whose_body_grows(), custom_ops={"Swell": swell})
    for size, start in (
        (8_000_000, None),
        (4, 2),
        (100, 0),
        (4, None),
    ):  # the first makes the arena itself large enough
        interpreter.resize_tensor_input(1, (size,))
        interpreter.allocate_tensors()
        if start is not None:
            run(interpreter, integer(start), np.arange(size, dtype=np.float32))
    assert not engine_of(interpreter).session().state.usage().stays_mapped
    interpreter.set_tensor(0, integer(2))
    interpreter.set_tensor(1, np.arange(4, dtype=np.float32))
    view = interpreter.tensor(1)()  # so that nothing is placed again
    interpreter.invoke()
    assert interpreter.get_tensor(interpreter.get_output_details()[1]["index"]).tolist() == [16, 17, 18, 19]
    assert view.tolist() == [0, 1, 2, 3]


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer takes all address space")
def test_memory_of_a_loop_moves_while_another_size_is_current() -> None:
    apart(move_what_was_spilled, MALLOC_MMAP_THRESHOLD_="65536")


def loop_after_a_dynamic_node() -> bytes:
    """count, x, req -> RELU(Head(req)), and then what a WHILE makes of x: three turns of x = x + x."""
    builder = ModelBuilder()
    main, test, body = loop_graphs(builder)
    req = main.input("req", (4,))
    y = main.node("RELU", [main.node("Head", [req], out=("heads", (1,)), custom=True)], out=("y", (1,)))
    outs = [("count_out", (), S32), ("x_out", (3,))]
    _, x = main.node("WHILE", [0, 1], out=outs, options={"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.output(x, y)
    test.output(below(3)(test, [0]))
    body.output(next_count(body, 0), body.node("ADD", [1, 1], out=("twice", (3,))))
    return builder.build()


def arena_address(interpreter: minilite.Interpreter) -> int:
    """Where the arena begins: the address of tensor 2, less its offset."""
    memory = interpreter.memory
    assert memory is not None
    made = memory.to_memory_plan()
    offset = next(at for record, at in zip(made.records, made.offsets, strict=True) if record.tensor == 2)
    return int(interpreter.tensor(2)().ctypes.data) - offset


def move_before_a_loop() -> None:
    """With little address space an arena of pages moves when it grows, and its old pages are gone at once. Moves are
    counted if the address has changed."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    interpreter = ready(loop_after_a_dynamic_node(), custom_ops={"Head": head}, planner="tflite")  # inputs in the arena
    moves, copied = [], []
    for count in (2, 600_000, 600_000, 1_500_000, 3_000_000):
        before, address = interpreter.counters, arena_address(interpreter)
        x, y = run(interpreter, integer(0), floats(1, 2, 3), request(count))
        moves.append(interpreter.counters["arena_moves"] - before["arena_moves"])
        copied.append(interpreter.counters["bytes_copied"] - before["bytes_copied"])
        assert (moves[-1] > 0) == (arena_address(interpreter) != address), count
        assert x.tolist() == [8, 16, 24]
        assert np.array_equal(y, wanted(count))
    assert not engine_of(interpreter).session().state.usage().stays_mapped
    assert any(moves[3:])
    if HAS_SYSTEM:
        assert copied[1] > max(copied[2:])  # what lay in malloc's block is copied; pages are moved by the system


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer takes all address space")
def test_scratch_of_a_loop_after_the_arena_has_moved() -> None:
    apart(move_before_a_loop)


def test_a_count_creeps_up_within_a_planned_block() -> None:
    """Places end at multiples of 64 bytes, which are 16 floats."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, req = graph.input("x", (4,), signature=(-1,)), graph.input("req", (4,))
    heads = graph.node("Head", [req], out=("heads", (1,)), custom=True)
    graph.output(*[graph.node("RELU", [tensor], out=(f"y{tensor}", (1,))) for tensor in (x, heads)])
    interpreter = ready(builder.build(), custom_ops={"Head": head})
    run(interpreter, floats(1, 2, 3, 4), request(33))
    resized(interpreter, 5)  # with room for 33
    for count, misses in ((34, 0), (41, 0), (48, 0), (49, 2)):
        grown = count_since(interpreter, lambda: run(interpreter, np.zeros(5, np.float32), request(count)))  # noqa: B023
        assert grown["capacity_misses"] == misses


def test_memory_refused_for_a_tensor_that_had_grown() -> None:
    """The tensor keeps its place: a tensor that grows in a later run, while it is alive, lies elsewhere."""

    def column(node: Any, x: Array) -> Array:
        return np.full((int(x[0]), 1), x[0], np.float32)

    def row(node: Any, x: Array) -> Array:
        return np.ones((1, int(x[0])), np.float32)

    builder = ModelBuilder()
    graph = builder.subgraph()
    large = graph.input("large", (1_000_000,))  # so that growth does not place all tensors again
    x, z = graph.input("x", (1,)), graph.input("z", (4,))
    sides = [graph.node(name, [x], out=(name, (1, 1)), custom=True) for name in ("Column", "Row")]
    square = graph.node("ADD", sides, out=("square", (1, 1)))
    other = graph.node("Head", [z], out=("other", (1,)), custom=True)
    last = [graph.node("RELU", [tensor], out=(f"y{tensor}", (1,))) for tensor in (square, other, large)]
    graph.output(*last)
    interpreter = ready(builder.build(), custom_ops={"Column": column, "Row": row, "Head": head})
    zeros = np.zeros(1_000_000, np.float32)
    for count in (2, 2):
        run(interpreter, zeros, floats(40), request(count))
    with pytest.raises(ArenaError, match="the arena needs"):
        run(interpreter, zeros, floats(140_000), request(2))  # a square of 78 GB, beyond the range of addresses
    for count in (2, 1500):
        found, head_found, _ = run(interpreter, zeros, floats(40), request(count))
        assert found.tolist() == [[41] * 40] * 40
        assert np.array_equal(head_found, wanted(count))


# Between runs ---------------------------------------------------------------------------------------------------------


def test_variables_that_move_while_the_arena_stays() -> None:
    """A plan that comes back finds the arena where it was, and the variables elsewhere."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, state = graph.input("x", (4,), signature=(-1,)), graph.variable("state", (100_000,))
    outs = [graph.node("RELU", [tensor], out=(f"y{tensor}", (4,))) for tensor in (state, x)]
    graph.output(*outs)
    interpreter = ready(builder.build())
    for size in (4_000_000, 4):  # from now on the arena is large enough for all that follows
        resized(interpreter, size)
    for size in (100_000, 400_000, 100_000, 1_000_000, 400_000, 100_000):
        interpreter.resize_tensor_input(state, (size,))
        interpreter.allocate_tensors()
        assert interpreter.get_tensor(state).shape == (size,)
        assert not interpreter.get_tensor(state).any()
        interpreter.set_tensor(state, np.ones(size, np.float32))
        interpreter.set_tensor(x, floats(-1, 2, 3, 4))
        interpreter.invoke()
        assert np.array_equal(interpreter.get_tensor(outs[0]), np.ones(size))
        assert interpreter.get_tensor(outs[1]).tolist() == [0, 2, 3, 4]


def test_the_first_place_of_the_arena_counts_as_a_move() -> None:
    interpreter = ready(relu_chain())
    assert interpreter.counters["arena_moves"] == 1
    resized(interpreter, 4)
    assert interpreter.counters["arena_moves"] == 1


def two_rows_of_sums(graph: Any, weights: int) -> int:
    """FULLY_CONNECTED of (2, 8) ones by (n, 8) weights that a run computes: they are packed into scratch."""
    ones = graph.constant("ones", np.ones((2, 8), np.float32))
    y: int = graph.node("FULLY_CONNECTED", [ones, weights, -1], out=("sums", (2, 1)))
    return y


def test_scratch_that_grows_goes_around_what_is_live() -> None:
    """Above 64 KiB scratch lies in the arena; `before` is live at its node, and dead at the last three."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    heads = graph.node("Head", [graph.input("req", (4,))], out=("heads", (8,)), custom=True)
    before = graph.node("NEG", [heads], out=("before", (8,)))
    shape = graph.constant("rows", np.array([-1, 8], np.int32))
    sums = two_rows_of_sums(graph, graph.node("RESHAPE", [heads, shape], out=("weights", (1, 8))))
    after = graph.node("NEG", [before], out=("after", (8,)))
    for k in range(3):
        sums = graph.node("CONCATENATION", [sums, sums], options={"axis": 0}, out=(f"twice{k}", (2, 1)))
    graph.output(after, sums)
    interpreter = ready(builder.build(), custom_ops={"Head": head})
    for count in (8, 80_000, 80_000, 200_000):
        found, rows = run(interpreter, request(count))
        assert np.array_equal(found, wanted(count))
        assert np.array_equal(rows, np.tile(wanted(count).reshape(-1, 8).sum(1), (16, 1)))
        records_are_right(interpreter)


def test_scratch_at_the_start_of_a_frame() -> None:
    """The arena of a loop's body, whose carries are with its caller; the strategy puts the largest first."""

    def body(g: Any, carries: list[int]) -> list[int]:
        sums, shape = two_rows_of_sums(g, carries[1]), g.constant("shape", np.array([-1, 8], np.int32))
        return [next_count(g, carries[0]), g.node("RESHAPE", [sums, shape], out=("next_weights", (1, 8)))]

    content = loop([COUNTER, ("weights", (1, 8), F32)], below(2), body)
    interpreter = minilite.Interpreter(model_content=content, planner="greedy_by_size")
    for rows in (16, 64 * 1024, 64 * 1024):
        interpreter.resize_tensor_input(1, (rows, 8))
        interpreter.allocate_tensors()
        weights = wanted = np.arange(8 * rows, dtype=np.float32).reshape(rows, 8) % 5
        for _ in range(2):
            wanted = np.tile(wanted.sum(1), 2).reshape(-1, 8)
        assert np.array_equal(run(interpreter, integer(0), weights)[1], wanted)
        records_are_right(interpreter)
    assert interpreter.memory is not None
    assert 0 in [offset for tensor, *_, offset in interpreter.memory.records(2) if tensor == 8]  # node 0's scratch
