"""CONV_2D: C kernels, numpy reference and LiteRT agree; integers bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support import peer
from support.compare import EPS, REFERENCE, run_litert, run_minilite
from support.node import Given, OneNode, Out, const, dtype_of, quantized, values
from support.weighted import Layer, same_for_any_number_of_threads, window_options

import minilite
from minilite._core import ffi, lib
from minilite.errors import KernelError, ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization

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
KINDS = [("f32", False), ("s8", False), ("s8", True), ("u8", False)]
ACTIVATIONS = ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"]
# Floats are sums in another order than LiteRT's, which errs by up to a few eps of the sum of |x w|, itself below 1500.
TOLERANCE = 1500 * EPS


def every(rng: Any, inputs: Any, outputs: Any) -> Any:
    """Without quantized_bias_type LiteRT reads an int32 bias of int16 as int64."""
    options = window_options("SAME", (2, 1), quantized_bias_type="INT32" if inputs[2] == "s32" else "INT64")
    layer = Layer(
        "CONV_2D", " ".join(inputs), (2, 6, 7, 4), (9, 3, 2, 4), options, per_channel=inputs[1] == "s8", version=4
    )
    return layer, {"tolerance": TOLERANCE}


EVERY_TYPE = {"CONV_2D": every}


@pytest.mark.parametrize(("kind", "per_channel"), KINDS)
@pytest.mark.parametrize("case", range(len(SHAPES)))
def test_shapes(case: int, kind: str, per_channel: bool) -> None:
    x, w, padding, stride, dilation = SHAPES[case]
    for number, activation in enumerate(ACTIVATIONS):
        options = window_options(padding, stride, dilation, fused_activation_function=activation)
        layer = Layer("CONV_2D", kind, x, w, options, per_channel=per_channel, seed=100 * case + number)
        layer.check(tolerance=TOLERANCE)


@pytest.mark.parametrize(("kind", "per_channel"), KINDS)
def test_random(kind: str, per_channel: bool) -> None:
    rng = np.random.default_rng(7)
    for seed in range(60):
        height, width, depth, outputs = (int(v) for v in rng.integers(3, 14, 4))
        kh, kw = (int(v) for v in rng.integers(1, 4, 2))
        dilation = (1, 1) if kh > height // 2 or kw > width // 2 else tuple(int(v) for v in rng.integers(1, 3, 2))
        padding = "SAME" if rng.random() < 0.5 else "VALID"
        options = window_options(padding, tuple(int(v) for v in rng.integers(1, 4, 2)), dilation)
        x, w = (int(rng.integers(1, 4)), height, width, depth), (outputs, kh, kw, depth)
        layer = Layer("CONV_2D", kind, x, w, options, per_channel=per_channel, seed=seed)
        layer.check(tolerance=TOLERANCE)


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


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("types", ["f32", "s8", "u8", "s16", "s16 s8 s32", "f32 s8 f32"])
def test_long_lines(types: str, padding: str) -> None:
    """Output lines are long enough that windows are read in place: strides, dilation, groups, batches, padding."""
    rng = np.random.default_rng(17)
    for seed in range(30):
        kh, kw = (int(v) for v in rng.integers(1, 6, 2))
        groups = 1 if kw > 1 else int(rng.integers(1, 4))
        stride = tuple(int(v) for v in rng.integers(1, 4, 2))
        dilation = (int(rng.integers(1, 4)), 1 if kw > 1 else int(rng.integers(1, 3)))
        depth, outputs = (int(v) for v in rng.integers(1, (9, 20)))
        x = (int(rng.integers(1, 4)), int(rng.integers(15, 40)), int(rng.integers(25, 60)), depth * groups)
        if types == "f32 s8 f32":
            groups, x = 1, (*x[:3], depth)  # LiteRT's hybrid kernel knows no groups
        options = window_options(
            padding, stride, dilation, **({"quantized_bias_type": "INT32"} if types[-3:] == "s32" else {})
        )
        layer = Layer("CONV_2D", types, x, (outputs * groups, kh, kw, depth), options, seed=seed, version=5)
        layer.check(tolerance=TOLERANCE if types == "f32" else 0.0)


@pytest.mark.parametrize("stride", [1, 2])
def test_large_images_of_floats(stride: int) -> None:
    """Lines are copied a few at a time, each once; outputs fill vectors, or do not."""
    for outputs in (3, 32, 40):
        layer = Layer(
            "CONV_2D",
            "f32",
            (1, 150, 170, 5),
            (outputs, 3, 3, 5),
            window_options("SAME", (stride, stride)),
            seed=outputs,
        )
        layer.check(tolerance=TOLERANCE)
        same_for_any_number_of_threads(layer)


@pytest.mark.parametrize(
    ("x", "outputs", "stride", "dilation"),
    [((1, 7, 7, 160), 196, 1, 1), ((3, 4, 6, 128), 300, 1, 2), ((2, 9, 8, 128), 260, 2, 1)],
)
def test_few_windows_and_large_weights_of_floats(x: Any, outputs: int, stride: int, dilation: int) -> None:
    """All windows are copied before they are multiplied, some outputs at a time; the last ones may be fewer."""
    options = window_options("SAME", (stride, stride), (dilation, dilation))
    layer = Layer("CONV_2D", "f32", x, (outputs, 3, 3, x[3]), options, version=5)
    layer.check(tolerance=1800 * EPS)  # of 1440 products: LiteRT is off by up to 1425, level sse2 by up to 364
    same_for_any_number_of_threads(layer)


@pytest.mark.parametrize("types", ["f32", "s8", "u8", "s16", "f32 s8 f32"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (3, 1), (1, 2)])
def test_images_one_pixel_wide(types: str, stride: int, dilation: int) -> None:
    """They are computed as one line."""
    for padding in ("SAME", "VALID"):
        options = window_options(padding, (stride, 1), (dilation, 1))
        layer = Layer("CONV_2D", types, (2, 50, 1, 7), (11, 5, 1, 7), options, version=5)
        assert layer.check(tolerance=TOLERANCE if types == "f32" else 0.0).shape[2] == 1


@pytest.mark.parametrize(
    ("types", "per_channel"),
    [*((f"f32 {w} f32", each) for w in ("s8", "s4") for each in (False, True)), ("f32 u8 f32", False)],
)
def test_hybrid(types: str, per_channel: bool) -> None:
    """Each batch is quantized by itself: symmetrically, or asymmetrically if each output has its own scale."""
    for case, (x, w, padding, stride, dilation) in enumerate(SHAPES):
        options = window_options(padding, stride, dilation, fused_activation_function=ACTIVATIONS[case % 4])
        layer = Layer(
            "CONV_2D",
            types,
            x,
            w,
            options,
            per_channel=per_channel,
            seed=case,
            version=5,
            constant_weights=case % 3 > 0,
        )
        layer.x[0] *= 3
        layer.check(tolerance=0.0)


@pytest.mark.parametrize("types", ["s8 s4 s32", "s16 s4 s64", "s16 s4 s32"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_small_weights(types: str, per_channel: bool) -> None:
    more = {"quantized_bias_type": "INT32" if types[-3:] == "s32" else "INT64"}
    for case, (x, w, padding, stride, dilation) in enumerate(SHAPES):
        options = window_options(padding, stride, dilation, **more)
        Layer(
            "CONV_2D",
            types,
            x,
            w,
            options,
            per_channel=per_channel,
            seed=case,
            version=7,
            constant_weights=case % 3 > 0,
        ).check()


@pytest.mark.parametrize("bias_type", ["s32", "s64"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_int16(bias_type: str, per_channel: bool) -> None:
    # Without quantized_bias_type LiteRT reads an int32 bias as int64.
    more = {"quantized_bias_type": "INT32" if bias_type == "s32" else "INT64"}
    for case, (x, w, padding, stride, dilation) in enumerate(SHAPES):
        more["fused_activation_function"] = ACTIVATIONS[case % 4]
        options = window_options(padding, stride, dilation, **more)
        types = f"s16 s8 {bias_type}"
        layer = Layer("CONV_2D", types, x, w, options, per_channel=per_channel, seed=case, version=4)
        layer.check()


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize(
    ("scale", "sums", "expected"),
    [(0.007333723828196526, 25838, [189, 190, 190]), (0.00948566384613514, 5322, [50, 50, 51])],
)
def test_uint8_multiplies_its_scales_in_float32(op: str, scale: float, sums: int, expected: list[int]) -> None:
    """Sums next to a tie, which would round the other way if the product of the scales were computed in float64."""
    bias, x_scale = np.arange(sums, sums + 3, dtype=np.int32), 0.023528477177023888
    shape, options = (1, 1, 1, 3), window_options("SAME")
    if op == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = 1
    product = float(np.float32(x_scale) * np.float32(scale))
    inputs = [
        Given(np.zeros(shape, np.uint8), quantization=Quantization((x_scale,), (0,))),
        const(np.full((3, *shape[1:]) if op == "CONV_2D" else shape, 128), np.uint8, Quantization((scale,), (128,))),
        const(bias, np.int32, Quantization((product,), (0,))),
    ]
    y = OneNode(op, inputs, options, quantization=Quantization((x_scale,), (0,))).check()
    np.testing.assert_array_equal(y.ravel(), expected)


@pytest.mark.parametrize("kind", ["f32", "s8", "u8"])
@pytest.mark.parametrize("groups", [2, 3, 6])
def test_groups(kind: str, groups: int) -> None:
    options = window_options("SAME")
    layer = Layer("CONV_2D", kind, (2, 5, 6, 4 * groups), (9 * groups, 3, 3, 4), options, seed=groups)
    layer.check(tolerance=TOLERANCE)


@pytest.mark.parametrize("kind", ["f32", "s8"])
def test_computed_weights(kind: str) -> None:
    layer = Layer("CONV_2D", kind, (2, 7, 7, 6), (12, 3, 3, 3), window_options("SAME"), constant_weights=False)
    layer.check(tolerance=TOLERANCE)
    layer = Layer("CONV_2D", kind, (2, 7, 7, 3), (11, 3, 3, 3), window_options("SAME"), constant_weights=False)
    layer.check(tolerance=TOLERANCE)


@pytest.mark.parametrize("kind", ["f32", "s8", "u8"])
@pytest.mark.parametrize("bias", ["absent", "missing"])
def test_absent_bias(kind: str, bias: str) -> None:
    layer = Layer("CONV_2D", kind, (1, 6, 6, 3), (5, 3, 3, 3), window_options("SAME"), bias=bias)
    layer.check(tolerance=TOLERANCE, oracle=None)  # LiteRT wants a bias


@pytest.mark.parametrize("kind", ["f32", "s8"])
def test_resized_input(kind: str) -> None:
    layer = Layer("CONV_2D", kind, (3, 11, 5, 4), (6, 3, 3, 4), window_options("SAME", (2, 2)), file_shape=(1, 4, 4, 4))
    layer.check(tolerance=TOLERANCE)


@pytest.mark.parametrize("kind", ["f32", "s8"])
@pytest.mark.parametrize("x", [(0, 6, 6, 3), (1, 0, 6, 3)])
def test_no_pixels(kind: str, x: tuple[int, ...]) -> None:
    layer = Layer("CONV_2D", kind, x, (5, 3, 3, 3), window_options("SAME"), file_shape=(1, 6, 6, 3))
    y = layer.check(oracle=REFERENCE if x[0] == 0 else None)  # LiteRT takes no input of height 0
    assert y.shape == (*x[:3], 5)


def test_groups_follow_a_resized_depth() -> None:
    """Weights packed for one group serve two when the input's depth doubles."""
    layer = Layer("CONV_2D", "f32", (1, 5, 5, 6), (8, 3, 3, 3), window_options("SAME"), file_shape=(1, 5, 5, 3))
    layer.check(tolerance=TOLERANCE)


