"""Nodes of realistic sizes are divided into several blocks, which threads share; results are the same for any number of
threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import test_detection_postprocess
import test_transpose_conv
from support.node import Given, OneNode, Out, const, values
from support.weighted import Layer, same_for_any_number_of_threads, window_options

import minilite
from minilite.format.quantization import Quantization


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def floats(*shape: int) -> Any:
    return values(rng(), "f32", shape)


def requantized() -> OneNode:
    """CONCATENATION of uint8 inputs whose scales are not the output's."""
    inputs = [
        Given(values(rng(), "u8", (1, 600, 91)), quantization=Quantization((scale,), (3,), 0)) for scale in (0.1, 0.2)
    ]
    return OneNode("CONCATENATION", inputs, {"axis": 1}, kind="u8", quantization=Quantization((0.15,), (7,), 0))


def mirrored() -> OneNode:
    return OneNode(
        "MIRROR_PAD",
        [floats(1, 96, 96, 8), const(np.array([[0, 0], [4, 4], [4, 4], [0, 0]], np.int32))],
        {"mode": "REFLECT"},
    )


def tiled(shape: tuple[int, ...], *multiples: int) -> OneNode:
    return OneNode("TILE", [floats(*shape), const(np.array(multiples, np.int32))])


def transposed(types: str) -> OneNode:
    return test_transpose_conv.layer(types, (1, 64, 64, 16), (2, 2), 3, (2, 2))


DIVIDED: dict[str, tuple[Callable[[], OneNode], int]] = {
    "a convolution along one line": (
        lambda: Layer("CONV_2D", "f32", (1, 1, 8000, 1), (2, 1, 64, 1), window_options("SAME")),
        8,
    ),
    "one along a column, with strides": (
        lambda: Layer("CONV_2D", "f32", (2, 8000, 1, 3), (5, 64, 1, 3), window_options("VALID", stride=(2, 1))),
        8,
    ),
    "one with a single output": (
        lambda: Layer("CONV_2D", "f32", (1, 208, 208, 64), (1, 1, 1, 64), window_options("VALID")),
        4,
    ),
    "hybrid, a long image": (
        lambda: Layer("CONV_2D", "f32 s8 f32", (1, 64, 64, 16), (16, 3, 3, 16), window_options("SAME")),
        4,
    ),
    "uint8 inputs of other scales": (requantized, 2),
    "reflection": (mirrored, 2),
    "repetition along the last dimension": (lambda: tiled((400, 50), 1, 4), 2),
    "repetition as a whole": (lambda: tiled((1, 400, 50), 4, 1, 1), 2),
    "repetition of numbers": (lambda: tiled((40000,), 2), 2),
    "transposed, float": (lambda: transposed("f32"), 6),
    "transposed, int8": (lambda: transposed("s8"), 6),
    "transposed, int16": (lambda: transposed("s16"), 6),
    "softmax of many rows": (lambda: OneNode("SOFTMAX", [floats(1, 1, 99, 99)], {"beta": 1.0}), 2),
    "a function with an exponential": (lambda: OneNode("TANH", [floats(1, 99, 256)]), 2),
    "transforms": (lambda: spectra(96, 512), 8),
    "boxes": (lambda: test_detection_postprocess.detection(rng(), ("u8", "u8"), count=1917, num_classes=90), 2),
}


def spectra(count: int, length: int) -> OneNode:
    return OneNode("RFFT2D", [floats(count, 1, length), const(np.array([1, length], np.int32))], outs=[Out("c64")])


@pytest.mark.parametrize("name", DIVIDED)
def test_divided(name: str) -> None:
    make, least = DIVIDED[name]
    node = make()
    interpreter = minilite.Interpreter(model_content=node.model)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), node.arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    (found,) = interpreter.profile(1).nodes
    assert found.blocks >= least
    same_for_any_number_of_threads(node)
