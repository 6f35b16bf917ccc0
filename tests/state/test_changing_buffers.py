"""Another thread writes to a bound buffer, or to an array that is read in place, during runs: an answer may be any, and
a division may be refused, but the process goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from processes import apart

import minilite
from minilite.errors import KernelError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.quantization import NOT_QUANTIZED, Quantization

SHAPE = (200, 300)
LARGE = (400, 400)  # of bytes: runs read it in place
STEP = Quantization((1 / 256,), (-128,))
LOG = Quantization((16 / 256,), (127,))
NODES: dict[str, tuple[str, str, str, Any, Any]] = {
    "div s32": ("DIV", "INT32", "INT32", NOT_QUANTIZED, NOT_QUANTIZED),
    "div s8": ("DIV", "INT8", "INT8", Quantization((0.5,), (0,)), Quantization((0.5,), (0,))),
    "floor_div s32": ("FLOOR_DIV", "INT32", "INT32", NOT_QUANTIZED, NOT_QUANTIZED),
    "floor_mod s64": ("FLOOR_MOD", "INT64", "INT64", NOT_QUANTIZED, NOT_QUANTIZED),
    "softmax s8": ("SOFTMAX", "INT8", "INT8", Quantization((0.5,), (0,)), STEP),
    "softmax s16": ("SOFTMAX", "INT8", "INT16", Quantization((0.5,), (0,)), Quantization((1 / 65536,), (-32768,))),
    "log_softmax s8": ("LOG_SOFTMAX", "INT8", "INT8", Quantization((0.5,), (0,)), LOG),
}


def model_of(name: str, shape: tuple[int, ...]) -> bytes:
    op, kind, kind_out, q, q_out = NODES[name]
    built = ModelBuilder()
    graph = built.subgraph()
    count = 1 if "SOFTMAX" in op else 2
    inputs = [graph.input(f"x{i}", shape, TensorType[kind], quantization=q) for i in range(count)]
    options = {"beta": 1.0} if op == "SOFTMAX" else {}
    graph.output(graph.node(op, inputs, out=("y", shape, TensorType[kind_out], q_out), options=options))
    return bytes(built.build())


def run_beside_a_writer(run: Callable[[], object], array: Any, values: tuple[int, int]) -> None:
    """The array's last values change all the time."""
    ends = threading.Event()

    def write() -> None:
        last = array.reshape(-1)[-200:]
        while not ends.is_set():
            last[:] = values[0]
            last[:] = values[1]

    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(150):
        try:
            run()
        except KernelError as error:
            assert "division by 0" in str(error)  # noqa: PT017 - other errors end the process
    ends.set()
    thread.join()


def runs_on_a_bound_buffer(name: str) -> None:
    """The last input is bound."""
    interpreter = minilite.Interpreter(model_content=model_of(name, SHAPE))
    tensor = interpreter.get_input_details()[-1]["index"]
    buffer = np.ones(SHAPE, numpy_type(TensorType[NODES[name][1]]))
    interpreter.bind_tensor(tensor, buffer)
    interpreter.allocate_tensors()
    run_beside_a_writer(interpreter.invoke, buffer, (127, -100) if "softmax" in name else (0, 3))


def runs_on_an_array(name: str) -> None:
    interpreter = minilite.Interpreter(model_content=model_of(name, LARGE))
    array = np.ones(LARGE, np.int8)
    arrays = [array] * len(interpreter.get_input_details())
    run_beside_a_writer(lambda: interpreter.run(*arrays), array, (127, -100) if "softmax" in name else (0, 3))
    assert interpreter.memory is not None
    assert interpreter.memory.tensor(0).storage == ("bound" if "softmax" in name else "input")


@pytest.mark.parametrize("name", NODES)
def test_another_thread_changes_a_bound_buffer(name: str) -> None:
    apart(runs_on_a_bound_buffer, name)


@pytest.mark.parametrize("name", ["softmax s8", "softmax s16", "log_softmax s8", "div s8"])
def test_another_thread_changes_an_array_that_is_read_in_place(name: str) -> None:
    apart(runs_on_an_array, name)