def test_error_of_long_sums() -> None:
    """Within 8 eps of the sum of |x w|, where all of it is positive and long: the worst case of running sums."""
    rng = np.random.default_rng(3)
    weights = rng.random((16, 3, 3, 600)).astype(np.float32)
    layer = Layer("CONV_2D", "f32", (1, 9, 9, 600), weights.shape, window_options("VALID"), weights=weights)
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
    for kind in ("f32", "s8"):
        layer = Layer("CONV_2D", kind, x, w, options)
        with pytest.raises(ShapeError, match=words):
            layer.run()


def test_bias_length_refused() -> None:
    layer = Layer("CONV_2D", "f32", (1, 5, 5, 3), (8, 3, 3, 3), window_options("SAME"), bias_length=7)
    with pytest.raises(ShapeError, match="bias of 7 values does not match 8 outputs"):
        layer.run()


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
    layer = Layer("CONV_2D", "f32", (1, 5, 5, 3), (8, 3, 3, 3), options)
    with pytest.raises(UnsupportedOpError, match=words):
        layer.run()


@pytest.mark.parametrize(
    ("types", "words"),
    [
        ("s8 f32 s32", r"types s8 f32 s32 -> s8 of x filter bias\? -> y are not supported"),
        ("s16 s16 s32", "types s16 s16 s32 -> s16"),
        ("f32 f32 s32", r"f32 f32 f32. -> f32 are"),
        ("s8 s8 f32", "types s8 s8 f32"),
    ],
)
def test_types_refused(types: str, words: str) -> None:
    layer = Layer("CONV_2D", types, (1, 5, 5, 3), (4, 1, 1, 3), window_options("SAME"))
    layer.refused(UnsupportedOpError, words, by_litert=False)  # it runs some


