"""aeq.hadamard_rotation: C kernel, numpy reference and LiteRT (only its optimized kernels have it) agree, bit
for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from support.node import OneNode, Out, values
from support.peer import interpreter as litert
from support.weighted import same_for_any_number_of_threads

from minilite.errors import ShapeError, UnsupportedOpError

ORACLE = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES


def rotation(x: Any, size: Any) -> OneNode:
    options = {"hadamard_size": size, "random_binary_vector": [1, -1] * 4}
    outs = [Out("f32", shape=x.shape)]  # LiteRT takes the file's
    return OneNode("aeq.hadamard_rotation", [x], outs=outs, custom=bytes(flexbuffers.Dumps(options)))


EVERY_TYPE = {
    "aeq.hadamard_rotation": lambda rng, inputs, outputs: (rotation(values(rng, "f32", (3, 8)), 4), {"oracle": ORACLE})
}


@pytest.mark.parametrize("size", [1, 2, 4, 32, 64, 128, 1024])
def test_sizes(size: int) -> None:
    rng = np.random.default_rng(size)
    for shape in ((1, size), (3, 2 * size), (2, 3, 3 * size)):
        rotation(values(rng, "f32", shape), size).check(oracle=ORACLE)


def test_twice_is_nothing() -> None:
    x = np.random.default_rng(0).standard_normal((5, 64)).astype(np.float32)
    once = rotation(x, 64).check(oracle=ORACLE)
    np.testing.assert_allclose(rotation(once, 64).check(oracle=ORACLE), x, atol=1e-6)


def test_nan_infinity_and_nothing() -> None:
    x = np.array([[np.nan, 1, 2, 3], [np.inf, 1, -np.inf, 3], [-0.0, 0.0, -0.0, -0.0]], np.float32)
    rotation(x, 4).check(oracle=ORACLE)
    rotation(x, 2).check(oracle=ORACLE)
    rotation(np.zeros((0, 4), np.float32), 4).check(oracle=ORACLE)
    rotation(np.zeros((2, 3, 0), np.float32), 4).check(oracle=ORACLE)


def test_resized() -> None:
    """LiteRT's kernel keeps the file's shape and would write beyond it."""
    rng = np.random.default_rng(1)
    node, x = rotation(values(rng, "f32", (2, 8)), 4), values(rng, "f32", (5, 16))
    node.arrays[0] = x
    np.testing.assert_array_equal(node.run(), rotation(x, 4).check(oracle=ORACLE))


def test_threads() -> None:
    same_for_any_number_of_threads(rotation(values(np.random.default_rng(2), "f32", (3, 50, 512)), 256))


def test_refused() -> None:
    x = np.zeros((2, 6), np.float32)
    rotation(x, 4).refused(ShapeError, "the last dimension is 6, must be a multiple of 4", by_litert=False)
    shaped = rotation(x.reshape(1, 2, 3, 2), 2)
    shaped.refused(ShapeError, "must have 2 or 3 dimensions", by_litert=False)
    for size in (0, -2, 6):
        rotation(x, size).refused(UnsupportedOpError, "option hadamard_size is", by_litert=False)
