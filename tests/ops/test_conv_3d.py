"""CONV_3D, CONV_3D_TRANSPOSE: C kernels, numpy reference and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import REFERENCE, check, run_minilite
from support.node import Given, OneNode, const, values
from support.weighted import same_for_any_number_of_threads

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.quantization import Quantization

TOLERANCE = 2e-4


def options_of(stride: Any, dilation: Any, padding: str, activation: str) -> dict[str, Any]:
    return {
        "padding": padding, "fused_activation_function": activation,
        **{f"stride_{n}": s for n, s in zip("dhw", stride, strict=True)},
        **{f"dilation_{n}_factor": d for n, d in zip("dhw", dilation, strict=True)},
    }  # fmt: skip


def conv(
    shape: Any = (2, 4, 5, 6, 3), taps: Any = (2, 3, 2), outputs: int = 5, stride: Any = (1, 1, 1), dilation: Any = (1, 1, 1),
    padding: str = "SAME", activation: str = "NONE", *, bias: bool = True, constant: bool = True,
) -> OneNode:  # fmt: skip
    rng = np.random.default_rng(5)
    given = [values(rng, "f32", shape), Given(values(rng, "f32", (*taps, shape[4], outputs)), constant)]
    if bias:
        given.append(const(values(rng, "f32", (outputs,)), np.float32))
    return OneNode("CONV_3D", given, options_of(stride, dilation, padding, activation))


def transpose(
    shape: Any = (2, 3, 4, 2, 3), taps: Any = (2, 3, 2), outputs: int = 5, stride: Any = (1, 1, 1), dilation: Any = (1, 1, 1),
    padding: str = "SAME", activation: str = "NONE", *, bias: bool = True, constant: bool = True, more: int = 0,
) -> OneNode:  # fmt: skip
    rng = np.random.default_rng(5)
    sides = [n * s for n, s in zip(shape[1:4], stride, strict=True)]
    if padding == "VALID":
        sides = [(n - 1) * s + (t - 1) * d + 1 for n, s, t, d in zip(shape[1:4], stride, taps, dilation, strict=True)]
    given = [
        Given(np.array([shape[0], *(side + more for side in sides), outputs], np.int32), constant),
        Given(values(rng, "f32", (*taps, outputs, shape[4])), constant),
        values(rng, "f32", shape),
    ]
    if bias:
        given.append(const(values(rng, "f32", (outputs,)), np.float32))
    return OneNode("CONV_3D_TRANSPOSE", given, options_of(stride, dilation, padding, activation), kind="f32")


EVERY_TYPE = {
    "CONV_3D": lambda rng, inputs, outputs: (conv(), {"tolerance": TOLERANCE}),
    "CONV_3D_TRANSPOSE": lambda rng, inputs, outputs: (transpose(), {"tolerance": TOLERANCE}),
}
WINDOWS = [
    ((1, 1, 1), (1, 1, 1), (1, 1, 1)), ((2, 3, 2), (1, 1, 1), (1, 1, 1)), ((3, 3, 3), (2, 2, 2), (1, 1, 1)),
    ((1, 2, 3), (3, 1, 2), (1, 1, 1)), ((2, 2, 2), (1, 1, 1), (2, 1, 3)),
]  # fmt: skip


@pytest.mark.parametrize("make", [conv, transpose])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("taps", "stride", "dilation"), WINDOWS)
def test_windows(make: Any, taps: Any, stride: Any, dilation: Any, padding: str) -> None:
    for options in ({}, {"activation": "RELU6"}, {"bias": False}, {"constant": False}):
        make((2, 4, 5, 7, 3), taps, 5, stride, dilation, padding, **options).check(tolerance=TOLERANCE)


@pytest.mark.parametrize("make", [conv, transpose])
def test_sizes(make: Any) -> None:
    make((1, 2, 2, 2, 40), (2, 2, 2), 37).check(tolerance=1e-3)
    make((1, 1, 1, 1, 1), (1, 1, 1), 1).check(tolerance=TOLERANCE)
    make((1, 9, 30, 31, 2), (3, 3, 3), 4).check(tolerance=TOLERANCE)
    make((0, 3, 3, 3, 2), (2, 2, 2), 4).check(tolerance=TOLERANCE, oracle=REFERENCE if make is conv else None)


@pytest.mark.parametrize("make", [conv, transpose])
def test_threads(make: Any) -> None:
    same_for_any_number_of_threads(make((2, 9, 20, 21, 3), (3, 3, 3), 8))


RESIZED = [(2, 3, 4, 2), (1, 5, 4, 2), (3, 1, 9, 4), (1, 3, 4, 7), (2, 0, 4, 1), (0, 3, 4, 2)]
"""Batch and sides of inputs; (1, 3, 4, 2) is the file's."""


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(
    ("stride", "dilation", "more"), [((2, 2, 2), (1, 1, 1), 0), ((2, 3, 2), (1, 1, 1), -1), ((1, 1, 1), (2, 1, 3), 0)]
)
def test_constant_size_follows_a_resized_input(padding: str, stride: Any, dilation: Any, more: int) -> None:
    """As the same layer in a file of that size, which LiteRT computes."""
    kept = {"stride": stride, "dilation": dilation, "padding": padding, "more": more if padding == "SAME" else -more}
    small = transpose((1, 3, 4, 2, 3), (2, 3, 2), **kept)
    for shape in RESIZED:
        size, _, x, *_ = transpose((*shape, 3), (2, 3, 2), **kept).given
        size = size._replace(array=np.maximum(size.array, 0))  # where the input is empty
        given = [size, small.given[1], x, *small.given[3:]]
        built = OneNode("CONV_3D_TRANSPOSE", given, small.options, kind="f32")
        (y,) = check(small.model, built.arrays, tolerance=TOLERANCE, oracle=None)
        empty = 0 in shape
        np.testing.assert_array_equal(y, built.check(tolerance=TOLERANCE, oracle=None if empty else REFERENCE))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_sizes_that_do_not_fit_are_refused(padding: str) -> None:
    """A computed size is never changed; a constant one that does not fit in the file says nothing of other inputs."""
    for constant in (True, False):
        node = transpose((1, 3, 4, 2, 3), stride=(2, 2, 2), padding=padding, constant=constant)
        size = node.given[0]._replace(array=node.given[0].array + np.int32([0, 0, 2, 0, 0]))
        off = OneNode("CONV_3D_TRANSPOSE", [size, *node.given[1:]], node.options, kind="f32")
        off.refused(ShapeError, r"an output height of \d+ has 5 windows, the input has 4")
        with pytest.raises(ShapeError, match="has 5 windows, the input has 6"):
            run_minilite(off.model, [*off.arrays[:-1], np.zeros((1, 3, 6, 2, 3), np.float32)])
    computed = transpose((1, 3, 4, 2, 3), constant=False)
    with pytest.raises(ShapeError, match="an output depth of 3 has 3 windows, the input has 4"):
        run_minilite(computed.model, [*computed.arrays[:-1], np.zeros((1, 4, 4, 2, 3), np.float32)])


