"""RELU, ..., LEAKY_RELU, LOGISTIC, TANH, ELU, HARD_SWISH, GELU: integers bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import BUILTIN, EPS, REFERENCE, compare, run_minilite
from support.halves import steps_apart
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
    """LiteRT has no int16 kernels for these two operators."""
    return Case([(3, 50)], oracle=None if inputs == ("s16",) else REFERENCE)


def logistic(rng: Any, inputs: Any, outputs: Any) -> Case:
    """For 16-bit floats LiteRT rounds in other places: 19 of all 65536 results differ by a step."""
    return Case([(3, 50)], quantization=SIGMOID, tolerance=2 * EPS if inputs == ("f32",) else 2.0**-11)


def tanh(rng: Any, inputs: Any, outputs: Any) -> Case:
    quantization = {"s16": Quantization((1 / 32768,), (0,))}
    return Case([(3, 50)], quantization=quantization, tolerance=3 * EPS if inputs == ("f32",) else 2.0**-11)


def hard_swish(rng: Any, inputs: Any, outputs: Any) -> Case:
    """LiteRT requires output scales above 1/128 of the input scale."""
    return Case([(3, 50)], quantization={kind: scaled(rng, kind, 0.1, 0.5) for kind in ("s8", "u8")})


def gelu(rng: Any, inputs: Any, outputs: Any) -> Case:
    """For 16-bit floats LiteRT rounds after each step."""
    return Case([(3, 50)], {"approximate": False}, tolerance=4 * EPS if inputs == ("f32",) else 0.01)


EVERY_TYPE = {
    "RELU": Case([(3, 50)]),
    "RELU6": Case([(3, 50)]),
    "RELU_N1_TO_1": bounded,
    "RELU_0_TO_1": bounded,
    "LEAKY_RELU": Case([(3, 50)], {"alpha": 0.1}),
    "LOGISTIC": logistic,
    "TANH": tanh,
    "ELU": Case([(3, 50)], tolerance=2 * EPS, oracle=BUILTIN),
    "HARD_SWISH": hard_swish,
    "GELU": gelu,
}


def all_of(kind: str) -> Array:
    """Every value of a type of 8 or 16 bits."""
    return (ALL_BYTES if kind[1:] == "8" else np.arange(65536).astype(np.uint16)).view(dtype_of(kind))


@pytest.mark.parametrize("op", [*RELUS, "LOGISTIC", "LEAKY_RELU"])
def test_float(op: str) -> None:
    """LiteRT's reference of LOGISTIC returns exp(x) for x < -9 and 1 for x > 16.6, an error of 2e-8."""
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


@pytest.mark.parametrize("op", ["TANH", "ELU", "GELU", "HARD_SWISH"])
def test_smooth_floats(op: str) -> None:
    """LiteRT's ELU has no reference kernel."""
    rng = np.random.default_rng(1)
    for x in (EXTREMES, *(values(rng, "f32", s, size) for s in ((), (0, 2), (999,)) for size in (0.1, 1, 10))):
        for options in ({"approximate": False}, {"approximate": True}) if op == "GELU" else ({},):
            node = OneNode(op, [x], options)
            size = np.where(np.isfinite(x), np.abs(x), 0) if op == "GELU" else np.abs(node.run(reference=True))
            kinds = BUILTIN if op == "ELU" else REFERENCE
            limit = 0.0 if op == "HARD_SWISH" else 3 * EPS * np.where(np.isfinite(size), size, 0) + 1e-37
            node.check(tolerance=limit, oracle=None if options.get("approximate") and x is EXTREMES else kinds)


@pytest.mark.parametrize("op", ["TANH", "ELU", "GELU", "HARD_SWISH"])
@pytest.mark.parametrize("kind", ["s8", "u8", "s16"])
def test_smooth_integers(op: str, kind: str) -> None:
    rng = np.random.default_rng(4)
    if (op, kind) in (("ELU", "u8"), ("ELU", "s16"), ("HARD_SWISH", "s16")):
        return
    for turn in range(8):
        q = scaled(rng, kind, 1e-3, 0.4) if kind != "s16" else scaled(rng, kind, 2e-5, 1e-3)
        out = Quantization((float(np.float32(q.scale * rng.uniform(0.3, 2))),), scaled(rng, kind).zero_points)
        if op == "TANH" and kind == "s16":
            out = SIGMOID[kind]
        options = {"approximate": turn % 2 == 1} if op == "GELU" else {}
        kinds = BUILTIN if op == "ELU" else REFERENCE
        OneNode(op, [Given(all_of(kind), quantization=q)], options, quantization=out).check(oracle=kinds)


def test_tanh_in_powers_of_two() -> None:
    for exponent in range(-13, 0):
        q = Quantization((2.0**exponent,), (0,))
        OneNode("TANH", [Given(all_of("s16"), quantization=q)], quantization=SIGMOID["s16"]).check()


@pytest.mark.parametrize("op", ["LOGISTIC", "TANH"])
def test_every_half(op: str) -> None:
    """Results are at most a step from the exact one; at most one in a thousand is not the nearest."""
    x = all_of("f16")
    OneNode(op, [x]).check(tolerance=2.0**-11)
    with np.errstate(all="ignore"):
        exact = np.tanh(x.astype(np.float64)) if op == "TANH" else 1 / (1 + np.exp(-x.astype(np.float64)))
    steps = steps_apart(OneNode(op, [x]).run(), exact)
    assert steps.max() <= 1
    assert steps.sum() < 65


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
    small = OneNode("HARD_SWISH", [byte], quantization=Quantization((1e-4,), (0,)))
    small.refused(UnsupportedOpError, "output scale 0.0001 is too small")
    half = OneNode("RELU", [byte])
    half.refused(UnsupportedOpError, "tensor 'y' must have a scale", by_litert=False)  # LiteRT divides by 0
    words, fixed = Given(np.zeros(2, np.int16), quantization=Quantization((0.1,), (3,))), Quantization((2**-15,), (0,))
    for op in ("LOGISTIC", "TANH"):
        OneNode(op, [words], quantization=fixed).refused(
            UnsupportedOpError, "input zero point 3 must be 0", by_litert=False
        )
