"""Two inputs, or two outputs, of one name: every way in refuses the name, or takes numbers; none forgets one."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import floats

import minilite
from minilite import InputError, Interpreter, Predictor
from minilite.batch.rebatched import rebatched
from minilite.cli import main
from minilite.errors import ModelFormatError
from minilite.format.builder import ModelBuilder
from minilite.litert.compiled_model import CompiledModel

ONE, OTHER = floats(1, 2)[None], floats(10, 20)[None]
NAMES = ["", "x"]


def equal_names(name: str = "") -> bytes:
    """Two inputs, tensors 0 and 1; their sum and their difference, tensors 2 and 3; all of one name."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    given = [graph.input(name, (1, 2)) for _ in range(2)]
    options = {"fused_activation_function": "NONE"}
    graph.output(*(graph.node(op, given, out=(name, (1, 2)), options=options) for op in ("ADD", "SUB")))
    return builder.build()


def is_right(found: Any) -> None:
    assert [*found] == [2, 3]
    assert np.array_equal(found[2], ONE + OTHER)
    assert np.array_equal(found[3], ONE - OTHER)


@pytest.mark.parametrize("name", NAMES)
def test_runs_by_order_and_by_number(name: str) -> None:
    interpreter = Interpreter(equal_names(name))
    is_right(interpreter.run(ONE, OTHER))
    is_right(interpreter.run({1: OTHER, 0: ONE}))
    is_right(interpreter.run_real(ONE, OTHER))
    is_right(interpreter.run(ONE, OTHER, until=[2, 3]))
    into = np.zeros((1, 2), np.float32)
    found: Any = interpreter.run(ONE, OTHER, out={3: into})  # type: ignore[dict-item]
    assert found[3] is into
    is_right(found)
    best = Interpreter(equal_names(name)).fit(1 << 20, axis="batch").best
    assert best is not None
    assert best.shapes.keys() == {0, 1}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "call",
    [
        lambda model, name: Interpreter(model).run({name: ONE}),
        lambda model, name: Interpreter(model).run_real({name: ONE}),
        lambda model, name: Interpreter(model).resize_tensor_input(name, (2, 2)),
        lambda model, name: Interpreter(model).plan_for({name: (2, 2)}),
        lambda model, name: Interpreter(model).bind_tensor(name, ONE),
        lambda model, name: Interpreter(model).run(until=[2], since={name: ONE}),
        lambda model, name: minilite.compare(model, model, {name: ONE}),
        lambda model, _: Predictor(model),
        lambda model, _: rebatched(model),
        lambda model, name: CompiledModel.from_buffer(model).run_by_name("<placeholder signature>", {}, {}),
        lambda model, name: CompiledModel.from_buffer(model).get_input_tensor_details("<placeholder signature>"),
        lambda model, name: CompiledModel.from_buffer(model).create_input_buffer_by_name("<placeholder signature>", name),
        lambda model, name: CompiledModel.from_buffer(model).resize_input_tensor_by_name(
            "<placeholder signature>", name, (2, 2)
        ),
    ],
)  # fmt: skip
def test_names_are_refused(call: Callable[[bytes, str], Any], name: str) -> None:
    with pytest.raises(InputError, match=rf"called '{name}'"):
        call(equal_names(name), name)


@pytest.mark.parametrize("name", NAMES)
def test_outputs_alone(name: str) -> None:
    """The outputs have one name, the inputs have two."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    given = graph.input("a", (1, 2))
    graph.output(*(graph.node(op, [given], out=(name, (1, 2))) for op in ("ABS", "NEG")))
    with pytest.raises(InputError, match=rf"tensors 1 and 2 are both outputs called '{name}'"):
        Predictor(builder.build())
    found: Any = Interpreter(builder.build()).run(-ONE)
    assert (found[1] == ONE).all()
    assert (found[2] == ONE).all()


def test_buffers_in_order() -> None:
    model = CompiledModel.from_buffer(equal_names())
    assert model.get_signature_list()["<placeholder signature>"] == {"inputs": ["", ""], "outputs": ["", ""]}
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    for buffer, array in zip(inputs, (ONE, OTHER), strict=True):
        buffer.write(array)
    model.run_by_index(0, inputs, outputs)
    found = [buffer.read(2, np.float32) for buffer in outputs]
    assert np.array_equal(found, [(ONE + OTHER)[0], (ONE - OTHER)[0]])


def test_recordings(tmp_path: pathlib.Path) -> None:
    interpreter, path = Interpreter(equal_names()), tmp_path / "calls.npz"
    with interpreter.recording(path):
        interpreter.run(ONE, OTHER)
        interpreter.run(ONE, OTHER, until=[3, 2])
    found = minilite.replay(path, equal_names())
    assert [row.tensor for row in found.rows] == [2, 3, 2, 3]
    assert all(row.diverges is False for row in found.rows)


def test_arguments_of_a_signature_in_the_file() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    given = [graph.input(name, (1, 2)) for name in ("p", "q")]
    total = graph.node("ADD", given, out=("sum", (1, 2)), options={"fused_activation_function": "NONE"})
    graph.output(total)
    builder.signature("serve", {"first_one": given[0], "first_two": given[1]}, {"sum": total})
    model = builder.build()
    assert model.count(b"first_two") == 1
    interpreter = Interpreter(model.replace(b"first_two", b"first_one"))
    message = r"signature 0 \('serve'\): it has several inputs called 'first_one'"
    assert list(interpreter.get_signature_list()) == ["serve"]
    for call in (interpreter.get_signature_runner, lambda: Predictor(interpreter.model)):
        with pytest.raises(ModelFormatError, match=message):
            call()
    assert (interpreter.run(ONE, OTHER)["sum"] == ONE + OTHER).all()


def test_commands(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, array = tmp_path / "m.tflite", tmp_path / "a.npy"
    model.write_bytes(equal_names("x"))
    np.save(array, ONE)
    for arguments in (
        ["run", model, f"x={array}"],
        ["run", model, "--shape", "x=2,2"],
        ["plan", model, "--bind", "x"],
        ["batch", model, array, "--out", tmp_path / "out.npz"],
    ):
        assert main([str(each) for each in arguments]) != 0
        printed = capsys.readouterr().err
        assert "called 'x'" in printed, arguments
        assert printed.count("\n") == 1
    assert main(["run", str(model), str(array), str(array), "--out", str(tmp_path / "o.npz")]) == 0
    found = np.load(tmp_path / "o.npz")
    assert np.array_equal([found[name] for name in ("x", "x_1")], [ONE + ONE, ONE - ONE])
