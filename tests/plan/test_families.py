"""Sizes of one graph, planned by several interpreters that share what they have in common."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np

import minilite
from minilite import memory
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.model import Quantization

F32 = TensorType.FLOAT32


def branches() -> bytes:
    """A model of any number of rows, with tensors of several sizes, some of which live long."""
    built = ModelBuilder()
    graph = built.subgraph()
    x = graph.input("x", (4, 6), F32)
    long = graph.node("ABS", [x], out=("long", (4, 6), F32))
    now = x
    for n in range(6):
        one = graph.node("NEG", [now], out=(f"negative{n}", (4, 6), F32))
        wide = graph.node("CONCATENATION", [one, now, long], out=(f"wide{n}", (4, 18), F32), options={"axis": 1})
        axes = graph.constant(f"axes{n}", np.array([1], np.int32))
        total = graph.node("SUM", [wide, axes], out=(f"total{n}", (4, 1), F32), options={"keep_dims": True})
        now = graph.node("ADD", [one, total], out=(f"sum{n}", (4, 6), F32))
    graph.output(now)
    return built.build()


def answer(interpreter: minilite.Interpreter, rows: int) -> np.ndarray[Any, Any]:
    """The output for `rows` rows, and a check of the plan that was used."""
    x = np.arange(rows * 6, dtype=np.float32).reshape(rows, 6) % 17 - 8
    got = interpreter.run({"x": x})
    made = interpreter.plan.to_memory_plan()
    memory.check(made.records, made.offsets)
    return next(iter(got.values()))


def test_clones_plan_sizes_at_once() -> None:
    """Eight clones, each in a thread of its own, give the answers of a fresh interpreter, whatever others plan."""
    model = branches()
    sizes = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144]
    expected = {rows: answer(minilite.Interpreter(model_content=model), rows) for rows in sizes}
    first = minilite.Interpreter(model_content=model)
    clones = [first.clone() for _ in range(8)]
    wrong: list[object] = []
    begin = threading.Barrier(len(clones))

    def work(number: int) -> None:
        draw = random.Random(number)
        begin.wait()
        try:
            for _ in range(25):
                rows = draw.choice(sizes)
                if draw.random() < 0.2:
                    clones[number].trim()
                if not np.array_equal(answer(clones[number], rows), expected[rows]):
                    wrong.append((number, rows))
        except Exception as error:  # noqa: BLE001 - the test shows it
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(clones))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_plan_stays_as_it_is_when_a_clone_plans() -> None:
    """A plan that was handed out never changes."""
    one = minilite.Interpreter(model_content=branches())
    one.run({"x": np.zeros((7, 6), np.float32)})
    plan = one.plan
    before = plan.records()
    other = one.clone()
    for rows in range(1, 40):
        other.run({"x": np.zeros((rows, 6), np.float32)})
    assert plan.records() == before


def with_large_scratch() -> bytes:
    """A model of any number of rows whose products quantize their input into scratch of 72 bytes a row."""
    built = ModelBuilder()
    graph = built.subgraph()
    now = graph.input("x", (1, 64), F32)
    rng = np.random.default_rng(5)
    for n in range(4):
        weights = graph.constant(
            f"weights{n}", rng.integers(-9, 9, (64, 64)).astype(np.int8), quantization=Quantization((0.01,), (0,))
        )
        product = graph.node("FULLY_CONNECTED", [now, weights, -1], out=(f"product{n}", (1, 64), F32))
        now = graph.node("ADD", [now, product], out=(f"sum{n}", (1, 64), F32))
    graph.output(now)
    return built.build()


def test_scratch_that_moves_between_the_work_block_and_the_arena() -> None:
    """Up to 64 KiB it lies in the work block, and its record has no bytes; each plan is checked and near its bound."""
    model = with_large_scratch()
    last = len(minilite.load_model(model).subgraphs[0].tensors) - 1
    one = minilite.Interpreter(model_content=model)
    for rows in (10, 100, 900, 905, 915, 3000, 905, 64, 3001, 905, 5000, 10, 930, 900):
        x = np.arange(rows * 64, dtype=np.float32).reshape(rows, 64) % 11 - 5
        got, expected = (
            next(iter(interpreter.run({"x": x}).values()))
            for interpreter in (one, minilite.Interpreter(model_content=model))
        )
        assert np.array_equal(got, expected)
        made = one.plan.to_memory_plan()
        memory.check(made.records, made.offsets)
        assert all(record.size > 0 for record in made.records)
        scratch = [record for record in made.records if record.tensor > last]
        assert len(scratch) == (4 if rows > 910 else 0), rows
        assert one.arena_bytes <= one.usage.bound_bytes * 9 // 8
