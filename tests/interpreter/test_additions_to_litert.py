"""Additions to LiteRT's class: open files, `with`, copies and pickles, real numbers, tables in notebooks."""

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import Array, floats, graph_with, one_signature, ready, relu_chain, resized, run
from conformance.test_mended_results import counters

import minilite
from minilite import InputError, Interpreter, StateError
from minilite.engine.engine import engine_of
from minilite.errors import InputTypeError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization


def byte_net() -> bytes:
    """int8 x, scale 0.5, zero point 3 -> RELU -> int8 y of the same."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    scale = Quantization((0.5,), (3,))
    x = graph.input("x", (4,), TensorType.INT8, quantization=scale)
    y = graph.tensor("y", (4,), TensorType.INT8, quantization=scale)
    graph.node("RELU", [x], [y])
    graph.output(y)
    return builder.build()


# Opening and closing --------------------------------------------------------------------------------------------------


def test_a_model_is_read_from_an_open_file(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(relu_chain())
    with path.open("rb") as file:
        assert run(ready_of(Interpreter(file)), floats(-1, 2, -3, 4))[0].tolist() == [0, 2, 0, 4]
    held = io.BytesIO(relu_chain())
    assert run(ready_of(Interpreter(model_content=held)), floats(1, 2, 3, 4))[0].tolist() == [1, 2, 3, 4]


def ready_of(interpreter: Interpreter) -> Interpreter:
    interpreter.allocate_tensors()
    return interpreter


def test_with_gives_memory_back_and_the_interpreter_can_be_used_again() -> None:
    with Interpreter(model_content=relu_chain()) as interpreter:
        resized(interpreter, 100_000)
        assert interpreter.usage.arena_capacity > 0
    assert interpreter.usage.arena_capacity == 0
    with pytest.raises(StateError, match="allocate_tensors"):
        interpreter.invoke()
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.full(100_000, 2, np.float32))
    interpreter.invoke()
    assert interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).sum() == 200_000


def test_close_under_a_view_is_refused() -> None:
    interpreter = ready(relu_chain())
    view = interpreter.tensor(0)()
    with pytest.raises(StateError, match="view"):
        interpreter.close()
    view[:] = 3
    interpreter.invoke()
    del view
    interpreter.close()


def test_nothing_is_logged_unless_enabled(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    run(ready(relu_chain()), floats(1, 2, 3, 4))
    assert caplog.records == []
    with caplog.at_level("DEBUG", "minilite"):
        run(ready(relu_chain(), num_threads=2), floats(1, 2, 3, 4))
    (record,) = caplog.records
    assert record.name == "minilite"
    assert record.getMessage() == "subgraph 0: 3 nodes, 4 tensors, at most 2 threads per run"
    assert capfd.readouterr() == ("", "")


# Copies ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda i: pickle.loads(pickle.dumps(i))])
def test_copies_have_the_shapes_and_what_runs_keep(way: Any) -> None:
    first = ready(counters(2), max_iterations=7)
    resized(first, 1)
    assert first.get_signature_runner("a")(x=floats(5))["total"] == 6  # CALL_ONCE has set it to 1
    second = way(first)
    assert second.get_signature_runner("b")(x=floats(2))["total"] == 8
    assert first.get_signature_runner("b")(x=floats(1))["total"] == 7  # its own
    assert vars(engine_of(second).options) == vars(engine_of(first).options)


@pytest.mark.parametrize("way", [copy.deepcopy, lambda i: pickle.loads(pickle.dumps(i))])
def test_requested_shapes_and_those_in_force_are_copied(way: Any) -> None:
    first = ready(relu_chain())
    resized(first, 9)
    second = way(first)
    second.invoke()
    assert second.get_tensor(0).shape == (9,)
    first.resize_tensor_input(0, (5,))
    third = way(first)
    assert third.get_input_details()[0]["shape"].tolist() == [5]
    early = Interpreter(model_content=relu_chain())
    early.resize_tensor_input(0, (6,))
    fourth = ready_of(way(early))
    assert fourth.get_tensor(0).shape == (6,)


def test_variable_tensors_are_copied() -> None:
    def build(g: Any) -> list[int]:
        x = g.input("x", (1, 3))
        state = g.variable("state", (1, 4))
        features = g.constant("features", np.ones((2, 3), np.float32))
        times = g.constant("times", np.ones((2, 2), np.float32))
        return [g.node("SVDF", [x, features, times, -1, state], out=("y", (1, 2)), options={"rank": 1})]

    first = ready(graph_with(build))
    x = np.ones((1, 3), np.float32)
    run(first, x)
    second = pickle.loads(pickle.dumps(first))
    assert np.array_equal(run(second, x)[0], run(first, x)[0])
    assert run(second, x)[0][0, 0] == 6


def in_another_process(interpreter: Interpreter, x: Array) -> Array:
    return interpreter.run(x)["y2"]


def test_runners_of_signatures_are_pickled_with_their_interpreters() -> None:
    runner = ready(one_signature()).get_signature_runner()
    runner(a=floats(1, -2, 3, -4)[None])
    for other in (pickle.loads(pickle.dumps(runner)), copy.deepcopy(runner)):
        assert other._interpreter is not runner._interpreter
        assert other(a=floats(-1, 2, -3, 4)[None])["b"].tolist() == [[0, 2, 0, 4]]


def test_a_plan_in_force_is_not_pickled_but_one_of_its_own_is() -> None:
    plan = ready(one_signature()).plan
    assert plan is not None
    with pytest.raises(TypeError, match=r"^a plan belongs to its interpreter, .*\.to_memory_plan\(\)"):
        pickle.dumps(plan)
    own = plan.to_memory_plan()
    assert pickle.loads(pickle.dumps(own)) == own


def test_spawn_takes_an_interpreter_along() -> None:
    interpreter = ready(relu_chain())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(in_another_process, (interpreter, floats(-1, 2, 3, -4)))
    assert found.tolist() == [0, 2, 3, 0]


# Real numbers ---------------------------------------------------------------------------------------------------------


def test_real_numbers_in_and_out() -> None:
    interpreter = ready(byte_net())
    found = interpreter.run_real([-1.0, 0.24, 0.26, 1000.0])
    assert found["y"].dtype == np.float32
    assert found["y"].tolist() == [0.0, 0.0, 0.5, 62.0]  # (127 - 3) / 2 is the largest
    assert interpreter.get_tensor(0).tolist() == [1, 3, 4, 127]
    assert interpreter.run_real({"x": [1, 2, 3, 4]})["y"].tolist() == [1, 2, 3, 4]
    with pytest.raises(InputError, match="got 2 arrays, inputs are x: one array per input"):
        interpreter.run_real([1], [2])
    plain = ready(relu_chain())
    assert plain.run_real(np.array([1, -2, 3, -4], np.float64))["y2"].tolist() == [1, 0, 3, 0]


def test_a_number_as_a_model_is_refused() -> None:
    with pytest.raises(InputTypeError, match="an open file"):
        minilite.Interpreter(17)  # type: ignore[arg-type]
