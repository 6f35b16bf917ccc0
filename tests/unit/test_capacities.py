"""Capacities of dynamic tensors: what is kept ready for the next run, and how seldom it does not suffice."""

from __future__ import annotations

import numpy as np
import pytest
from built import (
    COUNTER,
    F32,
    below,
    count_since,
    custom_chain,
    head,
    integer,
    next_count,
    ready,
    request,
    resized,
    run,
    variable,
    wanted,
)

import minilite
from minilite.format.builder import ModelBuilder


def ask(interpreter: minilite.Interpreter, count: int) -> None:
    assert np.array_equal(run(interpreter, request(count))[0], wanted(count))


def chain() -> minilite.Interpreter:
    """x -> Head -> RELU, after a first run of 4 values."""
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head})
    ask(interpreter, 4)
    return interpreter


def test_what_creeps_up_grows_in_quarters_of_powers_of_two() -> None:
    """From 16 to 16 Ki bytes a value at a time: every 64 bytes up to 256, then four times an octave."""
    interpreter = chain()
    counted = count_since(interpreter, lambda: [ask(interpreter, count) for count in range(4, 4097)])
    steps = 3 + 4 * 6
    assert counted["capacity_misses"] == 2 * steps
    assert counted["replans"] <= steps + 1  # the first run has grown too


@pytest.mark.parametrize(
    ("count", "room"), [(1, 16), (17, 32), (64, 64), (65, 80), (100, 112), (129, 160), (1025, 1280)]
)
def test_room_beyond_what_is_needed(count: int, room: int) -> None:
    interpreter = chain()
    ask(interpreter, max(count, 5))
    counted = count_since(interpreter, lambda: ask(interpreter, room))
    assert counted["capacity_misses"] == 0
    assert count_since(interpreter, lambda: ask(interpreter, room + 1))["capacity_misses"] == 2


def test_sizes_in_turn_stay_as_they_are() -> None:
    """After one round nothing grows, nothing is placed anew, and the arena stays."""
    interpreter = chain()
    rounds = [700, 1000, 30, 900]
    for count in rounds:
        ask(interpreter, count)
    ask(interpreter, 30)
    arena = interpreter.arena_bytes
    counted = count_since(interpreter, lambda: [ask(interpreter, count) for count in rounds * 8])
    assert (counted["capacity_misses"], counted["replans"], counted["resolves"]) == (0, 0, 0)
    assert interpreter.arena_bytes == arena


def test_a_large_run_is_forgotten_after_128_others() -> None:
    interpreter = chain()
    ask(interpreter, 100_000)
    once = interpreter.arena_bytes
    for size, runs, share in ((5, 60, 0.9), (6, 128, 0.01)):
        for _ in range(runs):
            ask(interpreter, 10)
        resized(interpreter, size)
        assert (interpreter.arena_bytes > share * once) == (runs < 128)
        resized(interpreter, 4)


# Bodies of loops --------------------------------------------------------------------------------------------------------


def test_body_that_moved_out_leaves_the_slots_where_they_are() -> None:
    """A view keeps the loop from being placed anew, when what its body computes has outgrown the room in front of its slots."""
    builder = ModelBuilder()
    main, test, step = (builder.subgraph(name) for name in ("main", "test", "step"))
    carries = [COUNTER, ("x", (16,), F32), ("ask", (4,), F32)]
    count, x, asked = (main.input(*carry) for carry in carries)
    before = main.node("ADD", [x, x], out=("before", (16,)))
    outs = [(f"{name}_out", shape, kind) for name, shape, kind in carries]
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    turned = main.node("WHILE", [count, x, asked], out=outs, options=options)[1]
    main.output(turned, main.node("ADD", [before, x], out=("after", (16,))))
    test.output(below(3)(test, [test.input(*carry) for carry in carries]))
    count, x, asked = (step.input(*carry) for carry in carries)
    many = step.node("Head", [asked], out=("many", (1,)), custom=True)
    step.node("ASSIGN_VARIABLE", [variable(step), step.node("RELU", [many], out=("relu", (1,)))])
    step.output(next_count(step, count), step.node("ADD", [x, x], out=("twice", (16,))), asked)
    interpreter = ready(builder.build(), custom_ops={"Head": head})
    values = np.arange(16, dtype=np.float32)
    for many_values in (4, 20_000):
        run(interpreter, integer(0), values, request(many_values))
    interpreter._session().release_memory()
    interpreter.allocate_tensors()
    view = interpreter.tensor(0)()
    turned_to, after = run(interpreter, integer(0), values, request(20_000))
    assert turned_to.tolist() == (8 * values).tolist()
    assert after.tolist() == (3 * values).tolist()
    del view
