"""MaxPoolingWithArgmax2D, MaxUnpooling2D: C kernels, numpy references and LiteRT (only XNNPACK has them) agree."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from support.compare import check
from support.node import Given, OneNode, Out, values
from support.peer import interpreter as litert

from minilite.errors import KernelError, ShapeError, UnsupportedOpError

SAME, VALID = 1, 2
AUTO = litert.OpResolverType.AUTO


def options(window: Any, padding: int = VALID, stride: Any = None, activation: int = 0) -> bytes:
    stride = stride or window
    return struct.pack("<6i", padding, stride[1], stride[0], window[1], window[0], activation) + bytes(16)


def made(shape: Any, window: Any, padding: int) -> Any:
    sides = [-(-n // w) if padding == SAME else n // w for n, w in zip(shape[1:3], window, strict=True)]
    return (shape[0], *sides, shape[3])


def pool(x: Any, window: Any = (2, 3), padding: int = VALID, kind: str = "f32", **more: Any) -> OneNode:
    shape = made(x.shape, window, padding)  # XNNPACK takes the file's
    outs = [Out("f32", shape=shape), Out(kind, shape=shape)]
    return OneNode("MaxPoolingWithArgmax2D", [x], outs=outs, custom=options(window, padding, **more))


def unpool(x: Any, which: Any, window: Any = (2, 3), padding: int = VALID, kind: str = "f32", **more: Any) -> OneNode:
    shape = (x.shape[0], x.shape[1] * window[0], x.shape[2] * window[1], x.shape[3]) if x.ndim == 4 else None
    indices = np.asarray(which, np.int32)
    given = [x, Given(indices.view(np.float32) if kind == "f32" else indices)]
    return OneNode("MaxUnpooling2D", given, outs=[Out("f32", shape=shape)], custom=options(window, padding, **more))


def agree(node: OneNode, oracle: Any = AUTO) -> Any:
    """Indices are stored as integers, whatever their tensor's type: read as floats they would be nearly 0."""
    found = check(node.model, node.arrays, oracle=oracle)
    return found[0], found[-1].view(np.int32)


def every_pool(rng: Any, inputs: Any, outputs: Any) -> Any:
    return pool(values(rng, "f32", (2, 4, 6, 3)), kind=outputs[1]), {"oracle": AUTO if outputs[1] == "f32" else None}


def every_unpool(rng: Any, inputs: Any, outputs: Any) -> Any:
    node = unpool(values(rng, "f32", (2, 3, 2, 5)), rng.integers(0, 6, (2, 3, 2, 5)), kind=inputs[1])
    return node, {"oracle": AUTO if inputs[1] == "f32" else None}


EVERY_TYPE = {"MaxPoolingWithArgmax2D": every_pool, "MaxUnpooling2D": every_unpool}


@pytest.mark.parametrize("padding", [SAME, VALID])
@pytest.mark.parametrize("window", [(1, 2), (2, 2), (3, 2), (2, 5)])
def test_windows(window: Any, padding: int) -> None:
    for shape in ((1, 6, 10, 1), (2, 7, 9, 4), (1, 6, 11, 17)):
        for x in (
            values(np.random.default_rng(1), "f32", shape),
            np.round(values(np.random.default_rng(2), "f32", shape)),
        ):
            y, which = agree(pool(x, window, padding))
            assert y.shape == made(shape, window, padding)
            if padding == VALID:
                agree(unpool(y, which, window))


def test_unpooling_restores_the_maxima() -> None:
    x = np.abs(values(np.random.default_rng(1), "f32", (2, 4, 6, 3)))
    y, which = agree(pool(x))
    back, _ = agree(unpool(y, which))
    np.testing.assert_array_equal(back[back != 0], x[back != 0])
    assert (back != 0).sum() == y.size


def test_nothing() -> None:
    agree(pool(np.zeros((0, 4, 6, 3), np.float32)), oracle=None)
    agree(pool(np.zeros((1, 1, 6, 3), np.float32)), oracle=None)
    unpool(np.zeros((0, 2, 2, 3), np.float32), np.zeros((0, 2, 2, 3))).check(oracle=None)


@pytest.mark.parametrize("value", [-1, 6, 2**31 - 1])
def test_indices_are_checked(value: int) -> None:
    which = np.zeros((1, 2, 2, 1), np.int32)
    which[0, 1, 0, 0] = value
    node = unpool(np.ones((1, 2, 2, 1), np.float32), which)
    node.refused(KernelError, f"index 2 is {value}, expected 0 to 5", by_litert=False)  # LiteRT writes where they say


def test_refused() -> None:
    x = np.zeros((1, 4, 6, 1), np.float32)
    pool(x, stride=(1, 1)).refused(UnsupportedOpError, "strides 1, 1 of windows 2, 3 must be equal")
    pool(x, activation=1).refused(UnsupportedOpError, "fused activation 1 is not supported")
    pool(x, padding=3).refused(UnsupportedOpError, "padding must be SAME or VALID, it is 3")
    unpool(x, np.zeros(x.shape), padding=SAME).refused(UnsupportedOpError, "padding must be VALID, it is SAME")
    unpool(x, np.zeros((1, 4, 5, 1))).refused(ShapeError, "must both be", by_litert=False)
    node = OneNode("MaxPoolingWithArgmax2D", [x], outs=[Out("f32"), Out("f32")], custom=b"short")
    node.refused(UnsupportedOpError, "custom options of 5 bytes, expected 20 or more")