def test_zero_points_beyond_16_bits_are_refused() -> None:
    x = Given(np.zeros((1, 5, 5, 4), np.uint8), quantization=Quantization((0.1,), (0,)))
    w = const(np.zeros((4, 1, 1, 4)), np.uint8, Quantization((0.1,), (70000,)))
    node = OneNode("CONV_2D", [x, w], window_options("SAME"), quantization=Quantization((0.1,), (0,)))
    node.refused(UnsupportedOpError, r"\('c1'\) has the zero point 70000, beyond 16 bits", by_litert=False)


@pytest.mark.parametrize(
    ("x", "w", "y", "words"),
    [
        (((0.1,), (0,)), ((), ()), ((0.1,), (0,)), r"tensor 1 \('c1'\) has 0 scales for 4 outputs"),
        (((0.1,), (0,)), ((0.1,) * 4, (0, 0, 3, 0)), ((0.1,), (0,)), r"\('c1'\) must have zero points of 0, one is 3"),
        (((0.1,), (0,)), ((0.1,) * 4, (0,) * 4, 3), ((0.1,), (0,)), "along dimension 3, it must be 0"),
        (((0.1,), (0,)), ((float("nan"),), (0,)), ((0.1,), (0,)), "scales >= 0"),
        (((), ()), ((0.1,), (0,)), ((0.1,), (0,)), r"tensor 0 \('x0'\) must have one scale, it has 0"),
        (((0.1,), (0,)), ((0.1,), (0,)), ((0.0,), (0,)), r"tensor 2 \('y'\) must have a positive scale, it has 0"),
        (((0.1,), (70000,)), ((0.1,), (0,)), ((0.1,), (0,)), r"\('x0'\) has the zero point 70000, beyond its 8 bits"),
    ],
)
def test_quantization_refused(x: Any, w: Any, y: Any, words: str) -> None:
    node = OneNode(
        "CONV_2D",
        [
            Given(np.zeros((1, 5, 5, 4), np.int8), quantization=Quantization(*x)),
            const(np.zeros((4, 1, 1, 4)), np.int8, Quantization(*w)),
        ],
        window_options("SAME"),
        outs=[Out("s8", Quantization(*y))],
    )
    node.refused(UnsupportedOpError, words, by_litert=False)  # it wants a bias


