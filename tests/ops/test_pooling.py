"""AVERAGE_POOL_2D, MAX_POOL_2D: C kernels, numpy reference and LiteRT agree bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import EPS, check, run_minilite
from layers import FLOAT32, INT8, INT16, UINT8, quantization, values

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

OPS = ["AVERAGE_POOL_2D", "MAX_POOL_2D"]
KINDS = [FLOAT32, INT8, UINT8, INT16]
TOLERANCE = 4 * EPS


def pool(
    op: str, kind: TensorType, shape: Any, size: Any, stride: Any, padding: str, activation: str = "NONE", seed: int = 0
) -> tuple[bytes, Any]:
    """A model of one pool, and an input for it."""
    rng = np.random.default_rng(seed)
    scale = quantization(rng, kind, 0.02, 0.2)
    builder = ModelBuilder()
    g = builder.subgraph()
    x = g.input("x", (1,) * len(shape), kind, quantization=scale)
    options = {
        "padding": padding, "stride_h": stride[0], "stride_w": stride[1], "filter_height": size[0],
        "filter_width": size[1], "fused_activation_function": activation,
    }  # fmt: skip
    g.output(g.node(op, [x], out=("y", (1,) * 4, kind, scale), options=options, version=3 if kind == INT16 else 2))
    return builder.build(), values(rng, kind, shape)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
def test_random(op: str, kind: TensorType, activation: str) -> None:
    rng = np.random.default_rng(5)
    for seed in range(25):
        batch, height, width, channels = (int(v) for v in rng.integers(1, (4, 14, 14, 70)))
        size = [int(v) for v in rng.integers(1, (min(height, 5) + 1, min(width, 5) + 1))]
        stride = [int(v) for v in rng.integers(1, 4, 2)]
        padding = "SAME" if rng.random() < 0.5 else "VALID"
        model, x = pool(op, kind, (batch, height, width, channels), size, stride, padding, activation, seed)
        check(model, [x], tolerance=TOLERANCE)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", KINDS)
def test_edges(op: str, kind: TensorType) -> None:
    for shape, size, stride, padding in (
        ((1, 1, 1, 1), (1, 1), (1, 1), "VALID"),
        ((1, 3, 4, 5), (7, 9), (1, 1), "SAME"),
        ((2, 7, 7, 64), (7, 7), (7, 7), "VALID"),
        ((0, 4, 4, 3), (2, 2), (2, 2), "VALID"),
        ((1, 2, 5, 3), (3, 1), (2, 1), "VALID"),  # no whole window, by less than a stride: no output, as in LiteRT
    ):
        model, x = pool(op, kind, shape, size, stride, padding)
        check(model, [x], tolerance=TOLERANCE)


def test_max_skips_nan() -> None:
    model, _ = pool("MAX_POOL_2D", FLOAT32, (1, 1, 2, 5), (1, 2), (1, 1), "VALID", "RELU6")
    nan, inf = np.nan, np.inf
    x = np.array([[[[1, nan, nan, -inf, 7], [nan, 1, nan, -inf, nan]]]], np.float32)
    (y,) = check(model, [x])
    np.testing.assert_array_equal(y[0, 0, 0], [1, 1, 0, 0, 6])
    model, _ = pool("MAX_POOL_2D", FLOAT32, (1, 1, 2, 5), (1, 2), (1, 1), "VALID")
    (y,) = check(model, [x])
    np.testing.assert_array_equal(y[0, 0, 0, :2], [1, 1])


def test_means_round_half_away_from_zero() -> None:
    model, _ = pool("AVERAGE_POOL_2D", INT8, (1, 1, 2, 4), (1, 2), (1, 1), "VALID")
    x = np.array([[[[1, -1, -3, 127], [2, -2, -4, 126]]]], np.int8)
    (y,) = check(model, [x])
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
    model, x = pool(op, FLOAT32, shape, size, (1, 1), padding)
    with pytest.raises(ShapeError, match=words):
        run_minilite(model, [x])


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    ("kind", "size", "stride", "words"),
    [
        (FLOAT32, (0, 1), (1, 1), "filter_height must be positive, it is 0"),
        (FLOAT32, (1, 1), (1, -1), "stride_w must be positive, it is -1"),
        (TensorType.INT32, (1, 1), (1, 1), "types of input and output INT32, INT32 are not supported"),
    ],
)
def test_refused(op: str, kind: TensorType, size: Any, stride: Any, words: str) -> None:
    model, x = pool(op, kind, (1, 5, 5, 3), size, stride, "SAME")
    with pytest.raises(UnsupportedOpError, match=words):
        run_minilite(model, [x])
