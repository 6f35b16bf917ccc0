"""Operator order: the search finds lower peaks, never changes answers, and leaves side effects where they are."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

from minilite import Interpreter
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.memory import order
from minilite.memory.order import OrderNode, lower_peak_order, peak_of


def branches(count: int, big: int = 64) -> bytes:
    """Each branch widens its input and narrows it again; the file runs all widenings first."""
    b = ModelBuilder()
    g = b.subgraph("main")
    x = g.input("x", (1, 4), TensorType.FLOAT32)
    rng = np.random.default_rng(0)
    wide, narrow = [], []
    for k in range(count):
        w = g.constant(f"w{k}", rng.standard_normal((big, 4)).astype(np.float32))
        wide.append(g.node("FULLY_CONNECTED", [x, w, -1], out=(f"wide{k}", (1, big), TensorType.FLOAT32)))
    for k, y in enumerate(wide):
        w = g.constant(f"v{k}", rng.standard_normal((4, big)).astype(np.float32))
        narrow.append(g.node("FULLY_CONNECTED", [y, w, -1], out=(f"narrow{k}", (1, 4), TensorType.FLOAT32)))
    total = narrow[0]
    for k, y in enumerate(narrow[1:]):
        total = g.node("ADD", [total, y], out=(f"sum{k}", (1, 4), TensorType.FLOAT32))
    g.output(total)
    return b.build()


def test_reordering_lowers_the_arena_and_keeps_the_answer() -> None:
    model = branches(4)
    x = np.arange(4, dtype=np.float32)[None]
    plain, reordered = Interpreter(model_content=model), Interpreter(model_content=model, reorder=True)
    (want,), (got,) = plain.run({"x": x}).values(), reordered.run({"x": x}).values()
    np.testing.assert_array_equal(got, want)
    assert reordered.arena_bytes < plain.arena_bytes


def test_the_original_is_kept_unless_strictly_better() -> None:
    nodes = [OrderNode([0], [1]), OrderNode([1], [2])]
    assert lower_peak_order(nodes, [64, 64, 64], [0], [2]) is None


@pytest.mark.parametrize("seed", range(20))
def test_small_graphs_against_every_order(seed: int) -> None:
    rng = random.Random(seed)
    sizes = [rng.choice([0, 16, 64, 256]) for _ in range(7)]
    nodes = [OrderNode(rng.sample(range(t), min(t, rng.choice([1, 2]))), [t]) for t in range(1, 7)]
    inputs, outputs = [0], [6]

    def valid(order: tuple[int, ...]) -> bool:
        return all(t == 0 or order.index(t - 1) < at for at, n in enumerate(order) for t in nodes[n].inputs)

    orders = [o for o in itertools.permutations(range(6)) if valid(o)]
    best = min(peak_of([nodes[n] for n in o], sizes, inputs, outputs) for o in orders)
    found = lower_peak_order(nodes, sizes, inputs, outputs)
    order = found if found is not None else list(range(6))
    assert valid(tuple(order))
    assert peak_of([nodes[n] for n in order], sizes, inputs, outputs) == best


def pairs(count: int) -> tuple[list[OrderNode], list[int], list[int], list[int]]:
    """Returns nodes that may all come first, then a reader of each."""
    nodes = [OrderNode([0], [2 * i + 1]) for i in range(count)]
    nodes += [OrderNode([2 * i + 1], [2 * i + 2]) for i in range(count)]
    return nodes, [64] + [256, 16] * count, [0], list(range(2, 2 * count + 1, 2))


def wide(operands: int) -> tuple[list[OrderNode], list[int], list[int], list[int]]:
    """Pairs, before them nodes that read many tensors each and may always come next."""
    nodes, sizes, _, _ = pairs(100)
    first = len(sizes)
    given = [0, *range(first, first + operands)]
    last = first + operands
    readers = [OrderNode(given, [last + i]) for i in range(64)]
    return readers + nodes, sizes + [1] * operands + [10] * 64, given, [200]


@pytest.mark.parametrize(
    ("graph", "found"),
    [(pairs(120), True), (pairs(2000), False), (pairs(20_000), False), (wide(2000), False), (wide(20_000), False)],
    ids=["pairs", "many pairs", "more pairs than masks are for", "wide nodes", "nodes too wide to try"],
)
def test_search_is_bounded(graph: Any, found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search counts its steps (operands of the nodes it tries, words of masks), and stops at a limit."""
    looked_at = 0

    def counted(self: Any, at: Any, number: int) -> Any:
        nonlocal looked_at
        touched = len(self.inputs[number] | self.outputs[number])
        looked_at += (1 + touched) * (1 + len(graph[0]) // 2500)
        return run(self, at, number)

    run = order._Graph.run
    monkeypatch.setattr(order._Graph, "run", counted)
    assert (lower_peak_order(*graph) is not None) == found
    assert looked_at <= 3 * 500_000  # the peak of the order as it is, the search, and one round more


def test_tensors_without_bytes_are_written_before_they_are_read() -> None:
    b = ModelBuilder()
    g = b.subgraph("main")
    x = g.input("x", (64, 8))
    wide = g.node("CONCATENATION", [x, x, x], out=("wide", (192, 8)), options={"axis": 0})
    begin, size = g.constant("begin", np.array([0, 0], np.int32)), g.constant("size", np.array([0, 8], np.int32))
    none = g.node("SLICE", [x, begin, size], out=("none", (0, 8)))
    reader = g.node("CONCATENATION", [none, none, x], out=("reader", (64, 8)), options={"axis": 0})
    g.output(wide, g.node("SLICE", [reader, begin, size], out=("last", (0, 8))))
    y = Interpreter(model_content=b.build(), reorder=True).run({"x": np.zeros((64, 8), np.float32)})
    assert [a.shape for a in y.values()] == [(192, 8), (0, 8)]


def test_side_effects_stay_where_they_are() -> None:
    b = ModelBuilder()
    g = b.subgraph("main")
    x = g.input("x", (1, 4), TensorType.FLOAT32)
    y = g.node("Log", [x], out=("y", (1, 400), TensorType.FLOAT32), custom=True)
    z = g.node("Log", [x], out=("z", (1, 4), TensorType.FLOAT32), custom=True)
    for tensor in (y, z):
        g.output(tensor)
    seen: list[int] = []

    def log(node: object, value: np.ndarray) -> np.ndarray:
        size = 400 if getattr(node, "index", 0) == 0 else 4
        seen.append(size)
        return np.zeros((1, size), np.float32)

    Interpreter(model_content=b.build(), custom_ops={"Log": log}, reorder=True).run({"x": np.zeros((1, 4), np.float32)})
    assert seen == [400, 4]