@pytest.mark.parametrize(
    ("types", "w"),
    [(t, w) for t in ("f32", "s8", "u8", "s16") for w in ((40, 3, 3, 24), (64, 1, 1, 24), (20, 3, 3, 12))],
)
def test_threads(types: str, w: Any) -> None:
    """Lines, pixels and gathered windows; enough work for several blocks."""
    same_for_any_number_of_threads(Layer("CONV_2D", types, (2, 31, 33, 24), w, window_options("SAME")))


def test_windows_of_2_31_elements_are_refused() -> None:
    """Two dilated windows; LiteRT's numbers overflow."""
    w = Given(np.zeros((1, 2, 2, 1), np.float32), True)
    node = OneNode(
        "CONV_2D", [np.zeros((1, 4, 4, 1), np.float32), w, None], window_options("SAME", (1, 1), (1, 2**31 - 1))
    )
    node.refused(ShapeError, "a window of width 2147483648 is larger than 2147483647", by_litert=False)


@pytest.mark.parametrize(("resolver", "refused"), [("AUTO", UnsupportedOpError), ("BUILTIN_REF", KernelError)])
@pytest.mark.parametrize(("kind", "weights"), [("s16", "s8"), ("s8", "s8"), ("u8", "u8"), ("f32", "s8"), ("f32", "u8")])
def test_integer_weights_without_a_scale(kind: str, weights: str, resolver: str, refused: Any) -> None:
    """C refuses them when tensors are allocated, the numpy reference in the run. So does LiteRT, for each input."""
    q = NOT_QUANTIZED if kind == "f32" else Quantization((0.5,), (0,))
    x = Given(values(np.random.default_rng(1), kind, (1, 4, 4, 2)), quantization=q)
    w = Given(np.ones((3, 2, 2, 2), dtype_of(weights)), True, NOT_QUANTIZED)
    node = OneNode("CONV_2D", [x, w, None], window_options("SAME"), quantization=q)
    interpreter = minilite.Interpreter(node.model, experimental_op_resolver_type=minilite.OpResolverType[resolver])
    with pytest.raises(refused, match=r"\(CONV_2D 'y'\): tensor 1 \('c1'\) has 0 scales for 3 outputs"):
        interpreter.run(x.array)
    if peer.HERE:
        with pytest.raises((RuntimeError, ValueError)):
            run_litert(node.model, node.arrays)


