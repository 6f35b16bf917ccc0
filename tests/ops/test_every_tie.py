"""Each operator of floats and integer weights quantizes a float that lies between two steps as LiteRT does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import test_every_type
from support.compare import BUILTIN, REFERENCE, run_litert, run_minilite
from support.node import Array, Given, OneNode, Out, const
from support.weighted import window_options

from minilite.format.quantization import Quantization

DEPTH = 40
STEPS = np.append([-127, 128], np.arange(-19, 19) + 0.5).astype(np.float32)
"""Inputs that asymmetric quantization turns into steps of 1, with a zero point of -1."""
SYMMETRIC = np.append([-127, 127], np.arange(-19, 19) + 0.5).astype(np.float32)
ONE = np.float32(1 / 64)
"""The scale of all weights, so that results are exact."""


def weights(*shape: int, axis: int | None = None, scales: Any = ONE) -> Given:
    """Constant weights; with an axis, a scale for each of its places."""
    count = 1 if axis is None else shape[axis]
    made = np.broadcast_to(np.asarray(scales, np.float32), (count,))
    array = np.random.default_rng(3).integers(-127, 128, shape).astype(np.int8)
    return const(array, np.int8, Quantization(tuple(float(s) for s in made), (0,) * count, axis or 0))


def floats(*shape: int) -> Given:
    return const(np.zeros(shape), np.float32)


def state(*shape: int) -> Given:
    return Given(np.zeros(shape, np.float32), variable=True)


def fully_connected(x: Array, **options: Any) -> OneNode:
    return OneNode("FULLY_CONNECTED", [x, weights(7, DEPTH), None], options, version=9)


def batch_matmul(x: Array, **options: Any) -> OneNode:
    return OneNode("BATCH_MATMUL", [x, weights(DEPTH, 7)], options, version=4)


def conv(x: Array, scales: Any = (ONE, 2 * ONE)) -> OneNode:
    filters = weights(2, 1, 1, DEPTH, axis=0, scales=scales)
    return OneNode("CONV_2D", [x.reshape(1, 1, 1, -1), filters, floats(2)], window_options("VALID"), version=5)


def depthwise_conv(x: Array, scales: Any = ONE) -> OneNode:
    filters = weights(1, 1, 1, DEPTH, axis=3, scales=scales)
    options = window_options("VALID", depth_multiplier=1)
    return OneNode("DEPTHWISE_CONV_2D", [x.reshape(1, 1, 1, -1), filters, floats(DEPTH)], options, version=6)


def transpose_conv(x: Array, scales: Any = ONE) -> OneNode:
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    filters = weights(3, 1, 1, DEPTH, axis=0, scales=scales)
    given = [const([1, 1, 1, 3]), filters, x.reshape(1, 1, 1, -1), floats(3)]
    return OneNode("TRANSPOSE_CONV", given, options, kind="f32", version=4)


def svdf(x: Array, **options: Any) -> OneNode:
    time = const(np.ones((6, 2)), np.int8, Quantization((1.0,), (0,)))
    given = [x, weights(6, DEPTH), time, floats(6), state(1, 12)]
    return OneNode("SVDF", given, {"rank": 1, **options}, version=4)


def rnn(op: str, x: Array, **options: Any) -> OneNode:
    way = [weights(6, DEPTH), weights(6, 6), floats(6), state(1, 6)]
    both = op == "BIDIRECTIONAL_SEQUENCE_RNN"
    given = [x if op == "RNN" else x[None], *way * (1 + both), *[None] * 3 * both]
    text = {} if op == "RNN" else {"time_major": True}
    return OneNode(op, given, {"fused_activation_function": "NONE", **text, **options}, outs=[Out("f32")] * (1 + both))


def lstm(op: str, x: Array, **options: Any) -> OneNode:
    """Small weights, because gates are nearly constant beyond sums of 8."""
    tiny = ONE / 1024
    way = [weights(6, DEPTH, scales=tiny) for _ in range(4)] + [weights(6, 6, scales=tiny) for _ in range(4)]
    way += [None] * 3 + [floats(6)] * 4 + [None] * 2
    states = [state(1, 6), state(1, 6)]
    both = op == "BIDIRECTIONAL_SEQUENCE_LSTM"
    given = [x if op == "LSTM" else x[None], *way * (1 + both), *states * (1 + both), *[None] * (9 if both else 4)]
    text = {} if op == "LSTM" else {"time_major": True}
    outs = [Out("f32")] * (1 + both)
    return OneNode(op, given, {"fused_activation_function": "TANH", **text, **options}, outs=outs, version=3)


NODES: dict[str, Callable[..., OneNode]] = {
    "FULLY_CONNECTED": fully_connected,
    "BATCH_MATMUL": batch_matmul,
    "CONV_2D": conv,
    "DEPTHWISE_CONV_2D": depthwise_conv,
    "TRANSPOSE_CONV": transpose_conv,
    "SVDF": svdf,
    **{op: functools.partial(rnn, op) for op in ("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN")},
    **{
        op: functools.partial(lstm, op)
        for op in ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM")
    },
}
CONVOLUTIONS = [op for op in NODES if "CONV" in op]
"""They quantize by their scales alone; all others have an option."""


def takes_integer_weights(op: str, signatures: tuple[str, ...]) -> bool:
    if op in ("PAD", "PADV2"):  # their paddings are integers
        return False
    image = 2 if op == "TRANSPOSE_CONV" else 0
    return any(
        inputs[image : image + 1] == ("f32",) and inputs[1:2] == ("s8",) and outputs[0] == "f32"
        for inputs, outputs in test_every_type.combinations(signatures)
    )


def test_no_operator_is_missing() -> None:
    assert {row.name for row in test_every_type.ROWS if takes_integer_weights(row.name, row.types)} == set(NODES)


@pytest.mark.parametrize("op", NODES)
@pytest.mark.parametrize("asymmetric", [True, False])
def test_ties(op: str, asymmetric: bool) -> None:
    """x / scale is rounded away from zero, and then the zero point is added."""
    if op in CONVOLUTIONS:
        node = NODES[op](STEPS if asymmetric else SYMMETRIC)
    else:
        node = NODES[op]((STEPS if asymmetric else SYMMETRIC)[None], asymmetric_quantize_inputs=asymmetric)
    agree(node)


@pytest.mark.parametrize("op", CONVOLUTIONS)
@pytest.mark.parametrize("scales", [ONE, None])
def test_scales_that_are_all_equal(op: str, scales: Any) -> None:
    """CONV_2D then quantizes symmetrically, the others do not."""
    count = {"CONV_2D": 2, "TRANSPOSE_CONV": 3, "DEPTHWISE_CONV_2D": DEPTH}[op]
    rng = np.random.default_rng(0)
    node = NODES[op](rng.normal(1, 1, DEPTH).astype(np.float32), [*[ONE] * (count - 1), scales or ONE * 2])
    agree(node)


def agree(node: OneNode) -> None:
    """Nothing but a sum's order of roundings may differ; a step would be far more."""
    y = run_minilite(node.model, node.arrays)
    others = [run_minilite(node.model, node.arrays, reference=True)]
    others += [run_litert(node.model, node.arrays, kernels) for kernels in (REFERENCE, BUILTIN)]
    for other in others:
        for found, expected in zip(y, other, strict=True):
            np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)
