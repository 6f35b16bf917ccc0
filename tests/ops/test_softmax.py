"""SOFTMAX against numpy and LiteRT (8 bits: bit for bit; oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import EPS, check, compare, run_minilite
from elementwise import FLOAT32, INT8, INT32, UINT8, Array, one_node, values

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization

SHAPES: list[Any] = [(7, 1), (3, 5), (2, 3, 10), (1, 2, 3, 40), (9,), (2, 2, 2, 2, 3), (4, 257), (0, 4), (2, 1001)]


def softmax(x: Array, beta: float = 1.0, scale: Quantization = NOT_QUANTIZED) -> bytes:
    kind = FLOAT32 if x.dtype == np.float32 else INT8 if x.dtype == np.int8 else UINT8
    output = NOT_QUANTIZED if kind == FLOAT32 else Quantization((1 / 256,), (-128 if kind == INT8 else 0,))
    return one_node("SOFTMAX", [(x, scale)], kind, scale=output, options={"beta": beta})


@pytest.mark.parametrize("beta", [1.0, 0.5, 2.5])
def test_float(beta: float) -> None:
    """Absolute error 4 eps; the argument (x - max) * beta is rounded, so the relative one grows with it."""
    rng = np.random.default_rng(4)
    for shape in SHAPES:
        for size in (1, 10, 100):
            x = values(rng, FLOAT32, shape) * np.float32(size)
            check(softmax(x, beta), [x], tolerance=(4 + 4 * size * beta) * EPS)


def test_float_extremes() -> None:
    for special in (np.nan, np.inf, -np.inf):
        x = np.array([[1, special, 3], [special] * 3, [1, 2, 3]], np.float32)
        check(softmax(x), [x], tolerance=4 * EPS, against_litert=True)


@pytest.mark.parametrize("kind", [INT8, UINT8])
@pytest.mark.parametrize("beta", [1.0, 0.5, 2.5])
def test_quantized(kind: TensorType, beta: float) -> None:
    rng = np.random.default_rng(6)
    for seed in range(6):
        for shape in SHAPES[:-1]:
            scale = Quantization((float(np.float32(10 ** rng.uniform(-2.5, 0.5))),), (int(rng.integers(0, 100)),))
            check(softmax(values(rng, kind, shape), beta, scale), [values(rng, kind, shape)])
            level = np.full(shape, seed * 20, np.int8 if kind == INT8 else np.uint8)
            check(softmax(level, beta, scale), [level])


@pytest.mark.parametrize("kind", [INT8, UINT8])
def test_quantized_sum_beyond_511(kind: TensorType) -> None:
    """LiteRT aborts there; every value rounds to 0."""
    for depth in (511, 512, 513, 5000):
        x = np.zeros((2, depth), np.int8 if kind == INT8 else np.uint8)
        check(softmax(x, scale=Quantization((0.1,), (0,))), [x], against_litert=depth < 512)


def test_in_place() -> None:
    rng = np.random.default_rng(1)
    for n in range(1, 20):
        builder = ModelBuilder()
        g = builder.subgraph()
        t = g.input("x", (2, n))
        for name in "uvw":
            t = g.node("SOFTMAX", [t], out=(name, (2, n)), options={"beta": 3.0})
        g.output(t)
        x = [values(rng, FLOAT32, (2, n))]
        compare(run_minilite(builder.build(), x, reference=True), run_minilite(builder.build(), x), 40 * EPS, "")


def test_refusals() -> None:
    x = np.zeros((), np.float32)
    with pytest.raises(ShapeError, match="input has rank 0, softmax needs at least 1"):
        run_minilite(softmax(x), [x])
    y = np.zeros(2, np.int8)
    wrong = one_node("SOFTMAX", [(y, Quantization((0.1,), (0,)))], INT8, scale=Quantization((0.5,), (-128,)))
    with pytest.raises(UnsupportedOpError, match=r"output scale 0\.5 and zero point -128 must be 1/256 and -128"):
        run_minilite(wrong, [y])
    with pytest.raises(UnsupportedOpError, match="type INT32 is not supported"):
        run_minilite(one_node("SOFTMAX", [(y.astype(np.int32), NOT_QUANTIZED)], INT32), [y.astype(np.int32)])