# Winograd's tiles ----------------------------------------------------------------------------------


def levels_with_tiles() -> dict[str, Any]:
    """The levels of this machine at which tiles may be faster than windows. Where a product of int16 takes the time of
    two of bytes (`winograd`), tiles of a line never pay."""
    found, i = {}, 0
    while simd := lib.ml_simd_at(i):
        if simd.winograd:
            found[ffi.string(simd.level).decode()] = simd
        i += 1
    return found


LEVELS = levels_with_tiles()
WINDOWS = [(3, 3), (1, 3), (3, 1)]


def both_forms(layer: Layer, level: str, **more: Any) -> tuple[Any, Any, str | None]:
    """The output by windows and by tiles, if these are faster, at a level; and how the second was computed."""
    results, way = [], None
    for winograd in (False, True):
        interpreter = minilite.Interpreter(model_content=layer.model, level=level, winograd=winograd, **more)
        interpreter.resize_tensor_input(0, layer.x.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, layer.x)
        interpreter.invoke()
        results.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
        assert winograd or interpreter.plan.way(0) is None
        way = interpreter.plan.way(0)
    return results[0], results[1], way


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("types", ["s8", "u8", "s8 s4 s32", "f32 s8 f32", "f32 u8 f32"])
def test_tiles_give_the_same_bits(types: str, window: tuple[int, int], level: str) -> None:
    """Channels, outputs, heights and widths around what tiles and vectors hold; the extremes of inputs."""
    rng, ways, varied = np.random.default_rng(5), [], 0
    for seed in range(24):
        channels, outputs = 2 * int(rng.integers(8, 33)), int(rng.integers(16, 65))
        batch, (height, width) = int(rng.integers(1, 3)), rng.choice([*range(1, 14), 15, 16, 20, 24], 2).tolist()
        if seed % 3 == 0:  # pays at every level
            channels, outputs, height, width = channels + 32, outputs + 32, 16, 24
        if seed % 4 == 1 and window != (3, 3):  # sequences
            channels, outputs = channels + 32, outputs + 32
            height, width = (1, 60 + seed) if window == (1, 3) or seed < 9 else (60 + seed, 1)
        padding = "SAME" if min(height, width) < 3 or seed % 3 else "VALID"
        options = window_options(padding, fused_activation_function=ACTIVATIONS[seed % 4])
        x, w = (batch, height, width, channels), (outputs, *window, channels)
        bias = "absent" if seed % 5 == 4 else "constant"
        layer = Layer(
            "CONV_2D", types, x, w, options, per_channel=types == "s8" and seed % 2 > 0, seed=seed, bias=bias,
            y_scale=(0.5, 5.0) if window == (3, 3) else (0.2, 1.0),
        )  # fmt: skip
        if seed % 7 == 0 and types in ("s8", "u8"):
            layer.x = np.where(rng.integers(0, 2, x) > 0, *np.iinfo(layer.x.dtype).min + np.array([0, 255]))
            layer.x = layer.x.astype(layer.arrays[0].dtype)
        plain, tiles, way = both_forms(layer, level, num_threads=(1, 2, 5)[seed % 3])
        ways += [way] if way else []
        np.testing.assert_array_equal(plain, tiles)
        varied += len(np.unique(plain)) > 20
    if window != (3, 3) and LEVELS[level].winograd > 1:
        assert ways == []
    else:
        assert len(ways) > 4
    if window == (3, 1) and ways:  # an image one pixel wide is a line
        assert {"Winograd's tiles of 1 x 4", "Winograd's tiles of 4 x 1"} == set(ways)
    assert varied > 4


