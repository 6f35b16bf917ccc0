"""get_state and set_state: what a model keeps from run to run, as a value."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from built import accumulator, floats, ready, relu_chain

from minilite import Interpreter
from minilite.errors import InputError
from minilite.format.builder import ModelBuilder


def averaging(size: int = 3) -> bytes:
    """An SVDF of rank 1, whose variable tensor holds the last frames."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 2))
    features = graph.constant("features", np.arange(2.0 * size, dtype=np.float32).reshape(size, 2))
    times = graph.constant("times", np.linspace(1, 2, 4 * size, dtype=np.float32).reshape(size, 4))
    memory = graph.variable("frames", (1, size * 4))
    options = {"rank": 1, "fused_activation_function": "NONE"}
    graph.output(graph.node("SVDF", [x, features, times, -1, memory], out=("y", (1, size)), options=options))
    return builder.build()


def step(interpreter: Interpreter, x: Any) -> Any:
    return next(iter(interpreter.run(x).values()))


MODELS = [(averaging, (1, 2)), (accumulator, (4,))]


@pytest.mark.parametrize(("model", "shape"), MODELS)
def test_branches_of_a_stream_equal_replays(model: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    interpreter, other = ready(model()), ready(model())
    known: list[tuple[list[Any], Any]] = [([], interpreter.get_state())]
    for number in range(100):
        before, state = known[rng.integers(len(known))]
        one = (interpreter, other)[number % 2]
        one.set_state(state)
        frames = [*before, rng.normal(size=shape).astype(np.float32)]
        found = step(one, frames[-1])
        fresh = ready(model())
        replayed = [step(fresh, frame) for frame in frames]
        assert np.array_equal(found, replayed[-1])
        known.append((frames, one.get_state()))
    assert len({state == known[0][1] for _, state in known}) == 2


@pytest.mark.parametrize(("model", "shape"), MODELS)
def test_snapshot_is_a_value(model: Any, shape: tuple[int, ...]) -> None:
    interpreter = ready(model())
    empty = interpreter.get_state()
    step(interpreter, np.ones(shape, np.float32))
    state = interpreter.get_state()
    assert state != empty
    assert pickle.loads(pickle.dumps(state)) == state
    new = Interpreter(model())
    new.set_state(state)
    assert new.get_state() == state
    assert state.nbytes >= 16
    interpreter.set_state(empty)
    assert interpreter.get_state() == empty


def test_snapshot_of_another_model_is_refused() -> None:
    interpreter = ready(averaging())
    step(interpreter, np.ones((1, 2), np.float32))
    before = interpreter.get_state()
    for other, message in (
        (averaging(5), r"subgraph 0 has the variable 'frames' \(FLOAT32 of shape \(1, 12\)\), it has 'frames'"),
        (relu_chain(), "subgraph 0 has 1 variables, it has 0"),
        (accumulator(), "of another model"),
    ):
        with pytest.raises(InputError, match=message):
            interpreter.set_state(ready(other).get_state())
    with pytest.raises(InputError, match="the state is of type int, must be what get_state"):
        interpreter.set_state(1)  # type: ignore[arg-type]
    assert interpreter.get_state() == before


def test_resources_of_another_model_are_refused() -> None:
    interpreter, other = ready(accumulator()), ready(relu_chain())
    step(interpreter, floats(1, 2, 3, 4))
    with pytest.raises(InputError, match="this one has the resources"):
        other.set_state(interpreter.get_state())
