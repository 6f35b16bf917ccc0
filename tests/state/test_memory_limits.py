"""Limits of an interpreter, and memory it gives back: max_bytes, max_iterations, memory left over from a large size."""

from __future__ import annotations

import mmap
import re
from typing import Any

import numpy as np
import pytest
from built import COUNTER, below, floats, integer, loop_graphs, next_count, ready, relu_chain, request, resized, run
from control.test_dynamic_loops import add_sum, swell, swelling_loop
from run.test_moving_memory import loop_before_a_dynamic_node
from support import sparse
from support.system import needs_reserved, needs_system

import minilite
from minilite import ArenaError, InputError, KernelError, UnsupportedOpError
from minilite.engine import program
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

MIB = 1 << 20


def squaring_loop(turns: int) -> bytes:
    """count, x -> the result of a WHILE with `turns` turns of x = RELU(x); carries keep their shapes."""
    builder = ModelBuilder()
    main, test, body = loop_graphs(builder)
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    main.output(*main.node("WHILE", [0, 1], out=[("count_out", (), COUNTER[2]), ("x_out", (3,))], options=options))
    test.output(below(turns)(test, [0]))
    body.output(next_count(body, 0), body.node("RELU", [1], out=("y", (3,))))
    return builder.build()


# max_bytes ------------------------------------------------------------------------------------------------------------


def test_a_size_that_takes_more_than_max_bytes_is_refused_and_the_old_one_stays() -> None:
    free = ready(relu_chain())
    resized(free, 100_000)
    free.set_tensor(0, np.zeros(100_000, np.float32))  # its memory comes with the first value
    interpreter = ready(relu_chain(), max_bytes=free.usage.taken_bytes)
    x, y = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    resized(interpreter, 100_000)
    interpreter.set_tensor(x, np.zeros(100_000, np.float32))
    with pytest.raises(ArenaError, match=r"the arena needs \d+ bytes more, \d+ are taken, max_bytes is \d+"):
        resized(interpreter, 200_000)
    interpreter.set_tensor(x, np.full(100_000, -1, np.float32))
    interpreter.invoke()
    assert interpreter.get_tensor(y).shape == (100_000,)
    resized(interpreter, 4)
    interpreter.trim()
    resized(interpreter, 100_000)


def test_without_max_bytes_there_is_a_limit_until_an_input_is_resized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "FIRST_BYTES", MIB)
    model = relu_chain(size=MIB)
    assert 64 * len(model) < MIB
    interpreter = minilite.Interpreter(model_content=model)
    with pytest.raises(ArenaError, match="max_bytes is 1048576 unless it is given or an input is resized"):
        interpreter.allocate_tensors()
    with pytest.raises(ArenaError, match="max_bytes is 1048576 unless"):  # its own size is no other one
        resized(interpreter, MIB)
    resized(interpreter, 4)
    resized(interpreter, MIB)
    interpreter.invoke()
    assert interpreter.usage.taken_bytes > MIB
    ready(model, max_bytes=16 * MIB).invoke()


def test_the_limit_without_max_bytes_grows_with_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "FIRST_BYTES", MIB)
    for size in (1000, 100_000):  # the file has as many bytes more, and the limit is 64 times that
        model = relu_chain(size=MIB) + bytes(size)
        if 64 * len(model) < 8 * MIB:
            with pytest.raises(ArenaError, match="max_bytes"):
                ready(model)
        else:
            ready(model, num_threads=1).invoke()


def test_a_file_of_400_bytes_does_not_take_8_gib() -> None:
    with pytest.raises(ArenaError, match="max_bytes is 1073741824 unless"):
        ready(relu_chain(1, 2**31 - 1))