@pytest.mark.parametrize("kind", ["s8", "u8", "f32 s8 f32"])
@pytest.mark.parametrize("window", WINDOWS)
def test_tiles_beside_litert(kind: str, window: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    if window != (3, 3) and "avx2" in LEVELS:
        monkeypatch.setenv("MINILITE_ISA", "avx2")
    for case, (height, width) in enumerate([(8, 8), (16, 12), (24, 40)]):
        options = window_options("SAME" if case else "VALID", fused_activation_function=ACTIVATIONS[case])
        x, w = (1 + case % 2, height, width, 64), (40, *window, 64)
        Layer("CONV_2D", kind, x, w, options, per_channel=kind == "s8", seed=case).check(tolerance=0.02)


@pytest.mark.skipif("avx2" not in LEVELS, reason="other levels take less for tiles of 2 x 2")
@pytest.mark.parametrize(
    ("window", "channels", "most", "ways"),
    [
        ((3, 3), 230, 2**25, ("Winograd's tiles of 4 x 4", "Winograd's tiles of 2 x 2")),
        ((1, 3), 5470, 2**28, ("Winograd's tiles of 1 x 4", None)),
        ((3, 1), 5470, 2**28, ("Winograd's tiles of 4 x 1", None)),
    ],
)
def test_the_greatest_sums_decide_the_tiles(window: Any, channels: int, most: int, ways: Any) -> None:
    """Inputs of -128 and weights whose sizes add up to 2^18 make a sum of 2^25, which tiles of 4 x 4 do not give; one
    less does."""
    for total, wanted in zip((most // 128 - 1, most // 128), ways, strict=True):
        w = np.ones((16, *window, channels), np.int8)
        flat = w[7].reshape(-1)
        flat[:] = -(total // flat.size)
        flat[: total % flat.size] -= 1
        assert -flat.astype(np.int64).sum() == total
        options, y_scale = window_options("SAME"), (most / 2**20, most / 2**19)
        layer = Layer("CONV_2D", "s8", (1, 16, 16, channels), w.shape, options, weights=w, y_scale=y_scale, seed=3)
        layer.x[:] = -128
        plain, tiles, way = both_forms(layer, "avx2")
        assert way == wanted
        np.testing.assert_array_equal(plain, tiles)
        assert len(np.unique(plain)) > 1


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("window", WINDOWS)
def test_the_rule_chooses_tiles(window: tuple[int, int], level: str) -> None:
    """The rule of docs/primitives.md, by sides of the image and channels."""
    simd, chosen = LEVELS[level], set()
    for side, c in itertools.product((5, 8, 16, 32), (16, 20, 32, 48, 64, 160)):
        layer = Layer("CONV_2D", "s8", (1, side, side, c), (c, *window, c), window_options("SAME"), y_scale=(0.5, 5.0))
        interpreter = minilite.Interpreter(model_content=layer.model, level=level)
        interpreter.resize_tensor_input(0, layer.x.shape)
        interpreter.allocate_tensors()
        tiles, positions, taps = -(-side // 4) * (-(-side // 4) if window == (3, 3) else side), 6, 3
        if window == (3, 3):
            positions, taps = 36, 9
        cost = positions * ((tiles + 1) * simd.winograd * c * c + tiles * simd.winograd_moved * 2 * c)
        assert (interpreter.plan.way(0) is not None) == (5 * cost < 4 * taps * side * side * c * c)
        chosen.add(interpreter.plan.way(0) is not None)
    assert chosen == ({False, True} if window == (3, 3) or simd.winograd == 1 else {False})


def stacked(sides: list[int], channels: int = 160) -> bytes:
    """Layers of 3 x 3 with weights of their own, in turn: each on the first's output or a resized one, of that side."""
    rng, builder = np.random.default_rng(0), ModelBuilder()
    graph, scale = builder.subgraph(), Quantization((0.05,), (3,))
    x = last = graph.input("x", (1, sides[0], sides[0], channels), TensorType.INT8, quantization=scale)
    for number, side in enumerate(sides):
        shape = (1, side, side, channels)
        size = graph.constant(f"size {number}", np.array([side, side], np.int32))
        last = graph.node("RESIZE_NEAREST_NEIGHBOR", [last, size], out=(f"r{number}", shape, TensorType.INT8, scale))
        w = rng.integers(-90, 91, (channels, 3, 3, channels)).astype(np.int8)
        weights = graph.constant(f"w{number}", w, quantization=Quantization((0.01,), (0,)))
        last = graph.node(
            "CONV_2D", [last, weights, -1], out=(f"y{number}", shape, TensorType.INT8, scale),
            options=window_options("SAME"), version=3,
        )  # fmt: skip
    graph.output(last)
    assert x == 0
    return builder.build()


@pytest.mark.skipif("avx2" not in LEVELS, reason="each level has limits of its own")
def test_larger_weights_go_to_those_that_gain_most() -> None:
    """A layer's tiles take 1.8 MB, a model of 0.7 MB may have 4 MiB of them: two of three, the ones of most pixels."""
    interpreter = minilite.Interpreter(model_content=stacked([8, 32, 16]), level="avx2")
    interpreter.allocate_tensors()
    plan = interpreter.plan
    ways = [plan.way(i) is not None for i, (node, _) in enumerate(plan.nodes()) if plan.kernel(i)[0] == "conv_2d"]
    assert ways == [False, True, True]
    assert 2 * 36 * 2 * 160 * 160 < interpreter.usage.larger_bytes < 4 << 20
    assert interpreter.usage.packed_bytes > interpreter.usage.larger_bytes


@pytest.mark.skipif("avx2" not in LEVELS, reason="each level has limits of its own")
def test_sizes_in_turn_pack_once() -> None:
    """A small size takes windows, a large one tiles; both forms stay, so that no later visit packs weights."""
    layer = Layer("CONV_2D", "s8", (1, 3, 3, 32), (32, 3, 3, 32), window_options("SAME"), per_channel=True)
    interpreter = minilite.Interpreter(model_content=layer.model, level="avx2", plan_cache_bytes=0)
    sizes, packed = [], []
    for side in (2, 64, 2, 64, 2):
        interpreter.resize_tensor_input(0, (1, side, side, 32))
        interpreter.allocate_tensors()
        interpreter.invoke()
        sizes.append(interpreter.plan.way(0) is not None)
        packed.append(interpreter.usage.packed_bytes)
    assert sizes == [False, True, False, True, False]
    assert packed[1:] == packed[1:2] * 4 > packed[:1] * 4


@pytest.mark.skipif("avx2" not in LEVELS, reason="each level has limits of its own")
def test_windows_of_other_kinds_have_no_tiles() -> None:
    """A dilation along a side of one pixel changes nothing."""
    for stride, dilation, window, wanted in (
        ((2, 2), (1, 1), (3, 3), False), ((1, 1), (2, 2), (3, 3), False), ((1, 1), (1, 1), (5, 5), False),
        ((1, 2), (1, 1), (3, 3), False), ((1, 2), (1, 1), (1, 3), False), ((1, 2), (1, 1), (3, 1), False),
        ((1, 1), (1, 2), (1, 3), False), ((1, 1), (1, 1), (1, 5), False), ((1, 1), (1, 1), (2, 3), False),
        ((1, 1), (1, 1), (1, 1), False), ((1, 1), (2, 1), (1, 3), True), ((1, 1), (1, 3), (3, 1), True),
    ):  # fmt: skip
        options = window_options("SAME", stride, dilation)
        layer = Layer("CONV_2D", "s8", (1, 32, 32, 64), (64, *window, 64), options, y_scale=(1.0, 2.0))
        plain, tiles, way = both_forms(layer, "avx2")
        assert (way is not None) == wanted
        np.testing.assert_array_equal(plain, tiles)
