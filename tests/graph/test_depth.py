"""Subgraphs that call subgraphs: as deep as threads of small stacks can run, and refused beyond."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from minilite import Interpreter
from minilite.errors import ModelFormatError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

DEEPEST = 64


def nested(depth: int, op: str) -> bytes:
    """Returns a model whose subgraphs call each other `depth` times; the deepest computes ABS."""
    builder = ModelBuilder()
    graphs = [builder.subgraph(f"level {level}") for level in range(depth + 2)]  # the last is where IF never goes
    for level, graph in enumerate(graphs):
        x = graph.input("x", (1,), signature=(-1,))
        if level >= depth:
            graph.output(graph.node("ABS", [x], out=("y", (1,))))
        elif op == "IF":
            yes = graph.constant("yes", np.array([True]))
            options = {"then_subgraph_index": level + 1, "else_subgraph_index": depth + 1}
            graph.output(*graph.node("IF", [yes, x], out=[("y", (1,), TensorType.FLOAT32)], options=options))
        else:
            options = {"name": "any", "decomposition_subgraph_index": level + 1}
            graph.output(*graph.node("STABLEHLO_COMPOSITE", [x], out=[("y", (1,))], options=options))
    return builder.build()


def whole_life(model: bytes, found: list[object]) -> None:
    """Loads, allocates, runs, resizes, runs and frees."""
    interpreter = Interpreter(model_content=model)
    for length in (1, 3):
        interpreter.resize_tensor_input(0, (length,))
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, np.full(length, -2, np.float32))
        interpreter.invoke()
        found.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tolist())


@pytest.mark.parametrize("op", ["IF", "STABLEHLO_COMPOSITE"])
def test_the_deepest_calls_fit_a_small_stack(op: str) -> None:
    model, found = nested(DEEPEST, op), list[object]()
    before = threading.stack_size(256 << 10)
    try:
        thread = threading.Thread(target=whole_life, args=(model, found))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert found == [[2], [2, 2, 2]]


@pytest.mark.parametrize("op", ["IF", "STABLEHLO_COMPOSITE"])
@pytest.mark.parametrize("depth", [DEEPEST + 1, 1000])
def test_deeper_calls_are_refused(op: str, depth: int) -> None:
    with pytest.raises(ModelFormatError, match="subgraph 65 lies 65 calls deep, at most 64 are supported"):
        Interpreter(model_content=nested(depth, op)).allocate_tensors()
