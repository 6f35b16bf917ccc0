"""AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D: C kernels, numpy reference and LiteRT agree, integers bit for bit (oracle:
BUILTIN_REF)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from built import ready, run
from support.cases import Case
from support.compare import EPS, check
from support.node import Given, OneNode, scaled, values
from support.weighted import same_for_any_number_of_threads

from minilite.errors import ShapeError, UnsupportedOpError

OPS = ["AVERAGE_POOL_2D", "MAX_POOL_2D"]
KINDS = ["f32", "s8", "u8", "s16"]
TOLERANCE = 4 * EPS


OPTIONS = {"padding": "SAME", "stride_h": 2, "stride_w": 1, "filter_height": 3, "filter_width": 2}
EVERY_TYPE = {
    **dict.fromkeys(OPS, Case([(2, 7, 6, 5)], OPTIONS, tolerance=TOLERANCE, version=3)),
    "L2_POOL_2D": Case([(2, 7, 6, 5)], OPTIONS, tolerance=16 * EPS),
}


def pool(
    op: str, kind: str, shape: Any, size: Any, stride: Any, padding: str, activation: str = "NONE", seed: int = 0
) -> OneNode:
    """A node of one pool, and an input for it."""
    rng = np.random.default_rng(seed)
    scale = scaled(rng, kind, 0.02, 0.2)
    options = {
        "padding": padding, "stride_h": stride[0], "stride_w": stride[1], "filter_height": size[0],
        "filter_width": size[1], "fused_activation_function": activation,
    }  # fmt: skip
    x = Given(values(rng, kind, shape, 1.0), quantization=scale, shape=(1,) * len(shape))
    return OneNode(op, [x], options, quantization=scale, version=1 if op == "L2_POOL_2D" else 3 if kind == "s16" else 2)


@pytest.mark.parametrize(("op", "kind"), [*itertools.product(OPS, KINDS), ("L2_POOL_2D", "f32")])
@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
def test_random(op: str, kind: str, activation: str) -> None:
    rng = np.random.default_rng(5)
    for seed in range(25):
        batch, height, width, channels = (int(v) for v in rng.integers(1, (4, 14, 14, 70)))
        size = [int(v) for v in rng.integers(1, (min(height, 5) + 1, min(width, 5) + 1))]
        stride = [int(v) for v in rng.integers(1, 4, 2)]
        padding = "SAME" if rng.random() < 0.5 else "VALID"
        pool(op, kind, (batch, height, width, channels), size, stride, padding, activation, seed).check(
            tolerance=16 * EPS if op == "L2_POOL_2D" else TOLERANCE
        )


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", KINDS)
def test_edges(op: str, kind: str) -> None:
    for shape, size, stride, padding in (
        ((1, 1, 1, 1), (1, 1), (1, 1), "VALID"),
        ((1, 3, 4, 5), (7, 9), (1, 1), "SAME"),
        ((2, 7, 7, 64), (7, 7), (7, 7), "VALID"),
        ((0, 4, 4, 3), (2, 2), (2, 2), "VALID"),
        ((1, 2, 5, 3), (3, 1), (2, 1), "VALID"),  # no whole window, by less than a stride: no output, as in LiteRT
    ):
        pool(op, kind, shape, size, stride, padding).check(tolerance=TOLERANCE)


@pytest.mark.parametrize(("op", "kind"), [*itertools.product(OPS, ["f32", "s8"])])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_strips(op: str, kind: str, stride: int) -> None:
    """Lines that are gone through a strip at a time, several in a block."""
    pool(op, kind, (2, 33, 77, 64), (3, 3), (stride, stride), "SAME").check(tolerance=TOLERANCE)
    pool(op, kind, (1, 17, 3001, 3), (3, 3), (stride, stride), "SAME").check(tolerance=TOLERANCE)


@pytest.mark.parametrize("size", [(7, 7), (5, 3), (4, 9)])
@pytest.mark.parametrize("activation", ["NONE", "RELU6"])
def test_whole_images(size: Any, activation: str) -> None:
    pool("AVERAGE_POOL_2D", "f32", (3, *size, 130), size, (1, 1), "VALID", activation).check(tolerance=TOLERANCE)


def test_max_skips_nan() -> None:
    node = pool("MAX_POOL_2D", "f32", (1, 1, 2, 5), (1, 2), (1, 1), "VALID", "RELU6")
    nan, inf = np.nan, np.inf
    x = np.array([[[[1, nan, nan, -inf, 7], [nan, 1, nan, -inf, nan]]]], np.float32)
    (y,) = check(node.model, [x])
    np.testing.assert_array_equal(y[0, 0, 0], [1, 1, 0, 0, 6])
    node = pool("MAX_POOL_2D", "f32", (1, 1, 2, 5), (1, 2), (1, 1), "VALID")
    (y,) = check(node.model, [x])
    np.testing.assert_array_equal(y[0, 0, 0, :2], [1, 1])


def test_means_round_half_away_from_zero() -> None:
    node = pool("AVERAGE_POOL_2D", "s8", (1, 1, 2, 4), (1, 2), (1, 1), "VALID")
    x = np.array([[[[1, -1, -3, 127], [2, -2, -4, 126]]]], np.int8)
    (y,) = check(node.model, [x])
    np.testing.assert_array_equal(y[0, 0, 0], [2, -2, -4, 127])


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    ("shape", "size", "padding", "words"),
    [
        ((1, 2, 5, 3), (4, 1), "VALID", "height 4 does not fit into the input's height of 2"),
        ((1, 5, 5), (1, 1), "VALID", r"shape is \(1, 5, 5\)"),
    ],
)
def test_shapes_refused(op: str, shape: Any, size: Any, padding: str, words: str) -> None:
    pool(op, "f32", shape, size, (1, 1), padding).refused(ShapeError, words, by_litert=False)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    ("kind", "size", "stride", "words"),
    [
        ("f32", (0, 1), (1, 1), "filter_height must be positive, it is 0"),
        ("f32", (1, 1), (1, -1), "stride_w must be positive, it is -1"),
        ("s32", (1, 1), (1, 1), "types s32 -> s32 of x -> y are not supported"),
    ],
)
def test_refused(op: str, kind: str, size: Any, stride: Any, words: str) -> None:
    pool(op, kind, (1, 5, 5, 3), size, stride, "SAME").refused(UnsupportedOpError, words, by_litert=False)


@pytest.mark.parametrize("op", OPS)
def test_a_fused_activation_without_a_scale_is_refused(op: str) -> None:
    options = {**OPTIONS, "fused_activation_function": "RELU"}
    node = OneNode(op, [np.zeros((1, 5, 5, 3), np.int8)], options, version=2)
    node.refused(UnsupportedOpError, "must have a positive scale, it has 0", by_litert=False)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", KINDS)
def test_threads(op: str, kind: str) -> None:
    node = pool(op, kind, (2, 40, 41, 33), (3, 3), (1, 1), "SAME")
    node = OneNode(
        op,
        [Given(node.arrays[0])],
        {"padding": "SAME", "stride_h": 1, "stride_w": 1, "filter_height": 3, "filter_width": 3},
    )
    same_for_any_number_of_threads(node)


@pytest.mark.parametrize("kind", ["s8", "u8"])
def test_windows_and_steps_beyond_the_image(kind: str) -> None:
    """The product of window and step is 2^32 - 1, which is -1 in 32 bits. The size of a strip was once divided by this
    product plus 1."""
    node = pool("MAX_POOL_2D", kind, (1, 3, 3, 1), (65535, 65535), (1, 65537), "SAME")
    interpreter = ready(node.model)
    x = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(x, (1, 3, 3, 1))
    interpreter.allocate_tensors()
    values = np.arange(9).reshape(1, 3, 3, 1).astype(kind.replace("s", "int").replace("u", "uint"))
    assert run(interpreter, values)[0].tolist() == [[[[8]], [[8]], [[8]]]]


def test_l2_extremes() -> None:
    node = pool("L2_POOL_2D", "f32", (1, 1, 2, 4), (1, 2), (1, 1), "VALID")
    x = np.array([[[[1, np.nan, np.inf, 3e38], [2, 1, -np.inf, 1]]]], np.float32)
    (y,) = check(node.model, [x], tolerance=4 * EPS, oracle=None)  # LiteRT gives the largest float for infinity
    np.testing.assert_array_equal(y[0, 0, 0, 1:], [np.nan, np.inf, np.inf])
