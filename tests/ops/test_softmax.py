"""SOFTMAX, LOG_SOFTMAX: integers bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import EPS, REFERENCE, compare, run_minilite
from support.node import Array, Given, OneNode, dtype_of, quantized, values

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.quantization import NOT_QUANTIZED, Quantization

SHAPES: list[Any] = [(7, 1), (3, 5), (2, 3, 10), (1, 2, 3, 40), (9,), (2, 2, 2, 2, 3), (4, 257), (0, 4), (2, 1001)]
OUTPUTS = {
    ("s8", "s8"): Quantization((1 / 256,), (-128,)),
    ("u8", "u8"): Quantization((1 / 256,), (0,)),
    ("s8", "s16"): Quantization((1 / 65536,), (-32768,)),
    ("s16", "s16"): Quantization((1 / 32768,), (0,)),
}


def softmax(x: Array, beta: float = 1.0, q: Quantization = NOT_QUANTIZED, kinds: Any = None) -> OneNode:
    output = OUTPUTS.get(kinds, NOT_QUANTIZED)
    kind = kinds[1] if kinds else None
    return OneNode("SOFTMAX", [Given(x, quantization=q)], {"beta": beta}, kind=kind, quantization=output)


def every_type(rng: np.random.Generator, inputs: Any, outputs: Any) -> Case:
    """For 16-bit floats LiteRT rounds in other places."""
    quantization = {outputs[0]: OUTPUTS.get((*inputs, *outputs), NOT_QUANTIZED)}
    return Case([(6, 30)], {"beta": 1.0}, quantization, tolerance=2.0**-11 if inputs == ("f16",) else 16 * EPS)


LOG_OUTPUTS = {"s8": Quantization((1 / 16,), (127,)), "u8": Quantization((1 / 16,), (255,))}
EVERY_TYPE = {"SOFTMAX": every_type, "LOG_SOFTMAX": Case([(6, 30)], {}, LOG_OUTPUTS, tolerance=64 * EPS)}


@pytest.mark.parametrize("beta", [1.0, 0.5, 2.5])
def test_float(beta: float) -> None:
    """Absolute error 4 eps; the argument (x - max) * beta is rounded, so the relative one grows with it."""
    rng = np.random.default_rng(4)
    for shape in SHAPES:
        for size in (1, 10, 100):
            x = values(rng, "f32", shape) * np.float32(size)
            softmax(x, beta).check(tolerance=(4 + 4 * size * beta) * EPS)
        softmax(values(rng, "f16", shape), beta).check(tolerance=2.0**-11)


def test_halves_are_floats_rounded_once() -> None:
    rng = np.random.default_rng(5)
    for shape in SHAPES:
        x = values(rng, "f16", shape, 3.0)
        x.reshape(-1)[::97] = [-np.inf] * len(x.reshape(-1)[::97])
        exact = softmax(x.astype(np.float32)).run()
        np.testing.assert_array_equal(softmax(x).run(), exact.astype(np.float16))


def test_float_extremes() -> None:
    for special in (np.nan, np.inf, -np.inf):
        x = np.array([[1, special, 3], [special] * 3, [1, 2, 3]], np.float32)
        softmax(x).check(tolerance=4 * EPS)


def test_negative_beta() -> None:
    """With a negative beta, exp grows with the distance from the maximum; results beyond float32 are NaN."""
    softmax(np.float32([[88, -88], [3, -4]]), -1.0).check(tolerance=8 * EPS)


@pytest.mark.parametrize("kinds", list(OUTPUTS))
@pytest.mark.parametrize("beta", [1.0, 0.5, 2.5])
def test_quantized(kinds: tuple[str, str], beta: float) -> None:
    rng = np.random.default_rng(6)
    for seed in range(6):
        for shape in SHAPES[:-1]:
            zero_point = 0 if kinds[0] == "s16" else int(rng.integers(0, 100))
            scale = 10 ** (rng.uniform(-5, -2) if kinds[0] == "s16" else rng.uniform(-2.5, 0.5))
            q = Quantization((float(np.float32(scale)),), (zero_point,))
            softmax(values(rng, kinds[0], shape), beta, q, kinds).check()
            softmax(np.full(shape, seed * 20, dtype_of(kinds[0])), beta, q, kinds).check()


@pytest.mark.parametrize("kind", ["s8", "u8"])
def test_quantized_sum_beyond_511(kind: str) -> None:
    """LiteRT aborts there; every value rounds to 0."""
    for depth in (511, 512, 513, 5000):
        x = np.zeros((2, depth), dtype_of(kind))
        softmax(x, 1.0, Quantization((0.1,), (0,)), (kind, kind)).check(oracle=REFERENCE if depth < 512 else None)


def test_words_beyond_the_sum() -> None:
    """With 65538 or more equal values, LiteRT's sum leaves int32."""
    x = np.zeros((1, 70000), np.int16)
    y = softmax(x, 1.0, Quantization((0.001,), (0,)), ("s16", "s16")).check(oracle=None)
    assert not y.any()


