"""TensorFlow Lite Micro as the oracle of its own operators, where the tflite-micro package is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import pytest
from support.compare import check, compare
from support.node import Array, OneNode

import minilite

INSTALLED = importlib.util.find_spec("tflite_micro") is not None
needs_micro = pytest.mark.skipif(not INSTALLED, reason="tflite-micro is not installed")


def run_micro(model: bytes, steps: Sequence[Sequence[Array]]) -> list[list[Array]]:
    """Runs one interpreter once per step; returns its outputs. TensorFlow Lite Micro cannot resize, so the file has all
    shapes."""
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(model, arena_size=1 << 21)
    outputs = len(minilite.load_model(model).subgraphs[0].outputs)
    results = []
    for inputs in steps:
        for position, array in enumerate(inputs):
            interpreter.set_input(array, position)
        interpreter.invoke()
        results.append([interpreter.get_output(number).copy() for number in range(outputs)])
    return results


def run_steps(model: bytes, steps: Sequence[Sequence[Array]]) -> list[list[Array]]:
    """Runs the steps in minilite in the same way."""
    interpreter = minilite.Interpreter(model_content=model)
    interpreter.allocate_tensors()
    results = []
    for inputs in steps:
        for detail, array in zip(interpreter.get_input_details(), inputs, strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        results.append([interpreter.get_tensor(detail["index"]).copy() for detail in interpreter.get_output_details()])
    return results


def agrees_with_micro(node: OneNode, tolerance: float = 0.0) -> None:
    """Checks that the outputs equal those of TensorFlow Lite Micro and of numpy."""
    found = check(node.model, node.arrays, oracle=None, tolerance=tolerance)
    if INSTALLED:
        [expected] = run_micro(node.model, [node.arrays])
        compare(expected, found, tolerance, "C kernel against TensorFlow Lite Micro")
