"""Another thread writes to a bound buffer during runs: an answer may be any, and a division may be refused, but the
process goes on."""

from __future__ import annotations

import threading
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


def runs_beside_a_writer(name: str) -> None:
    """The last input is bound, and its last values change all the time."""
    op, kind, kind_out, q, q_out = NODES[name]
    built = ModelBuilder()
    graph = built.subgraph()
    count = 1 if "SOFTMAX" in op else 2
    inputs = [graph.input(f"x{i}", SHAPE, TensorType[kind], quantization=q) for i in range(count)]
    options = {"beta": 1.0} if op == "SOFTMAX" else {}
    graph.output(graph.node(op, inputs, out=("y", SHAPE, TensorType[kind_out], q_out), options=options))
    interpreter = minilite.Interpreter(model_content=built.build())
    dtype = numpy_type(TensorType[kind])
    buffer = np.ones(SHAPE, dtype)
    interpreter.bind_tensor(inputs[-1], buffer)
    interpreter.allocate_tensors()
    ends = threading.Event()

    def write() -> None:
        last = buffer.reshape(-1)[-200:]
        while not ends.is_set():
            last[:] = 127 if count == 1 else 0
            last[:] = -100 if count == 1 else 3

    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(150):
        try:
            interpreter.invoke()
        except KernelError as error:
            assert "division by 0" in str(error)  # noqa: PT017 - other errors end the process
    ends.set()
    thread.join()


@pytest.mark.parametrize("name", NODES)
def test_another_thread_changes_a_bound_buffer(name: str) -> None:
    apart(runs_beside_a_writer, name)