def test_in_place() -> None:
    rng = np.random.default_rng(1)
    for n in range(1, 20):
        builder = ModelBuilder()
        g = builder.subgraph()
        t = g.input("x", (2, n))
        for name in "uvw":
            t = g.node("SOFTMAX", [t], out=(name, (2, n)), options={"beta": 3.0})
        g.output(t)
        x = [values(rng, "f32", (2, n))]
        compare(run_minilite(builder.build(), x, reference=True), run_minilite(builder.build(), x), 40 * EPS, "")


def test_refusals() -> None:
    softmax(np.zeros((), np.float32)).refused(ShapeError, "input has rank 0, softmax needs at least 1")
    byte = quantized(np.zeros((1, 2), np.int8), 0.1, 0)
    wrong = OneNode("SOFTMAX", [byte], {"beta": 1.0}, quantization=Quantization((0.5,), (-128,)))
    wrong.refused(UnsupportedOpError, r"output scale 0\.5 and zero point -128 must be 1/256 and -128")
    types = OneNode("SOFTMAX", [np.zeros(2, np.int32)], {"beta": 1.0})
    types.refused(UnsupportedOpError, "types s32 -> s32 of x -> y are not supported")
    for beta in (0.0, -1.0):
        small = OneNode("SOFTMAX", [byte], {"beta": beta}, quantization=OUTPUTS["s8", "s8"])
        small.refused(UnsupportedOpError, "too small for 26 fractional bits", by_litert=False)  # LiteRT aborts


def log_softmax(x: Array, kind: str = "f32", scale: float = 0.0) -> OneNode:
    given = quantized(x, scale, 0) if scale else Given(x)
    return OneNode("LOG_SOFTMAX", [given], kind=kind, quantization=LOG_OUTPUTS.get(kind, NOT_QUANTIZED))


def test_log_float() -> None:
    rng = np.random.default_rng(4)
    for shape in SHAPES:
        for size in (1, 10, 100):
            x = values(rng, "f32", shape) * np.float32(size)
            log_softmax(x).check(tolerance=32 * size * EPS)
    for special in (np.nan, np.inf, -np.inf):
        x = np.array([[1, special, 3], [special] * 3, [1, 2, 3]], np.float32)
        log_softmax(x).check(tolerance=8 * EPS)


@pytest.mark.parametrize("kind", ["s8", "u8"])
@pytest.mark.parametrize("scale", [0.001, 0.01, 1 / 16, 0.1, 0.37, 1.0, 7.5])
def test_log_bytes(kind: str, scale: float) -> None:
    rng = np.random.default_rng(9)
    for shape in SHAPES:
        log_softmax(values(rng, kind, shape), kind, scale).check()
    near = np.full((1, 4000), 5, dtype_of(kind))
    log_softmax(near, kind, scale).check()
    log_softmax(np.arange(256, dtype=np.uint8).view(dtype_of(kind)).reshape(1, 256), kind, scale).check()


def test_log_of_a_sum_beyond_its_range() -> None:
    """4096 equal numbers add up to more than Q12.19 holds: LiteRT's sum overflows, ours stays at its largest."""
    y = log_softmax(np.zeros((1, 5000), np.int8), "s8", 0.1).check(oracle=None)
    np.testing.assert_array_equal(y, np.full((1, 5000), round(127 - np.log(4096) * 16)))


def test_log_refused() -> None:
    x = np.zeros((1, 4), np.int8)
    node = OneNode("LOG_SOFTMAX", [quantized(x, 0.1, 0)], quantization=Quantization((1 / 8,), (127,)))
    node.refused(UnsupportedOpError, "output scale 0.125")
    log_softmax(np.zeros((), np.float32)).refused(ShapeError, "rank 0", by_litert=False)
    node = log_softmax(x, "s8", 1e-9)
    node.refused(UnsupportedOpError, "too small", by_litert=False)  # LiteRT aborts
