"""The store of packed weights: asked once per node and layout, for any number of sizes, plans and threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from built import Array, count_since, graph_with, ready, run
from processes import patience
from support.weighted import window_options

import minilite
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

WIDTH = 4
NARROW, WIDE = 1, 24
"""Widths of an image between which the convolution of `convolution` changes the layout of its weights."""


def layers(nodes: int) -> tuple[bytes, list[Array]]:
    """x (any number of rows) through so many FULLY_CONNECTED with weights of their own; the weights."""
    rng, weights = np.random.default_rng(nodes), []
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, WIDTH), signature=(-1, WIDTH))
    for n in range(nodes):
        weights.append(rng.uniform(-0.6, 0.6, (WIDTH, WIDTH)).astype(np.float32))
        x = graph.node("FULLY_CONNECTED", [x, graph.constant(f"w{n}", weights[-1])], out=(f"y{n}", (1, WIDTH)))
    graph.output(x)
    return builder.build(), weights


def convolution() -> bytes:
    """A CONV_2D of bytes whose weights are packed in one order for wide images and in another one for narrow ones."""
    rng = np.random.default_rng(0)

    def build(g: Any) -> list[int]:
        step, size = Quantization((0.05,), (0,)), (1, 4, NARROW, 8)
        x = g.input("x", size, TensorType.INT8, quantization=step, signature=(1, -1, -1, 8))
        weights = rng.integers(-127, 128, (8, 3, 3, 8)).astype(np.int8)
        bias = g.constant("b", rng.integers(-99, 99, 8).astype(np.int32), quantization=Quantization((0.0005,), (0,)))
        inputs = [x, g.constant("w", weights, quantization=Quantization((0.01,), (0,))), bias]
        return [g.node("CONV_2D", inputs, out=("y", size, TensorType.INT8, step), options=window_options("SAME"))]

    return graph_with(build)


def lookups(interpreter: minilite.Interpreter, shape: tuple[int, ...]) -> int:
    """The number of times that the store is asked in a resize to this shape."""

    def resize() -> None:
        interpreter.resize_tensor_input(0, shape)
        interpreter.allocate_tensors()

    return count_since(interpreter, resize)["store_lookups"]


def convolved(interpreter: minilite.Interpreter, height: int, width: int) -> Any:
    """The result for an image of this size, as lists."""
    x = np.random.default_rng(width).integers(-127, 128, (1, height, width, 8)).astype(np.int8)
    lookups(interpreter, x.shape)
    return run(interpreter, x)[0].tolist()


def test_a_new_size_asks_the_store_for_nothing() -> None:
    model, weights = layers(40)
    interpreter = minilite.Interpreter(model_content=model)
    first = count_since(interpreter, interpreter.allocate_tensors)
    assert (first["plans"], first["store_lookups"]) == (1, len(weights))
    assert [lookups(interpreter, (rows, WIDTH)) for rows in (7, 3, 100)] == [0, 0, 0]
    assert interpreter.counters["plans"] == 4
    other = interpreter.clone()
    assert count_since(other, other.allocate_tensors)["store_lookups"] == 0


@pytest.mark.parametrize("nodes", [1, 16, 17, 300])
def test_every_node_gets_its_own_weights(nodes: int) -> None:
    """Every node gets its own weights, however many there are: the table in which they are found grows."""
    model, weights = layers(nodes)
    interpreter, x = ready(model), np.random.default_rng(0).uniform(-1, 1, (3, WIDTH)).astype(np.float32)
    lookups(interpreter, x.shape)
    expected = x.astype(np.float64)
    for w in weights:
        expected = expected @ w.T.astype(np.float64)
    np.testing.assert_allclose(run(interpreter, x)[0], expected, rtol=1e-4, atol=1e-30)


def test_another_layout_is_another_block() -> None:
    """Two sizes in turn, whose weights have different layouts, each get weights in their own layout."""
    interpreter, sizes = ready(convolution()), [(4, NARROW), (4, WIDE), (5, WIDE), (5, NARROW), (6, WIDE), (7, WIDE)]
    assert [lookups(interpreter, (1, *size, 8)) for size in sizes] == [0, 1, 0, 1, 1, 0]
    for size in sizes:
        assert convolved(interpreter, *size) == convolved(ready(convolution()), *size)


def test_threads_that_plan_at_once_share_what_nodes_remember() -> None:
    """Several threads, with an interpreter of one model each, change between two layouts: every plan gets weights in
    its layout."""
    first, sizes = ready(convolution()), [(4, NARROW), (4, WIDE), (5, NARROW)]
    expected = {size: convolved(ready(convolution()), *size) for size in sizes}
    wrong: list[tuple[int, int]] = []
    start = threading.Barrier(4)

    def work(seed: int) -> None:
        start.wait(patience(60))
        for turn in range(30):
            size = sizes[(seed + turn) % len(sizes)]
            if convolved(first.clone(), *size) != expected[size]:
                wrong.append(size)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience(60))
    assert not wrong


@pytest.mark.parametrize("kind", ["f32", "s8", "s16"])
def test_products_that_share_a_square_matrix(kind: str) -> None:
    """The second product turns it."""
    rng, builder = np.random.default_rng(7), ModelBuilder()
    graph = builder.subgraph()
    dtype, tensor_type = {
        "f32": (np.float32, TensorType.FLOAT32),
        "s8": (np.int8, TensorType.INT8),
        "s16": (np.int16, TensorType.INT16),
    }[kind]
    step = None if kind == "f32" else Quantization((0.5,), (0,))
    more = {} if step is None else {"quantization": step}
    x = graph.input("x", (5, 32), tensor_type, **more)
    matrix = rng.integers(-5, 6, (32, 32)).astype(dtype)
    y = graph.constant("y", matrix, **more)
    out = {} if step is None else {"z": step}
    for turned in (False, True):
        name = f"z{int(turned)}"
        place = (name, (5, 32)) if step is None else (name, (5, 32), tensor_type, out["z"])
        graph.output(graph.node("BATCH_MATMUL", [x, y], out=place, options={"adj_y": turned}))
    values = rng.integers(-3, 4, (5, 32)).astype(dtype)
    plain, turned = run(ready(builder.build()), values)
    scale = 1 if step is None else 0.5
    low, high = (-np.inf, np.inf) if step is None else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for found, factor in ((plain, matrix), (turned, matrix.T)):
        exact = values.astype(np.float64) @ factor.astype(np.float64) * scale
        assert np.abs(found - np.clip(exact, low, high)).max() <= (0 if step is None else 0.5)
