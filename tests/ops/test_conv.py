"""CONV_2D: C kernels, numpy reference and LiteRT agree; integers bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import EPS, check, run_minilite
from layers import FLOAT32, INT8, INT16, UINT8, Layer, window_options
from one_node import OneNode, const, quantized

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

# input, filter, padding, stride, dilation
SHAPES: list[tuple[Any, ...]] = [
    ((1, 1, 1, 1), (1, 1, 1, 1), "SAME", (1, 1), (1, 1)),
    ((1, 7, 6, 3), (8, 1, 1, 3), "VALID", (1, 1), (1, 1)),
    ((1, 7, 6, 3), (8, 1, 1, 3), "SAME", (2, 3), (1, 1)),
    ((1, 9, 8, 4), (16, 3, 3, 4), "SAME", (1, 1), (1, 1)),
    ((2, 9, 8, 5), (17, 3, 3, 5), "SAME", (2, 2), (1, 1)),
    ((3, 10, 11, 3), (7, 3, 2, 3), "VALID", (2, 1), (1, 1)),
    ((1, 12, 13, 2), (9, 3, 3, 2), "SAME", (1, 1), (2, 3)),
    ((2, 12, 13, 2), (5, 3, 3, 2), "VALID", (1, 2), (3, 2)),
    ((1, 2, 2, 4), (3, 5, 5, 4), "SAME", (1, 1), (1, 1)),
    ((1, 1, 40, 6), (10, 1, 9, 6), "SAME", (1, 2), (1, 1)),
    ((1, 5, 5, 33), (40, 3, 3, 33), "SAME", (1, 1), (1, 1)),
    ((5, 1, 1, 130), (12, 1, 1, 130), "VALID", (1, 1), (1, 1)),
]
KINDS = [(FLOAT32, False), (INT8, False), (INT8, True), (UINT8, False)]
ACTIVATIONS = ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"]
# Floats are sums in another order than LiteRT's, which errs by up to a few eps of the sum of |x w|, itself below 1500.
TOLERANCE = 1500 * EPS


@pytest.mark.parametrize(("kind", "per_channel"), KINDS)
@pytest.mark.parametrize("case", range(len(SHAPES)))
def test_shapes(case: int, kind: TensorType, per_channel: bool) -> None:
    x, w, padding, stride, dilation = SHAPES[case]
    for number, activation in enumerate(ACTIVATIONS):
        options = window_options(padding, stride, dilation, fused_activation_function=activation)
        layer = Layer("CONV_2D", kind, x, w, options, per_channel=per_channel, seed=100 * case + number)
        check(layer.model, layer.inputs, tolerance=TOLERANCE)


@pytest.mark.parametrize(("kind", "per_channel"), KINDS)
def test_random(kind: TensorType, per_channel: bool) -> None:
    rng = np.random.default_rng(7)
    for seed in range(60):
        height, width, depth, outputs = (int(v) for v in rng.integers(3, 14, 4))
        kh, kw = (int(v) for v in rng.integers(1, 4, 2))
        dilation = (1, 1) if kh > height // 2 or kw > width // 2 else tuple(int(v) for v in rng.integers(1, 3, 2))
        padding = "SAME" if rng.random() < 0.5 else "VALID"
        options = window_options(padding, tuple(int(v) for v in rng.integers(1, 4, 2)), dilation)
        x, w = (int(rng.integers(1, 4)), height, width, depth), (outputs, kh, kw, depth)
        layer = Layer("CONV_2D", kind, x, w, options, per_channel=per_channel, seed=seed)
        check(layer.model, layer.inputs, tolerance=TOLERANCE)


@pytest.mark.parametrize("stride", [(1, 2), (2, 1), (2, 2), (1, 3)])
def test_a_pixel_wide_filter_that_skips_pixels(stride: tuple[int, int]) -> None:
    x = np.arange(24, dtype=np.float32).reshape(1, 4, 6, 1)
    inputs = [x, const(np.ones((1, 1, 1, 1)), np.float32), const([0], np.float32)]
    y = OneNode("CONV_2D", inputs, window_options("VALID", stride)).check()
    np.testing.assert_array_equal(y, x[:, :: stride[0], :: stride[1]])


@pytest.mark.parametrize("scale", [2 / 3, 0.5, 0.25, 0.3])
def test_multipliers_from_one_up(scale: float) -> None:
    """Multipliers of 1.5, 2, 4 and 3.3: shifts to the left, by 1 and by more."""
    one = Quantization((1.0,), (0,))
    x = quantized(np.arange(-128, 128, dtype=np.int8).reshape(1, 16, 16, 1), 1.0, 0)
    inputs = [x, const(np.ones((1, 1, 1, 1)), np.int8, one), const([0], np.int32, one)]
    result = Quantization((float(np.float32(scale)),), (0,))
    y = OneNode("CONV_2D", inputs, window_options("VALID"), quantization=result, version=3).check()
    expected = np.clip(np.round(np.arange(-128, 128) / result.scale), -128, 127)
    assert np.max(np.abs(y.ravel() - expected)) <= (scale == 0.3)  # there LiteRT rounds twice
    assert y.ravel()[[130, 134]].tolist() == [round(2 / scale), round(6 / scale)]


@pytest.mark.parametrize("bias_type", [np.int32, np.int64])
@pytest.mark.parametrize("per_channel", [False, True])
def test_int16(bias_type: type[Any], per_channel: bool) -> None:
    # Without quantized_bias_type LiteRT reads an int32 bias as int64.
    more = {"quantized_bias_type": "INT32" if bias_type is np.int32 else "INT64"}
    for case, (x, w, padding, stride, dilation) in enumerate(SHAPES):
        more["fused_activation_function"] = ACTIVATIONS[case % 4]
        options = window_options(padding, stride, dilation, **more)
        layer = Layer(
            "CONV_2D", INT16, x, w, options, per_channel=per_channel, bias_type=bias_type, seed=case, version=4
        )
        check(layer.model, layer.inputs)


@pytest.mark.parametrize("kind", [FLOAT32, INT8, UINT8])
@pytest.mark.parametrize("groups", [2, 3, 6])
def test_groups(kind: TensorType, groups: int) -> None:
    options = window_options("SAME")
    layer = Layer("CONV_2D", kind, (2, 5, 6, 4 * groups), (9 * groups, 3, 3, 4), options, seed=groups)
    check(layer.model, layer.inputs, tolerance=TOLERANCE)


@pytest.mark.parametrize("kind", [FLOAT32, INT8])
def test_computed_weights(kind: TensorType) -> None:
    layer = Layer("CONV_2D", kind, (2, 7, 7, 6), (12, 3, 3, 3), window_options("SAME"), constant_weights=False)
    check(layer.model, layer.inputs, tolerance=TOLERANCE)
    layer = Layer("CONV_2D", kind, (2, 7, 7, 3), (11, 3, 3, 3), window_options("SAME"), constant_weights=False)
    check(layer.model, layer.inputs, tolerance=TOLERANCE)


@pytest.mark.parametrize("kind", [FLOAT32, INT8, UINT8])
@pytest.mark.parametrize("bias", ["absent", "missing"])
def test_absent_bias(kind: TensorType, bias: str) -> None:
    layer = Layer("CONV_2D", kind, (1, 6, 6, 3), (5, 3, 3, 3), window_options("SAME"), bias=bias)
    check(layer.model, layer.inputs, tolerance=TOLERANCE, against_litert=False)  # LiteRT wants a bias


@pytest.mark.parametrize("kind", [FLOAT32, INT8])
def test_resized_input(kind: TensorType) -> None:
    layer = Layer("CONV_2D", kind, (3, 11, 5, 4), (6, 3, 3, 4), window_options("SAME", (2, 2)), file_shape=(1, 4, 4, 4))
    check(layer.model, layer.inputs, tolerance=TOLERANCE)


@pytest.mark.parametrize("kind", [FLOAT32, INT8])
@pytest.mark.parametrize("x", [(0, 6, 6, 3), (1, 0, 6, 3)])
def test_no_pixels(kind: TensorType, x: tuple[int, ...]) -> None:
    layer = Layer("CONV_2D", kind, x, (5, 3, 3, 3), window_options("SAME"), file_shape=(1, 6, 6, 3))
    (y,) = check(layer.model, layer.inputs, against_litert=x[0] == 0)  # LiteRT takes no input of height 0
    assert y.shape == (*x[:3], 5)


def test_groups_follow_a_resized_depth() -> None:
    """Weights packed for one group serve two when the input's depth doubles."""
    layer = Layer("CONV_2D", FLOAT32, (1, 5, 5, 6), (8, 3, 3, 3), window_options("SAME"), file_shape=(1, 5, 5, 3))
    check(layer.model, layer.inputs, tolerance=TOLERANCE)


