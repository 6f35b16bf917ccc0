"""A model that trains on the device: the signatures infer, train, save and restore share variables, used as weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import COUNTER, F32, Array, agree, below, floats, integer, loop, next_count, variable
from support import peer

import minilite
from minilite._native.kernels import level_names
from minilite.format.builder import ModelBuilder

NONE = {"fused_activation_function": "NONE"}
TRANSPOSED = {"adj_x": False, "adj_y": True}
STEPS, RATE, DEPTH = 20, 0.2, 5


def read(graph: Any, name: str, shape: tuple[int, ...]) -> int:
    """The value of a variable."""
    value: int = graph.node("READ_VARIABLE", [variable(graph, name)], out=(f"{name}_read", shape))
    return value


def assign(graph: Any, name: str, value: int) -> None:
    graph.node("ASSIGN_VARIABLE", [variable(graph, name), value])


def trained() -> bytes:
    """y = x w + b, and the step that moves w and b against the gradient of the mean squared error."""
    builder = ModelBuilder()
    infer, init, train, save, restore = (
        builder.subgraph(name) for name in ("infer", "init", "train", "save", "restore")
    )
    assign(init, "w", init.constant("w0", np.zeros((1, DEPTH), np.float32)))
    assign(init, "b", init.constant("b0", np.zeros(1, np.float32)))
    made = {}
    for graph in (infer, train):
        graph.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
        x = graph.input(f"{graph.name}_x", (1, DEPTH), signature=(-1, DEPTH))
        w, b = read(graph, "w", (1, DEPTH)), read(graph, "b", (1,))
        product = graph.node("BATCH_MATMUL", [x, w], out=("product", (1, 1)), options=TRANSPOSED)
        made[graph] = x, w, b, graph.node("ADD", [product, b], out=(f"{graph.name}_y", (1, 1)), options=NONE)
    x, *_, y = made[infer]
    infer.output(y)
    builder.signature("infer", {"x": x}, {"y": y}, infer)
    x, w, b, y = made[train]
    wanted = train.input("wanted", (1, 1), signature=(-1, 1))
    error = train.node("SUB", [y, wanted], out=("error", (1, 1)), options=NONE)
    rows, all_axes = train.constant("rows", np.array([0], np.int32)), train.constant("all", np.array([0, 1], np.int32))
    square = train.node("SQUARE", [error], out=("square", (1, 1)))
    loss = train.node("MEAN", [square, all_axes], out=("loss", ()), options={"keep_dims": False})
    rate = train.constant("rate", floats(RATE))
    slope = train.node("MUL", [error, x], out=("slope", (1, DEPTH)), options=NONE)
    for name, old, of, keep, shape in (("w", w, slope, True, (1, DEPTH)), ("b", b, error, False, (1,))):
        mean = train.node("MEAN", [of, rows], out=(f"{name}_mean", shape), options={"keep_dims": keep})
        step = train.node("MUL", [mean, rate], out=(f"{name}_step", shape), options=NONE)
        assign(train, name, train.node("SUB", [old, step], out=(f"{name}_new", shape), options=NONE))
    train.output(loss)
    builder.signature("train", {"x": x, "y": wanted}, {"loss": loss}, train)
    values = read(save, "w", (1, DEPTH)), read(save, "b", (1,))
    save.output(*values)
    builder.signature("save", {}, dict(zip("wb", values, strict=True)), save)
    given = restore.input("w", (1, DEPTH)), restore.input("b", (1,))
    for name, value in zip("wb", given, strict=True):
        assign(restore, name, value)
    done = restore.node("ADD", [*given], out=("done", (1, DEPTH)), options=NONE)
    restore.output(done)
    builder.signature("restore", dict(zip("wb", given, strict=True)), {"done": done}, restore)
    return builder.build()


def batches() -> list[tuple[Array, Array]]:
    """Rows of a known function with noise; the last batch is smaller."""
    rng = np.random.default_rng(1)
    made = []
    for step in range(STEPS):
        x = rng.normal(size=(16 if step < STEPS - 1 else 3, DEPTH)).astype(np.float32)
        noise = rng.normal(size=(len(x), 1)) / 10
        made.append((x, (x @ np.arange(-2, 3)[:, None] + 1 + noise).astype(np.float32)))
    return made


def losses(interpreter: Any) -> list[float]:
    """The loss of each step; the variables are trained afterwards."""
    train = interpreter.get_signature_runner("train")
    return [float(train(x=x, y=y)["loss"]) for x, y in batches()]


X = np.linspace(-1, 1, 2 * DEPTH, dtype=np.float32).reshape(2, DEPTH)


def infer(interpreter: Any) -> Array:
    found: Array = interpreter.get_signature_runner("infer")(x=X)["y"]
    return found


@pytest.mark.parametrize("level", level_names())
def test_each_step_sees_the_weights_of_the_one_before(level: str) -> None:
    model = trained()
    interpreter = minilite.Interpreter(model_content=model, level=level)
    found = losses(interpreter)
    w, b = np.zeros((1, DEPTH)), np.zeros(1)
    for (x, y), loss in zip(batches(), found, strict=True):
        error = x @ w.T + b - y
        assert loss == pytest.approx(np.mean(error**2), rel=1e-4)
        w, b = w - RATE * np.mean(error * x, axis=0, keepdims=True), b - RATE * np.mean(error, axis=0)
    assert found[-1] < found[0] / 20
    np.testing.assert_allclose(infer(interpreter), X @ w.T + b, rtol=1e-4, atol=1e-5)


@peer.needed
@pytest.mark.parametrize("kernels", ["BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO"])
def test_the_losses_are_those_of_litert(kernels: str) -> None:
    model = trained()
    resolver = getattr(peer.interpreter.OpResolverType, kernels)
    theirs = peer.interpreter.Interpreter(model_content=model, experimental_op_resolver_type=resolver)
    ours = minilite.Interpreter(model_content=model)
    np.testing.assert_allclose(losses(ours), losses(theirs), rtol=1e-5)
    np.testing.assert_allclose(infer(ours), infer(theirs), rtol=1e-5)
    saved, expected = (one.get_signature_runner("save")() for one in (ours, theirs))
    for name in "wb":
        np.testing.assert_allclose(saved[name], expected[name], rtol=1e-5)


def restored(interpreter: minilite.Interpreter, value: float) -> None:
    """Sets all weights to the value, and the bias to 0, by another signature."""
    w = np.full((1, DEPTH), value, np.float32)
    interpreter.get_signature_runner("restore")(w=w, b=floats(0))


SUMS = X.sum(axis=1, keepdims=True)


def test_another_signature_a_clone_and_a_snapshot_change_the_weights() -> None:
    interpreter = minilite.Interpreter(model_content=trained())
    assert infer(interpreter).tolist() == [[0], [0]]
    restored(interpreter, 1)
    np.testing.assert_allclose(infer(interpreter), SUMS, rtol=1e-6)
    one = interpreter.get_state()
    clone = interpreter.clone()
    assert infer(clone).tolist() == [[0], [0]]
    restored(clone, 3)
    for value, each in ((1, interpreter), (3, clone)):
        np.testing.assert_allclose(infer(each), value * SUMS, rtol=1e-6)
    interpreter.set_state(clone.get_state())
    np.testing.assert_allclose(infer(interpreter), 3 * SUMS, rtol=1e-6)
    clone.set_state(one)
    np.testing.assert_allclose(infer(clone), SUMS, rtol=1e-6)
    interpreter.reset_resources()
    assert infer(interpreter).tolist() == [[0], [0]]


# One run --------------------------------------------------------------------------------------------------------------


def product(graph: Any, x: int, w: int, name: str) -> int:
    """x times the weights, by FULLY_CONNECTED."""
    options = NONE | {"weights_format": "DEFAULT", "keep_num_dims": False}
    y: int = graph.node("FULLY_CONNECTED", [x, w, -1], out=(name, (2, 2)), options=options)
    return y


SQUARE = ((2, 2), F32)
ROWS = floats(1, 2, 3, 4).reshape(2, 2)


def test_weights_assigned_between_two_products_of_one_run() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, first, second = (graph.input(name, *SQUARE) for name in ("x", "first", "second"))
    results = []
    for number, given in enumerate((first, second)):
        assign(graph, "w", given)
        value = graph.node("READ_VARIABLE", [variable(graph, "w")], out=(f"w{number}", (2, 2)))
        results.append(product(graph, x, value, f"y{number}"))
    graph.output(*results)
    for found, (a, b) in zip(
        agree(builder.build(), *[[ROWS, n * ROWS, ROWS - n] for n in range(3)]),
        [(n * ROWS, ROWS - n) for n in range(3)],
        strict=True,
    ):
        np.testing.assert_array_equal(found, [ROWS @ a.T, ROWS @ b.T])


def test_weights_assigned_in_each_turn_of_a_loop() -> None:
    def body(graph: Any, carries: list[int]) -> list[int]:
        assign(graph, "w", carries[2])
        y = product(graph, carries[1], read(graph, "w", (2, 2)), "y")
        return [next_count(graph, carries[0]), carries[1], y]

    model = loop([COUNTER, ("x", *SQUARE), ("w", *SQUARE)], below(3), body)
    for found, n in zip(agree(model, *[[integer(0), n * ROWS, ROWS] for n in (1, 2)]), (1, 2), strict=True):
        expected = ROWS
        for _ in range(3):
            expected = n * ROWS @ expected.T
        np.testing.assert_array_equal(found[2], expected)
