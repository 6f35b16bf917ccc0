"""ABS, NEG, EXP, LOG, ...: integers bit for bit (oracle: BUILTIN_REF; for CEIL and ROUND, the optimized kernels)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import BUILTIN, EPS, REFERENCE
from support.halves import steps_apart
from support.node import ALL_BYTES, Array, Given, OneNode, dtype_of, scaled, values

from minilite.errors import KernelError, UnsupportedOpError
from minilite.format.quantization import NOT_QUANTIZED, Quantization

ULP = {"EXP": 2, "LOG": 2, "SIN": 3, "COS": 3, "RSQRT": 2}
"""The largest difference of floats, in ULP."""
TABLES = ["EXP", "LOG", "SQRT", "RSQRT"]
SMOOTH = ["ABS", "NEG", "SQUARE", "SIN", "COS", "FLOOR", "CEIL", "ROUND", "SIGN", *TABLES]
EXTREMES = np.array(
    [np.nan, np.inf, -np.inf, 0, -0.0, 1e-40, 1, -1, 0.5, -0.5, 1.5, 2.5, -87.4, 88.8, -103, 3e38, -3e38, 1e-38], np.float32
)  # fmt: skip


def oracle(op: str) -> Any:
    return BUILTIN if op in ("CEIL", "ROUND") else REFERENCE


def unary(op: str, x: Array, q: Quantization = NOT_QUANTIZED, out: Quantization = NOT_QUANTIZED) -> OneNode:
    return OneNode(op, [Given(x, quantization=q)], quantization=out)


def output_of(op: str, kind: str, rng: np.random.Generator, scale: float) -> Quantization:
    """Returns an output scale that covers most results for inputs of that scale."""
    largest = scale * (255 if kind == "s8" else 32767)
    reach = {
        "EXP": np.exp(min(largest, 10.0)),
        "LOG": max(abs(np.log(largest)), abs(np.log(scale))),
        "SQRT": np.sqrt(largest),
        "RSQRT": 1 / np.sqrt(scale),
    }[op]
    y = scaled(rng, kind)
    return Quantization(
        (float(np.float32(reach * rng.uniform(0.3, 1.5) / (200 if kind == "s8" else 30000))),), y.zero_points
    )


def positive(x: Array, q: Quantization) -> Array:
    return np.maximum(x, np.asarray(q.zero_points[0], x.dtype))


def table(op: str, rng: np.random.Generator, kind: str) -> OneNode:
    q = scaled(rng, kind, 1e-3, 0.3) if kind == "s8" else scaled(rng, kind, 1e-5, 1e-3)
    x = all_of(kind) if op in ("EXP", "LOG") else positive(all_of(kind), q)
    return unary(op, x, q, output_of(op, kind, rng, q.scale))


def every_type(op: str) -> Any:
    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        if op in TABLES and inputs[0] != "f32":
            return table(op, rng, inputs[0]), {}
        tolerance = 1e-2 if op == "EXP" else 1e-6 if op in ULP else 0.0
        if inputs == ("f16",):
            tolerance = 2.0**-11
        return Case([(3, 50)], tolerance=tolerance, oracle=oracle(op))

    return case


EVERY_TYPE = {op: every_type(op) for op in SMOOTH}


def all_of(kind: str) -> Array:
    """Every value of a type of 8 or 16 bits."""
    return (ALL_BYTES if kind[1:] == "8" else np.arange(65536).astype(np.uint16)).view(dtype_of(kind))


@pytest.mark.parametrize("op", ["SIN", "COS", "FLOOR", "ROUND", "NEG"])
def test_every_half(op: str) -> None:
    """Results of SIN and COS are at most a step from the exact one; at most one in a thousand is not the nearest."""
    x = all_of("f16")
    of = {"SIN": np.sin, "COS": np.cos, "FLOOR": np.floor, "ROUND": np.rint, "NEG": np.negative}[op]
    with np.errstate(all="ignore"):
        steps = steps_apart(unary(op, x).run(), of(x.astype(np.float64)))
    assert steps.max() <= (op in ("SIN", "COS"))
    assert steps.sum() < 65


@pytest.mark.parametrize("op", SMOOTH)
def test_float(op: str) -> None:
    rng = np.random.default_rng(1)
    for x in (
        EXTREMES,
        *(values(rng, "f32", s, 20.0) for s in ((), (1,), (2, 3, 4), (0, 2), (1, 2, 1, 2, 3, 1, 7), (999,))),
    ):
        node = unary(op, x)
        size = np.abs(node.run(reference=True))
        node.check(tolerance=ULP.get(op, 0) * EPS * np.where(np.isfinite(size), size, 0), oracle=oracle(op))
    OneNode(op, [Given(np.ones((5, 9), np.float32), shape=(3,))]).check(tolerance=2 * EPS, oracle=oracle(op))


def test_many_floats() -> None:
    """exp and log over all of their range, within 2 ULP of float64."""
    x = np.exp(np.random.default_rng(3).uniform(-103, 88.7, 20000)).astype(np.float32)
    wide = np.log(x.astype(np.float64))
    assert np.abs(unary("LOG", x).run() - wide).max() < 2 * EPS * np.abs(wide).max()
    assert (np.abs(unary("LOG", x).run() - wide) <= 2 * np.spacing(np.abs(wide).astype(np.float32))).all()


@pytest.mark.parametrize("op", TABLES)
@pytest.mark.parametrize("kind", ["s8", "s16"])
def test_tables(op: str, kind: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(6):
        table(op, rng, kind).check()


@pytest.mark.parametrize("kind", ["s8", "s16"])
def test_quantized_abs(kind: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(6):
        q = scaled(rng, kind, 1e-2, 1)
        unary("ABS", all_of(kind), q, scaled(rng, kind, 1e-2, 1)).check()
        unary("ABS", all_of(kind), q, q).check()
        unary("NEG", all_of(kind), q, scaled(rng, kind)).check()


def test_plain_integers() -> None:
    """The lowest integer has no positive counterpart, and stays as it is."""
    for kind in ("s16", "s32"):
        info = np.iinfo(dtype_of(kind))
        assert unary("ABS", np.array([info.min, info.max, -1, 0], info.dtype)).check()[0] == info.min
    for kind in ("s8", "s16", "s32", "s64"):
        info = np.iinfo(dtype_of(kind))
        unary("NEG", np.array([info.min, info.max, -1, 0], info.dtype)).check()


def test_large_exponents_saturate() -> None:
    """LiteRT casts numbers beyond int32, which C++ leaves undefined."""
    q, out = Quantization((1.0,), (0,)), Quantization((1e-3,), (0,))
    x = np.array([-128, 0, 127], np.int8)
    assert unary("EXP", x, q, out).check(oracle=None).tolist() == [0, 127, 127]


@pytest.mark.parametrize("scale", [4000.0, 8191.0, 1e5, 1e8])
def test_roots_below_half_a_step(scale: float) -> None:
    """From 4096 on LiteRT shifts by more than 31, which C++ leaves undefined: it gives 127 or 43 here."""
    q, out = Quantization((1.0,), (0,)), Quantization((scale,), (3,))
    assert unary("RSQRT", np.array([0, 1, 2, 127], np.int8), q, out).check(oracle=None).tolist() == [127, 3, 3, 3]


@pytest.mark.parametrize("op", ["SQRT", "RSQRT"])
@pytest.mark.parametrize("kind", ["s8", "s16"])
def test_no_root(op: str, kind: str) -> None:
    zero_point = 5 if kind == "s8" else 0
    q = Quantization((0.1,), (zero_point,))
    x = np.array([zero_point, zero_point - 1], dtype_of(kind))
    unary(op, x, q, q).refused(KernelError, rf"element 1 is {zero_point - 1}, below the zero point {zero_point}")


def test_refusals() -> None:
    x = np.zeros(3, np.uint8)
    unary("ABS", x).refused(UnsupportedOpError, "types u8 -> u8 of x -> y are not supported, f32 -> f32")
    unary("EXP", np.zeros(3, np.int8)).refused(UnsupportedOpError, "tensor 'x0' must have a scale", by_litert=False)
    q = Quantization((0.1,), (3,))
    unary("LOG", np.zeros(3, np.int16), q, q).refused(UnsupportedOpError, "zero point 3, it must be 0")