def test_error_of_long_sums() -> None:
    """Within 8 eps of the sum of |x w|, where all of it is positive and long: the worst case of running sums."""
    rng = np.random.default_rng(3)
    weights = rng.random((16, 3, 3, 600)).astype(np.float32)
    layer = Layer("CONV_2D", FLOAT32, (1, 9, 9, 600), weights.shape, window_options("VALID"), weights=weights)
    x = rng.random(layer.x.shape).astype(np.float32)
    (y,) = run_minilite(layer.model, [x])
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), axis=(1, 2))
    exact = np.einsum("bijcyx,oyxc->bijo", windows, weights.astype(np.float64), optimize=True) + layer.bias
    assert np.max(np.abs(y - exact) / exact) < 8 * EPS


@pytest.mark.parametrize(
    ("x", "w", "options", "words"),
    [
        ((1, 5, 5, 4), (8, 3, 3, 3), window_options("SAME"), "filter depth 3 does not match input depth 4"),
        ((1, 5, 5, 6), (7, 3, 3, 3), window_options("SAME"), "7 outputs do not split into 2 groups"),
        ((1, 2, 5, 3), (8, 4, 3, 3), window_options("VALID"), "height 4 does not fit into the input's height of 2"),
        ((1, 5, 3, 3), (8, 3, 3, 3), window_options("VALID", dilation=(1, 3)), "width 7 .* input's width of 3"),
        ((5, 5, 3), (8, 3, 3, 3), window_options("SAME"), r"shape is \(5, 5, 3\)"),
        ((1, 5, 5, 3), (8, 3, 3), window_options("SAME"), r"shape is \(8, 3, 3\)"),
        ((1, 5, 5, 3), (8, 0, 3, 3), window_options("SAME"), "window of 0 x 3 is empty"),
        ((1, 5, 5, 0), (8, 3, 3, 0), window_options("SAME"), "filter depth 0 does not match input depth 0"),
    ],
)
def test_shapes_refused(x: Any, w: Any, options: Any, words: str) -> None:
    for kind in (FLOAT32, INT8):
        layer = Layer("CONV_2D", kind, x, w, options)
        with pytest.raises(ShapeError, match=words):
            run_minilite(layer.model, layer.inputs)