@pytest.mark.parametrize("op", ["DENSIFY", "FULLY_CONNECTED"])
def test_dense_forms_of_sparse_constants_are_limited(op: str) -> None:
    """Each takes 64 MiB, from a file of a few hundred bytes."""
    stored, sparsity = (
        np.ones(1, np.float32),
        {
            "traversal_order": [0, 1],
            "block_map": [],
            "dim_metadata": [sparse.csr([0, 1], [0]), sparse.csr([0, 1], [0])],
        },
    )
    builder = ModelBuilder()
    g = builder.subgraph()
    shape = (1 << 12, 1 << 12)
    for number in range(2):
        c = g.constant(f"c{number}", stored, shape=shape, sparsity=sparsity)
        if op == "DENSIFY":
            g.output(g.node(op, [c], out=(f"y{number}", shape)))
        else:
            x = g.input(f"x{number}", (1, shape[1]))
            g.output(g.node(op, [x, c, -1], out=(f"y{number}", (1, shape[0]))))
    for most in (100 * MIB, 60 * MIB):
        with pytest.raises(
            ArenaError,
            match=r"cannot be made dense: it needs 67108864 bytes, must be at most \d+, or more by max_bytes",
        ):
            minilite.Interpreter(model_content=builder.build(), max_bytes=most).allocate_tensors()


def test_memory_used_sums_signatures() -> None:
    builder = ModelBuilder()
    for name in ("a", "b"):
        graph = builder.subgraph(name)
        x = graph.input("x", (MIB,))
        y = graph.node("RELU", [x], out=("y", (MIB,)))
        graph.output(y)
        builder.signature(name, {"x": x}, {"y": y}, graph)
    model = builder.build()
    values = {"x": np.ones(MIB, np.float32)}
    interpreter = minilite.Interpreter(model_content=model, max_bytes=20 * MIB, in_place="none")
    interpreter.get_signature_runner("a")(**values)
    one = interpreter.usage
    assert one.taken_bytes >= one.arena_capacity >= 4 * MIB  # the input is read in the caller's array
    interpreter.get_signature_runner("b")(**values)
    assert interpreter.usage.taken_bytes == 2 * one.taken_bytes
    assert interpreter.usage.arena_bytes == 2 * one.arena_bytes
    tight = minilite.Interpreter(model_content=model, max_bytes=6 * MIB, in_place="none")
    tight.get_signature_runner("a")(**values)
    with pytest.raises(ArenaError, match="max_bytes is 6291456"):
        tight.get_signature_runner("b")(**values)
    assert tight.get_signature_runner("a")(**values)["y"].sum() == MIB


def test_growth_in_mid_run_is_bounded_too() -> None:
    interpreter = ready(loop_before_a_dynamic_node(), custom_ops={"Head": head_of}, max_bytes=4 * MIB)
    looped, y = run(interpreter, integer(0), floats(1, 2, 3), request(1000))
    taken = interpreter.usage.taken_bytes
    with pytest.raises(ArenaError, match="max_bytes is 4194304"):
        run(interpreter, integer(0), floats(1, 2, 3), request(5_000_000))
    assert interpreter.usage.taken_bytes == taken
    again = run(interpreter, integer(0), floats(1, 2, 3), request(1000))
    assert np.array_equal(again[0], looped)
    assert np.array_equal(again[1], y)


def head_of(node: Any, count: Any) -> Any:
    return np.arange(int(count[0]), dtype=np.float32)


def test_values_beside_the_arena_are_bounded_and_given_back() -> None:
    interpreter = ready(swelling_loop(), custom_ops={"Swell": swell, "AddSum": add_sum}, max_bytes=2 * MIB)
    run(interpreter, integer(0), np.zeros(4, np.float32))
    before = interpreter.usage
    assert before.block_bytes > 0
    assert before.taken_bytes >= before.block_bytes + before.arena_capacity
    interpreter.trim()
    assert interpreter.usage.taken_bytes == before.taken_bytes - before.block_bytes - (
        before.arena_capacity - interpreter.usage.arena_capacity
    )


# max_iterations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changing", [False, True])
def test_a_loop_that_goes_on_too_long_fails_and_the_interpreter_stays_usable(changing: bool) -> None:
    custom = {"Swell": swell, "AddSum": add_sum}
    model = swelling_loop() if changing else squaring_loop(5)
    x = np.zeros(4 if changing else 3, np.float32)
    enough = ready(model, custom_ops=custom, max_iterations=5)
    assert run(enough, integer(0), x)[0] == 5
    short = ready(model, custom_ops=custom, max_iterations=4)
    line = "subgraph 0, node 0 (WHILE 'count_out'): its condition still holds after 4 iterations, max_iterations is 4"
    with pytest.raises(KernelError, match=re.escape(line)):
        run(short, integer(0), x)
    assert run(short, integer(1), x)[0] == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_bytes": 0}, "max_bytes is 0, must be a number of bytes, 1 or more"),
        ({"max_bytes": "much"}, "max_bytes: takes bytes such as 8000000, 8MB (the same) or 8MiB (8388608), got 'much'"),
        ({"max_iterations": -1}, "max_iterations is -1, must be a number of iterations, 1 or more"),
        ({"max_iterations": True}, "max_iterations is True, must be a number of iterations, 1 or more"),
    ],
)
def test_bounds_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        minilite.Interpreter(model_content=relu_chain(), **options)


