"""Capacities of dynamic tensors: the most that their last runs needed, and more once they have outgrown it."""

from __future__ import annotations

from typing import Any

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

from minilite import ArenaError, StateError
from minilite.engine.engine import engine_of
from minilite.format.builder import ModelBuilder


def test_capacity_forgets_what_was_needed_long_ago() -> None:
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head})
    run(interpreter, request(100_000))
    once = interpreter.arena_bytes
    run(interpreter, request(10))
    resized(interpreter, 5)
    assert interpreter.arena_bytes > 0.4 * once > 160_000  # another size plans for what was needed lately
    resized(interpreter, 4)
    for _ in range(100):
        run(interpreter, request(10))
    resized(interpreter, 6)
    assert interpreter.arena_bytes < once / 10


def test_another_size_after_a_run_without_memory() -> None:
    """A refused size of a run does not raise the capacity."""
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head}, max_bytes=1 << 20)
    with pytest.raises(ArenaError):
        run(interpreter, request(1_000_000))
    resized(interpreter, 5)
    np.testing.assert_array_equal(run(interpreter, request(7, 5))[0], wanted(7, 5))


def test_another_size_where_all_that_runs_needed_is_too_much() -> None:
    """Two tensors are large in turn. Both would not fit: the run that finds no room for the second makes room."""
    built = ModelBuilder()
    graph = built.subgraph()
    inputs = [graph.input(name, (4,), signature=(-1,)) for name in ("x", "y")]
    outputs = [graph.node("Head", [each], out=(f"long{each}", (4,)), custom=True) for each in inputs]
    for each in outputs:
        graph.output(each)
    interpreter = ready(built.build(), custom_ops={"Head": head}, max_bytes=1 << 20)
    run(interpreter, request(200_000), request(4))
    with pytest.raises(ArenaError):
        run(interpreter, request(4), request(200_000))
    for lengths in ((4, 200_000), (4, 4)):
        found = run(interpreter, *(request(length) for length in lengths))
        for each, length in zip(found, lengths, strict=True):
            np.testing.assert_array_equal(each, wanted(length))
    for tensor in inputs:
        interpreter.resize_tensor_input(tensor, (5,))
    interpreter.allocate_tensors()
    for found in run(interpreter, request(7, 5), request(7, 5)):
        np.testing.assert_array_equal(found, wanted(7, 5))


def test_growth_ends_where_lengths_vary() -> None:
    """Lengths between n and 1.5 n, in an order that never repeats: new maxima come for a while, but not for ever."""
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head})
    lengths = [1000 + 500 * (step * 377 % 610) // 610 for step in range(200)]
    grown = count_since(interpreter, lambda: [run(interpreter, request(length)) for length in lengths[:20]])
    assert 2 <= grown["capacity_misses"] <= 6  # of two tensors
    later = count_since(interpreter, lambda: [run(interpreter, request(length)) for length in lengths[20:]])
    assert (later["capacity_misses"], later["replans"]) == (0, 0)


def test_capacity_of_a_large_run_is_kept_for_another_size() -> None:
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head})
    run(interpreter, request(100_000))
    peak = interpreter.arena_bytes
    run(interpreter, request(10))
    resized(interpreter, 5)
    assert 0.4 * peak < interpreter.arena_bytes <= peak


def test_capacity_misses_grow_with_the_logarithm_of_the_size() -> None:
    """One more value in each run: because there is room for a sixteenth more, the steps become longer and longer."""
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head})
    grown = [
        count_since(interpreter, lambda first=first: [run(interpreter, request(first + n)) for n in range(first)])
        for first in (1000, 2000, 4000)
    ]
    assert [counted["capacity_misses"] for counted in grown[1:]] == [22, 22]  # of two tensors, eleven an octave
    assert all(counted["replans"] <= 12 for counted in grown)


def test_sizes_in_turn_stay_as_they_are() -> None:
    """After one round nothing grows, nothing is placed again, and the arena stays."""
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head})
    rounds = [700, 1000, 30, 900]
    for count in rounds:
        run(interpreter, request(count))
    run(interpreter, request(30))
    arena = interpreter.arena_bytes
    counted = count_since(interpreter, lambda: [run(interpreter, request(count)) for count in rounds * 8])
    assert (counted["capacity_misses"], counted["replans"], counted["resolves"]) == (0, 0, 0)
    assert interpreter.arena_bytes == arena


# Bodies of loops ------------------------------------------------------------------------------------------------------


def test_a_loop_body_that_moves_leaves_its_carries() -> None:
    """A view keeps the loop from being placed again, although its body's tensors have outgrown the room in front of the
    slots."""
    builder = ModelBuilder()
    main, test, step = (builder.subgraph(name) for name in ("main", "test", "step"))
    carries = [COUNTER, ("x", (16,), F32), ("ask", (4,), F32)]
    count, x, requested = (main.input(*carry) for carry in carries)
    before = main.node("ADD", [x, x], out=("before", (16,)))
    outs = [(f"{name}_out", shape, kind) for name, shape, kind in carries]
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    turned = main.node("WHILE", [count, x, requested], out=outs, options=options)[1]
    main.output(turned, main.node("ADD", [before, x], out=("after", (16,))))
    test.output(below(3)(test, [test.input(*carry) for carry in carries]))
    count, x, requested = (step.input(*carry) for carry in carries)
    many = step.node("Head", [requested], out=("many", (1,)), custom=True)
    step.node("ASSIGN_VARIABLE", [variable(step), step.node("RELU", [many], out=("relu", (1,)))])
    step.output(next_count(step, count), step.node("ADD", [x, x], out=("twice", (16,))), requested)
    interpreter = ready(builder.build(), custom_ops={"Head": head})
    values = np.arange(16, dtype=np.float32)
    for many_values in (4, 20_000):
        run(interpreter, integer(0), values, request(many_values))
    engine_of(interpreter).session().release_memory()
    interpreter.allocate_tensors()
    view = interpreter.tensor(0)()
    turned_to, after = run(interpreter, integer(0), values, request(20_000))
    assert turned_to.tolist() == (8 * values).tolist()
    assert after.tolist() == (3 * values).tolist()
    del view


def test_a_shape_without_memory_has_no_values() -> None:
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head}, max_bytes=300_000)

    def heads(count: int) -> Any:
        interpreter.set_tensor(0, request(count))
        interpreter.invoke()
        return interpreter.get_tensor(2)

    assert heads(10).shape == (10,)
    with pytest.raises(ArenaError, match="max_bytes is 300000"):
        heads(1_000_000)
    with pytest.raises(StateError, match=r"tensor 1 \('y'\) has no memory"):
        interpreter.get_tensor(1)
    assert np.array_equal(heads(5), wanted(5))