def test_bias_length_refused() -> None:
    layer = Layer("CONV_2D", FLOAT32, (1, 5, 5, 3), (8, 3, 3, 3), window_options("SAME"), bias_length=7)
    with pytest.raises(ShapeError, match="bias of 7 values does not match 8 outputs"):
        run_minilite(layer.model, layer.inputs)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (window_options("SAME", stride=(0, 1)), "stride_h must be positive, it is 0"),
        (window_options("SAME", stride=(1, -2)), "stride_w must be positive, it is -2"),
        (window_options("SAME", dilation=(1, 0)), "dilation_w_factor must be positive, it is 0"),
        (window_options("SAME", fused_activation_function="TANH"), "fused activation TANH is not supported"),
    ],
)
def test_options_refused(options: Any, words: str) -> None:
    layer = Layer("CONV_2D", FLOAT32, (1, 5, 5, 3), (8, 3, 3, 3), options)
    with pytest.raises(UnsupportedOpError, match=words):
        run_minilite(layer.model, layer.inputs)


@pytest.mark.parametrize(
    ("x", "w", "b", "scales", "words"),
    [
        (FLOAT32, INT8, FLOAT32, (0.1,), "INT8 weights with FLOAT32 input .hybrid. are not supported yet"),
        (INT8, FLOAT32, TensorType.INT32, (0.1,), "types of input, weights and output INT8, FLOAT32, INT8"),
        (INT16, INT16, TensorType.INT32, (0.1,), "INT16, INT16, INT16 are not supported"),
        (FLOAT32, FLOAT32, TensorType.INT32, (), "bias of type INT32 with FLOAT32 input, it must be FLOAT32"),
        (INT8, INT8, FLOAT32, (0.1,), "bias of type FLOAT32 with INT8 input, it must be INT32"),
        (INT8, INT8, TensorType.INT32, (), "have 0 scales for 4 outputs"),
        (INT8, INT8, TensorType.INT32, (float("nan"),), "scales >= 0"),
    ],
)
def test_types_refused(x: TensorType, w: TensorType, b: TensorType, scales: tuple[float, ...], words: str) -> None:
    builder = ModelBuilder()
    g = builder.subgraph()
    one = Quantization((0.1,), (0,)) if x != FLOAT32 else Quantization()
    inputs = [
        g.input("x", (1, 5, 5, 3), x, quantization=one),
        g.input("w", (4, 1, 1, 3), w, quantization=Quantization(scales, (0,) * len(scales))),
        g.input("b", (4,), b),
    ]
    g.output(g.node("CONV_2D", inputs, out=("y", (1, 5, 5, 4), x, one), options=window_options("SAME")))
    with pytest.raises(UnsupportedOpError, match=words):
        minilite.Interpreter(model_content=builder.build()).allocate_tensors()
