"""Inputs with which libFuzzer once stopped, and models by which only its sanitizers see a fault: each is used again."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from built import graph_with, ready, run
from support.time_limit import ends_within

import minilite
from minilite._core import ffi, lib
from minilite.engine.engine import engine_of
from minilite.errors import MiniliteError
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

if TYPE_CHECKING:
    from collections.abc import Iterator

FOUND = sorted(Path(__file__).with_name("found").iterdir())
"""Inputs that fuzzing found, by harness in fuzz/: a model, or a number of offsets, as many of four bytes, and a
model."""
MOST_SECONDS = 60


@pytest.fixture
def limit() -> Iterator[None]:
    with ends_within(MOST_SECONDS):
        yield


def model_of(path: Path) -> bytes:
    data = path.read_bytes()
    return data[1 + 4 * (data[0] % 33) :] if path.name.startswith("offline_") else data


@pytest.mark.skipif(not hasattr(signal, "SIGVTALRM"), reason="needs SIGVTALRM")
@pytest.mark.parametrize("options", [{}, {"experimental_preserve_all_tensors": True}], ids=["merged", "apart"])
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
@pytest.mark.usefixtures("limit")
def test_models_found_by_fuzzing_run_or_are_refused(path: Path, options: dict[str, Any]) -> None:
    try:
        interpreter = minilite.Interpreter(model_content=model_of(path), max_bytes=1 << 18, max_iterations=8, **options)
        interpreter.allocate_tensors()
        interpreter.invoke()
        for detail in interpreter.get_tensor_details():
            interpreter.get_tensor(detail["index"])
    except MiniliteError as error:
        assert str(error)  # noqa: PT017


# Addresses that are none ----------------------------------------------------------------------------------------------


def scalar() -> bytes:
    """x -> NEG -> y, without dimensions."""
    return graph_with(lambda g: [g.node("NEG", [g.input("x", ())], out=("y", ()))])


def empty_variables(count: int, zero: int) -> bytes:
    """Variables of no elements, each read by a RELU."""
    like = Quantization((1.0,), (zero,))

    def build(g: Any) -> list[int]:
        made = [g.variable(f"v{k}", (0,), TensorType.INT8, quantization=like) for k in range(count)]
        return [g.node("RELU", [v], out=(f"y{v}", (0,), TensorType.INT8, like)) for v in made]

    return graph_with(build)


def test_a_scalar_is_resized_by_no_dimensions() -> None:
    """Its shape in the file is no address: nothing is copied from there."""
    interpreter = ready(scalar())
    state = engine_of(interpreter).session().state
    assert lib.ml_state_request(state.pointer, 0, ffi.NULL, 0) == lib.ML_REQUEST_SAME
    assert run(interpreter, np.float32(3))[0] == -3


@pytest.mark.parametrize("zero", [0, 5])
@pytest.mark.parametrize("variables", [1, 3])
def test_variables_of_no_bytes_have_an_address(variables: int, zero: int) -> None:
    """All variables together take no memory, so no place in it is computed."""
    interpreter = ready(empty_variables(variables, zero))
    for _ in range(2):
        interpreter.invoke()
        interpreter.reset_all_variables()
    for variable in range(variables):
        place = engine_of(interpreter).session().state.place(variable)
        assert interpreter.get_tensor(variable).shape == (0,)
        assert place.address != 0
