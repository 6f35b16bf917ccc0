"""FULLY_CONNECTED: C kernels, numpy reference and LiteRT agree; integers bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import EPS, check, run_minilite
from layers import FLOAT32, INT8, UINT8, Layer
from one_node import OneNode, const, quantized

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

OP = "FULLY_CONNECTED"
KINDS = [(FLOAT32, False), (INT8, False), (INT8, True), (UINT8, False)]
TOLERANCE = 1500 * EPS  # a few eps of the sum of |x w| over a row
SHAPES = [
    ((1, 1), (1, 1)),
    ((1, 10), (3, 10)),
    ((1, 257), (33, 257)),
    ((2, 64), (8, 64)),
    ((7, 130), (40, 130)),
    ((2, 3, 20), (5, 20)),
    ((2, 2, 3, 12), (9, 12)),
    ((50, 300), (17, 300)),
    ((12,), (4, 12)),
]


@pytest.mark.parametrize(("kind", "per_channel"), KINDS)
@pytest.mark.parametrize(("x", "w"), SHAPES)
@pytest.mark.parametrize("keep_num_dims", [False, True])
def test_shapes(
    x: tuple[int, ...], w: tuple[int, int], keep_num_dims: bool, kind: TensorType, per_channel: bool
) -> None:
    for activation in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1"):
        options = {"keep_num_dims": keep_num_dims, "fused_activation_function": activation}
        layer = Layer(OP, kind, x, w, options, per_channel=per_channel, version=5, seed=len(x) * w[0])
        check(layer.model, layer.inputs, tolerance=TOLERANCE)


@pytest.mark.parametrize(("kind", "version"), [(FLOAT32, 1), (UINT8, 1), (INT8, 4), (INT8, 9), (INT8, 12)])
def test_random(kind: TensorType, version: int) -> None:
    rng = np.random.default_rng(version)
    for seed in range(60):
        rows, depth, outputs = (int(v) for v in rng.integers(1, (12, 300, 60)))
        bias = ("constant", "absent", "missing")[seed % 3]
        layer = Layer(OP, kind, (rows, depth), (outputs, depth), {}, bias=bias, version=version, seed=seed)
        check(layer.model, layer.inputs, tolerance=TOLERANCE)


@pytest.mark.parametrize("kind", [FLOAT32, INT8, UINT8])
def test_computed_weights_and_resized_input(kind: TensorType) -> None:
    layer = Layer(OP, kind, (5, 70), (19, 70), {}, constant_weights=False, file_shape=(1, 70), version=5)
    check(layer.model, layer.inputs, tolerance=TOLERANCE)
    layer = Layer(OP, kind, (5, 70), (19, 70), {}, file_shape=(1, 70), version=5)
    check(layer.model, layer.inputs, tolerance=TOLERANCE)


def test_rows_regroup() -> None:
    """Without keep_num_dims, rows need not follow the last dimension."""
    layer = Layer(OP, FLOAT32, (2, 3, 4), (5, 12), {})
    (y,) = check(layer.model, layer.inputs, tolerance=TOLERANCE)
    assert y.shape == (2, 5)


@pytest.mark.parametrize("kind", [FLOAT32, INT8])
def test_no_rows(kind: TensorType) -> None:
    layer = Layer(OP, kind, (0, 6), (4, 6), {}, file_shape=(1, 6), version=5)
    (y,) = check(layer.model, layer.inputs, tolerance=TOLERANCE)
    assert y.shape == (0, 4)


def test_results_far_beyond_the_outputs_range() -> None:
    """Sums of 127 * 127 in steps of a millionth: more steps than an int32 counts. LiteRT's conversion is undefined in C++."""
    one = Quantization((1.0,), (0,))
    x = quantized(np.full((1, 1), 127, np.int8), 1.0, 0)
    inputs = [x, const([[127], [-127], [0]], np.int8, one), const([0, 0, 0], np.int32, one)]
    node = OneNode(OP, inputs, {}, quantization=Quantization((1e-6,), (0,)), version=4)
    assert node.check(against_litert=False).tolist() == [[127, -128, 0]]


def test_error_of_long_sums() -> None:
    """Within 8 eps of the sum of |x w|, where all of it is positive and long: the worst case of running sums."""
    rng = np.random.default_rng(3)
    weights = rng.random((33, 20000)).astype(np.float32)
    layer = Layer(OP, FLOAT32, (9, 20000), weights.shape, {}, weights=weights)
    x = rng.random(layer.x.shape).astype(np.float32)
    (y,) = run_minilite(layer.model, [x])
    exact = x.astype(np.float64) @ weights.T.astype(np.float64) + layer.bias
    assert np.max(np.abs(y - exact) / exact) < 8 * EPS


def test_rows_do_not_depend_on_each_other() -> None:
    layer = Layer(OP, FLOAT32, (23, 333), (37, 333), {})
    (together,) = run_minilite(layer.model, layer.inputs)
    for i in range(23):
        np.testing.assert_array_equal(run_minilite(layer.model, [layer.x[i : i + 1]])[0][0], together[i])


@pytest.mark.parametrize(
    ("x", "w", "options", "words"),
    [
        ((2, 7), (5, 6), {}, r"shape \(2, 7\) does not split into rows of the weights' depth 6"),
        ((2, 6), (5, 6, 1), {}, r"shape is \(5, 6, 1\)"),
        ((2, 6), (5, 0), {}, "depth 0"),
        ((3, 4), (5, 6), {"keep_num_dims": True}, r"shape \(3, 4\) does not match the weights' depth 6"),
    ],
)
def test_shapes_refused(x: Any, w: Any, options: Any, words: str) -> None:
    for kind in (FLOAT32, INT8):
        layer = Layer(OP, kind, x, w, options, version=5)
        with pytest.raises(ShapeError, match=words):
            run_minilite(layer.model, layer.inputs)


def test_bias_length_refused() -> None:
    layer = Layer(OP, FLOAT32, (2, 6), (5, 6), {}, bias_length=4)
    with pytest.raises(ShapeError, match="bias of 4 values does not match 5 outputs"):
        run_minilite(layer.model, layer.inputs)


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (FLOAT32, {}, "INT8 weights with FLOAT32 input .hybrid. are not supported yet"),
        (TensorType.INT8, {"weights_format": "SHUFFLED4x16INT8"}, "weights format SHUFFLED4x16INT8 is not supported"),
        (TensorType.INT8, {"fused_activation_function": "SIGN_BIT"}, "fused activation SIGN_BIT is not supported"),
    ],
)
def test_refused(kind: TensorType, options: Any, words: str) -> None:
    builder = ModelBuilder()
    g = builder.subgraph()
    one = Quantization((0.1,), (0,))
    weights = g.constant("w", np.zeros((4, 3), np.int8), quantization=one)
    x = g.input("x", (2, 3), kind, quantization=one)
    g.output(g.node(OP, [x, weights, -1], out=("y", (2, 4), kind, one), options=options))
    with pytest.raises(UnsupportedOpError, match=words):
        minilite.Interpreter(model_content=builder.build()).allocate_tensors()
