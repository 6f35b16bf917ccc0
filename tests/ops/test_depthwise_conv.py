"""DEPTHWISE_CONV_2D: C kernels, numpy reference and LiteRT agree; integers bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import EPS
from support.node import Given, OneNode, const
from support.weighted import Layer, same_for_any_number_of_threads, window_options

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.quantization import Quantization

OP = "DEPTHWISE_CONV_2D"
KINDS = [("f32", False), ("s8", False), ("s8", True), ("u8", False)]
TOLERANCE = 150 * EPS  # a few eps of the sum of |x w| over a window


def options(padding: str, stride: Any = (1, 1), dilation: Any = (1, 1), multiplier: int = 1, **more: Any) -> Any:
    return window_options(padding, stride, dilation, depth_multiplier=multiplier, **more)


def every(rng: Any, inputs: Any, outputs: Any) -> Any:
    layer = Layer(
        OP, " ".join(inputs), (2, 6, 7, 4), (1, 3, 2, 8), options("SAME", (2, 1), multiplier=2),
        per_channel=inputs[1] == "s8", version=5,
    )  # fmt: skip
    return layer, {"tolerance": TOLERANCE}


EVERY_TYPE = {OP: every}


@pytest.mark.parametrize(("kind", "per_channel"), KINDS)
@pytest.mark.parametrize("channels", [1, 3, 16, 17, 40])
@pytest.mark.parametrize("multiplier", [1, 2, 3, 8, 21])
def test_channels(channels: int, multiplier: int, kind: str, per_channel: bool) -> None:
    for activation in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1"):
        layer = Layer(
            OP, kind, (2, 6, 5, channels), (1, 3, 3, channels * multiplier),
            options("SAME", multiplier=multiplier, fused_activation_function=activation),
            per_channel=per_channel, seed=channels,
        )  # fmt: skip
        layer.check(tolerance=TOLERANCE)


@pytest.mark.parametrize("channels", range(1, 18))
@pytest.mark.parametrize("stride", [1, 2])
def test_few_channels_of_floats(channels: int, stride: int) -> None:
    """With few channels, neighbouring pixels share a panel; the rest of a line, and its edges, are computed pixel by
    pixel."""
    for seed, (kernel, dilation, width) in enumerate(
        (((3, 3), 1, 41), ((1, 1), 1, 37), ((5, 2), 2, 60), ((3, 5), 1, 7))
    ):
        for padding in ("SAME", "VALID"):
            layer = Layer(
                OP, "f32", (2, 9, width, channels), (1, *kernel, channels),
                options(padding, (stride, stride), (1, dilation), fused_activation_function="RELU6"), seed=seed,
            )  # fmt: skip
            layer.check(tolerance=TOLERANCE)


@pytest.mark.parametrize("per_channel", [False, True])
def test_int16(per_channel: bool) -> None:
    for seed, activation in enumerate(("NONE", "RELU", "RELU6", "RELU_N1_TO_1")):
        chosen = options("SAME", (1, 2), multiplier=3, fused_activation_function=activation)
        layer = Layer(
            OP, "s16", (2, 6, 7, 5), (1, 3, 3, 15), chosen,
            per_channel=per_channel, seed=seed, version=5,
        )  # fmt: skip
        layer.check()


@pytest.mark.parametrize(("kind", "per_channel"), KINDS)
def test_random_windows(kind: str, per_channel: bool) -> None:
    rng = np.random.default_rng(11)
    for seed in range(60):
        height, width, channels = (int(v) for v in rng.integers(3, 14, 3))
        kh, kw, stride_h, stride_w = (int(v) for v in rng.integers(1, 4, 4))
        dilation = (1, 1) if kh > height // 2 or kw > width // 2 else tuple(int(v) for v in rng.integers(1, 3, 2))
        padding = "SAME" if rng.random() < 0.5 else "VALID"
        chosen = options(padding, (stride_h, stride_w), dilation)
        x = (int(rng.integers(1, 4)), height, width, channels)
        layer = Layer(OP, kind, x, (1, kh, kw, channels), chosen, per_channel=per_channel, seed=seed)
        layer.check(tolerance=TOLERANCE)


@pytest.mark.parametrize(("kind", "per_channel"), KINDS)
@pytest.mark.parametrize("window", [(1, 1), (5, 1), (9, 1), (4, 3), (1, 6)])
def test_outputs_of_one_pixel(window: tuple[int, int], kind: str, per_channel: bool) -> None:
    """Windows cover the whole input, or all but its end."""
    height, width = window
    for channels, dilation, more in ((1, 1, 0), (20, 1, 1), (64, 2, 0), (130, 1, 0)):
        x = (1, (height - 1) * dilation + 1 + more, width + more, channels)
        chosen = options("VALID", (2, 2), (dilation, 1))
        layer = Layer(OP, kind, x, (1, height, width, channels), chosen, per_channel=per_channel, seed=channels)
        layer.check(tolerance=TOLERANCE)


@pytest.mark.parametrize(("kind", "per_channel"), [*KINDS, ("f32 s8 f32", True)])
@pytest.mark.parametrize("multiplier", [1, 2])
def test_lines_in_several_stretches(multiplier: int, kind: str, per_channel: bool) -> None:
    """Lines have more columns than are interleaved at a time; their edges are in the first and the last stretch."""
    for seed, (kernel, stride, dilation) in enumerate((((3, 3), 1, 1), ((3, 3), 2, 1), ((5, 5), 1, 1), ((2, 4), 1, 3))):
        for padding in ("SAME", "VALID"):
            layer = Layer(
                OP, kind, (2, 9, 201, 64 // multiplier), (1, *kernel, 64),
                options(padding, (stride, stride), (1, dilation), multiplier), per_channel=per_channel, seed=seed, version=6,
            )  # fmt: skip
            tolerance = 1e-6 * float(np.abs(layer.run()).max()) if kind == "f32 s8 f32" else TOLERANCE
            layer.check(tolerance=tolerance)


@pytest.mark.parametrize(("kind", "per_channel"), KINDS)
@pytest.mark.parametrize("channels", [1, 16, 130])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_images_one_pixel_wide(channels: int, padding: str, kind: str, per_channel: bool) -> None:
    """Lines of one pixel are adjacent in memory; high images are computed in several pieces."""
    for height, filter_height, stride in ((4, 1, 1), (5, 9, 1), (28, 5, 1), (29, 10, 2), (30, 4, 3), (300, 3, 1)):
        if padding == "VALID" and filter_height > height:
            continue
        layer = Layer(
            OP, kind, (2, height, 1, channels), (1, filter_height, 1, channels), options(padding, (stride, stride)),
            per_channel=per_channel, seed=height,
        )  # fmt: skip
        layer.check(tolerance=TOLERANCE)


@pytest.mark.parametrize("kind", ["f32", "s8", "u8"])
def test_computed_weights_absent_bias_resized_input(kind: str) -> None:
    x, w = (2, 7, 7, 20), (1, 3, 3, 20)
    layer = Layer(OP, kind, x, w, options("SAME", (2, 2)), constant_weights=False, file_shape=(1, 4, 4, 20))
    layer.check(tolerance=TOLERANCE)
    layer = Layer(OP, kind, x, w, options("SAME"), bias="missing")
    layer.check(tolerance=TOLERANCE)
    layer = Layer(OP, kind, x, w, options("SAME"), bias="absent")
    layer.check(tolerance=TOLERANCE, oracle=None)  # LiteRT refuses a bias of -1
    layer = Layer(OP, kind, (0, 7, 7, 20), w, options("SAME"), file_shape=x)
    layer.check()


@pytest.mark.parametrize("kind", ["s8", "u8"])
@pytest.mark.parametrize("window", [(1, 300), (17, 17), (300, 2)])
def test_windows_beyond_what_float_sums_exactly(kind: str, window: tuple[int, int]) -> None:
    weights = np.full((1, *window, 5), 127 if kind == "s8" else 255)
    weights = weights.astype(np.int8 if kind == "s8" else np.uint8)
    weights[..., 1:] -= np.arange(4, dtype=weights.dtype)
    for padding in ("SAME", "VALID"):
        layer = Layer(OP, kind, (1, 301, 302, 5), weights.shape, options(padding, (100, 50)), weights=weights)
        layer.x[..., :2] = np.iinfo(layer.x.dtype).max
        layer.check()


def test_sums_beyond_what_float_counts_exactly() -> None:
    """289 products of 255 * 255 exceed 2 ** 24; with the bias, 5 remain."""
    most, one = np.full((1, 17, 17, 1), 255, np.uint8), Quantization((1.0,), (0,))
    inputs = [Given(most, False, one), Given(most, True, one), const([5 - 289 * 255 * 255], np.int32, one)]
    node = OneNode(OP, inputs, options("VALID"), kind="u8", quantization=one)
    assert node.check().tolist() == [[[[5]]]]


@pytest.mark.parametrize(
    ("x", "w", "chosen", "words"),
    [
        ((1, 5, 5, 4), (1, 3, 3, 6), options("SAME"), "6 filters are not a multiple of the input depth 4"),
        ((1, 5, 5, 0), (1, 3, 3, 6), options("SAME"), "6 filters are not a multiple of the input depth 0"),
        ((1, 5, 5, 3), (2, 3, 3, 3), options("SAME"), r"shape is \(2, 3, 3, 3\)"),
        ((1, 2, 5, 3), (1, 4, 3, 3), options("VALID"), "height 4 does not fit into the input's height of 2"),
        ((5, 5, 3), (1, 3, 3, 3), options("SAME"), r"shape is \(5, 5, 3\)"),
    ],
)
def test_shapes_refused(x: Any, w: Any, chosen: Any, words: str) -> None:
    for kind in ("f32", "s8"):
        layer = Layer(OP, kind, x, w, chosen)
        with pytest.raises(ShapeError, match=words):
            layer.run()


def test_bias_length_refused() -> None:
    layer = Layer(OP, "f32", (1, 5, 5, 3), (1, 3, 3, 6), options("SAME"), bias_length=3)
    with pytest.raises(ShapeError, match="bias of 3 values does not match 6 outputs"):
        layer.run()


def test_options_refused() -> None:
    layer = Layer(OP, "f32", (1, 5, 5, 3), (1, 3, 3, 3), options("SAME", stride=(0, 1)))
    with pytest.raises(UnsupportedOpError, match="stride_h must be positive, it is 0"):
        layer.run()


@pytest.mark.parametrize("types", ["f32", "s8", "u8", "s16"])
@pytest.mark.parametrize("multiplier", [1, 2])
def test_threads(types: str, multiplier: int) -> None:
    layer = Layer(
        OP, types, (2, 60, 61, 32), (1, 3, 3, 32 * multiplier), options("SAME", multiplier=multiplier), version=5
    )
    same_for_any_number_of_threads(layer)


@pytest.mark.parametrize("types", ["s8", "f32 s8 f32"])
def test_threads_over_images_one_pixel_wide(types: str) -> None:
    layer = Layer(OP, types, (2, 3000, 1, 40), (1, 5, 1, 40), options("SAME", (2, 2)), per_channel=True, version=6)
    same_for_any_number_of_threads(layer)


@pytest.mark.parametrize("types", ["f32 s8 f32", "s8 s4 s32"])
@pytest.mark.parametrize("multiplier", [1, 3])
@pytest.mark.parametrize("width", [7, 1])
def test_hybrid_and_small_weights(types: str, multiplier: int, width: int) -> None:
    """Each batch is quantized by itself in hybrid nodes, for which LiteRT needs a scale per output."""
    for seed in range(12):
        stride = (1 + seed % 2 if width == 1 else 1, 1 + seed % 2)
        layer = Layer(
            OP, types, (3, 6, width, 5), (1, 3, min(2, width), 5 * multiplier),
            options("SAME", stride, multiplier=multiplier),
            per_channel=types[0] == "f" or seed % 2 == 1, version=6, seed=seed, constant_weights=seed % 3 > 0,
        )  # fmt: skip
        if types[0] == "f":
            layer.x[0] *= 3
        tolerance = 1e-6 * max(1.0, float(np.abs(layer.run()).max())) if types[0] == "f" else 0.0
        layer.check(tolerance=tolerance)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [3, 5])
def test_columns_that_share_sets_of_a_cache(stride: int, size: int) -> None:
    """Few pixels of 512 channels are computed at a time, which changes no bit of them."""
    options = window_options("SAME", (stride, stride), depth_multiplier=1)
    results = []
    for channels in (512, 528):
        layer = Layer("DEPTHWISE_CONV_2D", "f32", (1, 7, 14, channels), (1, size, size, channels), options, seed=1)
        for array in (layer.x, layer.weights):
            array[..., :512] = np.random.default_rng(2).normal(size=(*array.shape[:-1], 512))
        layer.bias[:512] = 1.5
        inputs = [Given(layer.x), const(layer.weights, np.float32), const(layer.bias, np.float32)]
        results.append(OneNode("DEPTHWISE_CONV_2D", inputs, options).check(tolerance=TOLERANCE))
    np.testing.assert_array_equal(results[0], results[1][..., :512])
