"""RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1, LEAKY_RELU, LOGISTIC: integers bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import EPS, REFERENCE, compare, run_minilite
from support.node import ALL_BYTES, Array, Given, OneNode, dtype_of, scaled, values

from minilite.errors import UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.quantization import Quantization

RELUS = ["RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"]
SIGMOID = {
    "s8": Quantization((1 / 256,), (-128,)),
    "u8": Quantization((1 / 256,), (0,)),
    "s16": Quantization((1 / 32768,), (0,)),
}
EXTREMES = np.array(
    [np.nan, np.inf, -np.inf, 0, -0.0, 1e-40, -88, 88.8, -87.4, -103, -104.5, 200, -200, 3e38, -3e38], np.float32
)


def bounded(rng: Any, inputs: Any, outputs: Any) -> Case:
    """LiteRT has no int16 of these two."""
    return Case([(3, 50)], oracle=None if inputs == ("s16",) else REFERENCE)


def logistic(rng: Any, inputs: Any, outputs: Any) -> Case:
    """Halves: LiteRT computes with other roundings, 19 of all 65536 are a step off."""
    return Case([(3, 50)], quantization=SIGMOID, tolerance=2 * EPS if inputs == ("f32",) else 2.0**-11)


EVERY_TYPE = {
    "RELU": Case([(3, 50)]),
    "RELU6": Case([(3, 50)]),
    "RELU_N1_TO_1": bounded,
    "RELU_0_TO_1": bounded,
    "LEAKY_RELU": Case([(3, 50)], {"alpha": 0.1}),
    "LOGISTIC": logistic,
}


def all_of(kind: str) -> Array:
    """Every value of a type of 8 or 16 bits."""
    return (ALL_BYTES if kind[1:] == "8" else np.arange(65536).astype(np.uint16)).view(dtype_of(kind))


@pytest.mark.parametrize("op", [*RELUS, "LOGISTIC", "LEAKY_RELU"])
def test_float(op: str) -> None:
    """LOGISTIC: LiteRT's reference takes exp(x) for x < -9 and 1 for x > 16.6, which is off by 2e-8."""
    rng = np.random.default_rng(1)
    for x in (EXTREMES, *(values(rng, "f32", s) for s in ((), (1,), (2, 3, 4), (0, 2), (1, 2, 1, 2, 3, 1, 7)))):
        OneNode(op, [x]).check(tolerance=2 * EPS if op == "LOGISTIC" else 0.0)
    OneNode(op, [Given(values(rng, "f32", (5, 9)), shape=(3,))]).check(tolerance=2 * EPS)


def test_logistic_is_accurate() -> None:
    """Within 4 ULP of float64 where the result is normal."""
    x = np.linspace(-87, 87, 100_001, dtype=np.float32)
    y = OneNode("LOGISTIC", [x]).run()
    exact = 1 / (1 + np.exp(-x.astype(np.float64)))
    assert np.abs(y - exact).max() <= 2 * EPS
    assert (np.abs(y - exact) / np.spacing(exact.astype(np.float32))).max() <= 4


@pytest.mark.parametrize("op", [*RELUS, "LEAKY_RELU"])
@pytest.mark.parametrize("kind", ["s8", "u8", "s16"])
def test_quantized_relu(op: str, kind: str) -> None:
    rng = np.random.default_rng(2)
    known_to_litert = kind != "s16" or op not in ("RELU_N1_TO_1", "RELU_0_TO_1")
    for alpha in (0.1, -0.3, 0.0, 1.5, 1e-9, 0.7, 3.0, 0.01):
        options = {"alpha": alpha} if op == "LEAKY_RELU" else {}
        x = Given(all_of(kind), quantization=scaled(rng, kind, 1e-2, 1))
        node = OneNode(op, [x], options, quantization=scaled(rng, kind, 1e-2, 1))
        node.check(oracle=REFERENCE if known_to_litert else None)


@pytest.mark.parametrize("op", [*RELUS, "LEAKY_RELU"])
def test_without_quantization(op: str) -> None:
    """A scale that is missing counts as 0, and so does every multiplier."""
    for kind in ("s8", "u8"):
        assert not OneNode(op, [all_of(kind)]).check().any()


@pytest.mark.parametrize("kind", ["s8", "u8", "s16"])
def test_quantized_logistic(kind: str) -> None:
    rng = np.random.default_rng(2)
    for exponent in range(-12, 1):  # from 8 / 3 on LiteRT casts a multiplier beyond int16
        for scale in (2.0**exponent, float(np.float32(rng.uniform(1, 2) * 2.0**exponent))):
            q = Quantization((scale,), (0 if kind == "s16" else int(values(rng, kind, ())),))
            OneNode("LOGISTIC", [Given(all_of(kind), quantization=q)], quantization=SIGMOID[kind]).check()


def test_halves() -> None:
    OneNode("LOGISTIC", [all_of("f16")]).check(tolerance=2.0**-11)


@pytest.mark.parametrize("op", ["RELU", "LOGISTIC"])
def test_in_place(op: str) -> None:
    """A chain of three, for every tail of the vector loops."""
    rng = np.random.default_rng(1)
    for n in range(1, 40):
        builder = ModelBuilder()
        g = builder.subgraph()
        t = g.input("x", (n,))
        for name in "uvw":
            t = g.node(op, [t], out=(name, (n,)))
        g.output(t)
        x = [values(rng, "f32", (n,))]
        compare(run_minilite(builder.build(), x, reference=True), run_minilite(builder.build(), x), 2 * EPS, "")


def test_refusals() -> None:
    x, byte = np.zeros(2, np.int32), Given(np.zeros(2, np.int8), quantization=Quantization((0.1,), (0,)))
    OneNode("RELU", [x]).refused(
        UnsupportedOpError, r"RELU 'y'\): types s32 -> s32 of x -> y are not supported, f32 -> f32, s8"
    )
    bad = OneNode("LOGISTIC", [byte], quantization=Quantization((0.1,), (0,)))
    bad.refused(UnsupportedOpError, r"output scale 0\.1.* and zero point 0 must be 1/256 and -128")
    half = OneNode("RELU", [byte])
    half.refused(UnsupportedOpError, "tensor 'y' must have a scale", by_litert=False)  # LiteRT divides by 0
