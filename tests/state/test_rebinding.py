"""Binding other buffers, or the same ones again, while a plan is in use."""

from __future__ import annotations

import numpy as np
from built import (
    bound,
    count_since,
    floats,
    relu_chain,
    zeros,
)

from minilite.engine.engine import engine_of
from minilite.format.builder import ModelBuilder


def test_other_buffers_of_the_same_tensors_only_change_pointers() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (4,))
    state = graph.variable("state", (4,))
    graph.output(graph.node("ADD", [x, state], out=("y", (4,))))
    buffers = [(floats(1, 2, 3, 4), zeros(4)), (floats(5, 6, 7, 8), zeros(4))]
    interpreter = bound(builder.build(), {"x": buffers[0][0], "y": buffers[0][1]})
    interpreter.set_tensor(state, floats(1, 1, 1, 1))

    def step(at: int) -> None:
        interpreter.bind_tensor("x", buffers[at][0])
        interpreter.bind_tensor("y", buffers[at][1])
        interpreter.allocate_tensors()
        interpreter.invoke()

    counted = count_since(interpreter, lambda: [step(at) for at in (1, 0, 1, 0)])
    assert (counted["rebinds"], counted["plans"], counted["resolves"], counted["nodes_prepared"]) == (4, 0, 0, 0)
    assert [out.tolist() for _, out in buffers] == [[2, 3, 4, 5], [6, 7, 8, 9]]  # variables live on
    assert not any(v for k, v in count_since(interpreter, interpreter.invoke).items() if k != "invokes")
    assert np.shares_memory(interpreter.tensor(0)(), buffers[0][0])


def test_variables_live_on_exactly_if_no_shape_is_requested() -> None:
    """Binding the same buffer again changes as little as binding another one; variables are reset after a change of
    shapes and back, whatever is bound."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (4,), signature=(-1,))
    state = graph.variable("state", (1,))
    y = graph.node("ADD", [x, state], out=("y", (4,)))
    graph.output(y)
    first, second = floats(1, 2, 3, 4), floats(5, 6, 7, 8)
    interpreter = bound(builder.build(), {"x": first})
    for array, back_and_forth, kept in ((first, False, 1), (second, False, 1), (second, True, 0), (first, True, 0)):
        interpreter.set_tensor(state, floats(1))
        interpreter.bind_tensor("x", array)
        if back_and_forth:
            interpreter.resize_tensor_input("x", (3,))
            interpreter.resize_tensor_input("x", (4,))
        interpreter.allocate_tensors()
        assert interpreter.get_tensor(state) == kept
        interpreter.invoke()
        assert interpreter.get_tensor(y).tolist() == (array + kept).tolist()


def test_rebinding_after_memory_was_released() -> None:
    interpreter = bound(relu_chain(), {0: floats(1, 2, 3, 4)}, in_place="none")
    engine_of(interpreter).session().release_memory()
    interpreter.bind_tensor(0, floats(5, 6, 7, 8))
    interpreter.allocate_tensors()
    interpreter.invoke()
    assert interpreter.get_tensor(3).tolist() == [5, 6, 7, 8]
