"""BATCH_MATMUL: both sides computed or constant, transposed, broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import EPS
from support.node import Given, OneNode, Out, dtype_of, values

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.quantization import NOT_QUANTIZED, Quantization

TYPES = ["f32 f32 f32", "f32 s8 f32", "s8 s8 s8", "s8 s8 s32", "s16 s8 s16", "s16 s16 s16"]
SHAPES = [
    ((3, 5), (5, 4)),
    ((1, 1), (1, 1)),
    ((2, 3, 5), (2, 5, 4)),
    ((2, 1, 3, 5), (4, 5, 7)),
    ((3, 5), (2, 3, 5, 4)),
    ((2, 40, 33), (33, 37)),
    ((1, 1, 70), (1, 70, 19)),
]


def turned(shape: Any) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2])


def scaled(rng: np.random.Generator, kind: str, low: float, high: float, zero: bool) -> Quantization:
    if kind in ("f32", "s32"):
        return NOT_QUANTIZED
    return Quantization((float(np.float32(rng.uniform(low, high))),), (int(rng.integers(-90, 90)) if zero else 0,))


def matmul(
    rng: np.random.Generator,
    types: str,
    shapes: Any = ((2, 3, 5), (2, 5, 4)),
    adj: tuple[bool, bool] = (False, False),
    constant: bool = False,
    asymmetric: bool = False,
) -> tuple[OneNode, float]:
    a, b, z = types.split()
    zero = a == "s8"
    x = values(rng, a, turned(shapes[0]) if adj[0] else shapes[0])
    y = values(rng, b, turned(shapes[1]) if adj[1] else shapes[1])
    if a == "f32" and b == "s8":
        y = np.maximum(y, -127)  # LiteRT's vector code negates weights of -128, which stay -128
    node = OneNode(
        "BATCH_MATMUL",
        [
            Given(x, quantization=scaled(rng, a, 0.01, 0.1, zero)),
            Given(y, constant, quantization=scaled(rng, b, 0.01, 0.1, zero)),
        ],
        {"adj_x": adj[0], "adj_y": adj[1], "asymmetric_quantize_inputs": asymmetric},
        outs=[Out(z, scaled(rng, z, *((0.2, 1.0) if a == "s8" else (5.0, 50.0)), zero))],
        version=4,
    )
    k = shapes[0][-1]
    return node, 16 * EPS * float(np.abs(x.astype(np.float64)).max() * np.abs(y.astype(np.float64)).max()) * k


def every_type(rng: np.random.Generator, inputs: Any, outputs: Any) -> Any:
    node, tolerance = matmul(rng, " ".join((*inputs, *outputs)), constant=True)
    return node, {"tolerance": tolerance}


EVERY_TYPE = {"BATCH_MATMUL": every_type}


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("adj", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("constant", [False, True])
def test_shapes(types: str, adj: tuple[bool, bool], constant: bool) -> None:
    rng = np.random.default_rng(5)
    for shapes in SHAPES:
        node, tolerance = matmul(rng, types, shapes, adj, constant)
        node.check(tolerance=tolerance)


def test_asymmetric() -> None:
    rng = np.random.default_rng(5)
    for shapes in SHAPES:
        node, tolerance = matmul(rng, "f32 s8 f32", shapes, constant=True, asymmetric=True)
        wrong = len(shapes[0]) < len(shapes[1])  # LiteRT takes the zero points of other rows where y has more matrices
        node.check(tolerance=tolerance, **({"oracle": None} if wrong else {}))


def test_refusals() -> None:
    options = {"adj_x": False, "adj_y": False, "asymmetric_quantize_inputs": False}
    x = np.zeros((2, 3), np.float32)
    OneNode("BATCH_MATMUL", [x, x], options).refused(ShapeError, "rows of 3 in x and columns of 2 in y do not match")
    OneNode("BATCH_MATMUL", [x, x[0]], options).refused(ShapeError, "must be matrices")
    words = Given(np.zeros((2, 2), dtype_of("s16")), quantization=Quantization((1.0,), (3,)))
    node = OneNode("BATCH_MATMUL", [words, words], options, quantization=Quantization((1.0,), (0,)))
    node.refused(UnsupportedOpError, "zero point 3, it must be 0")