def test_a_bound_as_text() -> None:
    with pytest.raises(ArenaError, match="max_bytes is 1000"):
        minilite.Interpreter(model_content=relu_chain(size=1000), max_bytes="1 kB").allocate_tensors()


# Giving back ----------------------------------------------------------------------------------------------------------


@needs_reserved
@needs_system
def test_runs_free_memory_of_a_large_unused_size() -> None:
    interpreter = ready(relu_chain())
    resized(interpreter, 4)
    interpreter.invoke()
    big = 1_000_000
    resized(interpreter, big)
    interpreter.invoke()
    held = interpreter.usage
    assert held.resident_bytes >= 4 * big
    resized(interpreter, 4)
    for _ in range(300):
        interpreter.invoke()
    assert interpreter.counters["given_back"] == 1
    assert interpreter.usage.arena_capacity <= mmap.PAGESIZE
    assert interpreter.usage.resident_bytes <= mmap.PAGESIZE
    assert interpreter.usage.taken_bytes <= interpreter.usage.arena_capacity + mmap.PAGESIZE  # and the input
    resized(interpreter, big)
    x, y = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    interpreter.set_tensor(x, np.arange(big, dtype=np.float32))
    interpreter.invoke()
    assert np.array_equal(interpreter.get_tensor(y), np.arange(big))


@needs_reserved
@needs_system
def test_sizes_that_take_turns_settle() -> None:
    """Runs a large size every 200 runs. Memory that was given back too early is kept longer the next time, until none
    is given back."""
    interpreter = ready(relu_chain())
    given = []
    for _ in range(12):
        for size in (4, 1_000_000):
            resized(interpreter, size)
            for _ in range(200 if size == 4 else 1):
                interpreter.invoke()
        given.append(interpreter.counters["given_back"])
    assert 1 <= given[-1] <= 3
    assert given[-1] == given[5]


@needs_reserved
@needs_system
def test_a_view_keeps_its_values_when_unused_memory_is_freed() -> None:
    interpreter = ready(relu_chain())
    resized(interpreter, 1_000_000)
    interpreter.invoke()
    resized(interpreter, 4)
    x, y = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    view = interpreter.tensor(y)()
    interpreter.set_tensor(x, floats(1, -2, 3, -4))
    for _ in range(300):
        interpreter.invoke()
    assert interpreter.counters["given_back"] == 1
    assert view.tolist() == [1, 0, 3, 0]
    interpreter.set_tensor(x, floats(-1, 2, -3, 4))
    interpreter.invoke()
    assert view.tolist() == [0, 2, 0, 4]


@needs_system
def test_page_faults_are_counted_in_runs_with_fresh_memory() -> None:
    interpreter = ready(relu_chain(), in_place="none")
    resized(interpreter, 1_000_000)
    interpreter.invoke()
    first = interpreter.counters["page_faults"]
    assert first > 0
    for _ in range(3):
        interpreter.invoke()
    assert interpreter.counters["page_faults"] == first


def test_multipliers_of_weights_without_bytes_are_limited() -> None:
    """Weights of 2^30 rows that are no constant: the file has a kilobyte, their multipliers would have 8 GiB."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    scale = Quantization((0.5,), (0,))
    x = graph.input("x", (1, 1), TensorType.INT8, quantization=scale)
    w = graph.input("w", (1 << 30, 1), TensorType.INT8, quantization=scale)
    y = graph.node("FULLY_CONNECTED", [x, w, -1], out=("y", (1, 1 << 30), TensorType.INT8, scale))
    graph.output(y)
    with pytest.raises(UnsupportedOpError, match=r"\d+ bytes of multipliers and tables, at most 268435456"):
        ready(builder.build())