def test_refused() -> None:
    conv((2, 4, 5, 6, 3), (5, 1, 1), padding="VALID").check(tolerance=TOLERANCE, oracle=None)  # no whole window
    conv((2, 4, 5, 6, 3), (7, 1, 1), padding="VALID").refused(ShapeError, "a window of depth 7 does not fit")
    conv(stride=(1, 0, 1)).refused(UnsupportedOpError, "stride_h must be positive, it is 0")
    given = [np.zeros((1, 2, 2, 2, 3), np.float32), const(np.zeros((1, 1, 1, 4, 2)), np.float32)]
    options = options_of((1, 1, 1), (1, 1, 1), "SAME", "NONE")
    OneNode("CONV_3D", given, options).refused(ShapeError, "filter channels 4 do not match input channels 3")
    OneNode("CONV_3D", [given[0][0], given[1]], options).refused(ShapeError, "input must be")
    given[1] = const(np.zeros((1, 1, 1, 3, 2)), np.float32)
    node = OneNode("CONV_3D", [*given, const(np.zeros(3), np.float32)], options)
    node.refused(ShapeError, "bias has 3 values, expected 2")


@pytest.mark.parametrize(
    ("kind", "weights", "bias"), [("s16", "s8", np.int64), ("s16", "s16", np.int64), ("s8", "s8", np.int32)]
)
def test_integers_are_refused(kind: str, weights: str, bias: Any) -> None:
    """The format's documents mention them; LiteRT's kernel takes floats alone."""
    rng, q = np.random.default_rng(6), Quantization((0.1,), (0,))
    x = Given(values(rng, kind, (1, 2, 2, 2, 3)), quantization=q)
    w = Given(values(rng, weights, (1, 1, 1, 3, 2)), True, Quantization((0.01, 0.02), (0, 0), 4))
    b = Given(np.zeros(2, bias), True, Quantization((0.001, 0.002), (0, 0)))
    node = OneNode("CONV_3D", [x, w, b], options_of((1, 1, 1), (1, 1, 1), "SAME", "NONE"), quantization=q)
    node.refused(UnsupportedOpError, "are not supported, f32 f32 f32")


def test_transpose_refused() -> None:
    for constant in (True, False):
        node = transpose(stride=(2, 2, 2), more=1, constant=constant)
        node.refused(ShapeError, "an output depth of 7 has 4 windows, the input has 3")
    x, w = np.zeros((1, 2, 2, 2, 3), np.float32), const(np.zeros((1, 1, 1, 2, 3)), np.float32)
    options = options_of((1, 1, 1), (1, 1, 1), "SAME", "NONE")
    for sizes, words in (
        ([2, 2, 2, 2, 2], "output of batch 2 and 2 channels does not match batch 1 and 2 outputs"),
        ([1, 2, 2, 2, 4], "output of batch 1 and 4 channels"),
        ([1, 2, 2, 2], r"the output's shape must be five numbers, it is \(4\)"),
        ([1, -2, 2, 2, 2], "dimension 1 of the output would be -2"),
    ):
        OneNode("CONV_3D_TRANSPOSE", [const(sizes), w, x], options, kind="f32").refused(ShapeError, words)
