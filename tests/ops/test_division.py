"""DIV, FLOOR_DIV, FLOOR_MOD: bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.node import ALL_BYTES, QUANTIZED, Array, Given, OneNode, dtype_of, scaled, values

from minilite.errors import KernelError, ShapeError
from minilite.format.quantization import Quantization

SHAPES: list[tuple[Any, Any]] = [
    ((), ()), ((33,), (33,)), ((17,), ()), ((3, 1), (1, 5)), ((2, 3, 4), (4,)), ((2, 1, 4, 1), (1, 3, 1, 5)), ((0,), (1,)),
]  # fmt: skip
KINDS = {
    "DIV": ["f32", "s8", "u8", "s16", "s32"],
    "FLOOR_DIV": ["f32", "s8", "s16", "s32"],
    "FLOOR_MOD": ["f32", "s8", "s16", "s32", "s64"],
}
PAIRS = [(op, kind) for op, kinds in KINDS.items() for kind in kinds]


def divided(op: str, rng: np.random.Generator, a: Array, b: Array, kind: str, activation: str = "NONE") -> OneNode:
    """No divisor that represents 0, and none of -1 (LiteRT may trap there)."""
    x, y, z = (scaled(rng, kind, 0.05, 0.5) for _ in range(3))
    zero = y.zero_points[0] if op == "DIV" and y.scales else 0
    b = np.where(b == np.asarray(zero, b.dtype), b + np.asarray(1, b.dtype), b)
    if kind in ("s32", "s64"):
        b = np.where(b == -1, np.asarray(3, b.dtype), b)
    if z.scales:
        factor = (
            rng.uniform(8200, 60000) if kind == "s16" else rng.uniform(33, 2000)
        )  # less shifts by more than 31 bits
        z = Quantization((float(np.float32(x.scale / y.scale / factor)),), z.zero_points)
    options = {"fused_activation_function": activation} if op == "DIV" else {}
    return OneNode(op, [Given(a, quantization=x), Given(b, quantization=y)], options, quantization=z)


def every_type(op: str) -> Any:
    def case(rng: np.random.Generator, inputs: Any, outputs: Any) -> tuple[OneNode, Any]:
        a, b = (values(rng, kind, shape) for kind, shape in zip(inputs, ((4, 1, 30), (4, 3, 1)), strict=True))
        return divided(op, rng, a, b, inputs[0]), {}

    return case


EVERY_TYPE = {op: every_type(op) for op in KINDS}


@pytest.mark.parametrize(("op", "kind"), PAIRS)
def test_broadcasts(op: str, kind: str) -> None:
    rng = np.random.default_rng(7)
    for left, right in SHAPES:
        a, b = values(rng, kind, left), values(rng, kind, right)
        if kind in ("s32", "s64"):
            a, b = a % np.asarray(1000, a.dtype) - np.asarray(500, a.dtype), b % np.asarray(50, b.dtype)
        for activation in ("NONE", "RELU6", "RELU_N1_TO_1") if op == "DIV" else ("NONE",):
            divided(op, rng, a, b, kind, activation).check()


@pytest.mark.parametrize(("op", "kind"), [pair for pair in PAIRS if pair[1] in ("s8", "u8")])
def test_all_pairs_of_bytes(op: str, kind: str) -> None:
    rng = np.random.default_rng(9)
    a, b = (x.view(dtype_of(kind)) for x in (ALL_BYTES.reshape(256, 1), ALL_BYTES))
    for _ in range(4):
        divided(op, rng, a, b, kind).check()


def test_tiny_quotients_are_0() -> None:
    """LiteRT shifts by more than 31 bits there, which C++ leaves open."""
    q, out = Quantization((0.01,), (0,)), Quantization((50.0,), (3,))
    x = [Given(np.array(v, np.int8), quantization=q) for v in ([1, -1, 100], [100, 100, 1])]
    assert OneNode("DIV", x, quantization=out).check(oracle=None).tolist() == [3, 3, 5]


def test_lowest_integers() -> None:
    """Divided by -1 they stay: LiteRT's process dies where it asks the processor."""
    a, b = np.array([-(1 << 31), 7, -7], np.int32), np.array([-1, -1, 2], np.int32)
    assert OneNode("DIV", [a, b]).check(oracle=None).tolist() == [-(1 << 31), -7, -3]
    assert OneNode("FLOOR_DIV", [a, b]).check(oracle=None).tolist() == [-(1 << 31), -7, -4]
    assert OneNode("FLOOR_MOD", [a, b]).check(oracle=None).tolist() == [0, 0, 1]


def test_special_floats() -> None:
    """LiteRT's reference clamps infinite quotients to the largest float, as its ADD does; ours stay."""
    a = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 5.5], np.float32)
    y = OneNode("DIV", [a[:, None].repeat(8, 1), a[None].repeat(8, 0)]).check(oracle=None)
    assert y[5, 3] == np.inf
    assert y[5, 4] == -np.inf
    assert np.isnan(y[3, 3])
    OneNode("FLOOR_MOD", [a[:, None].repeat(8, 1), a[None].repeat(8, 0)]).check()
    OneNode("FLOOR_DIV", [a[:, None].repeat(5, 1), a[[0, 1, 2, 5, 6]][None].repeat(8, 0)]).check()


@pytest.mark.parametrize(("op", "kind"), [pair for pair in PAIRS if pair[1] != "f32"] + [("FLOOR_DIV", "f32")])
def test_division_by_zero(op: str, kind: str) -> None:
    zero = 5 if op == "DIV" and kind in ("s8", "u8") else 0
    q = Quantization((0.1,), (zero,)) if kind in QUANTIZED else Quantization()
    x = np.array([7, 3, zero], dtype_of(kind))
    OneNode(op, [Given(x, quantization=q), Given(x, quantization=q)], quantization=q).refused(
        KernelError, "division by 0: element 2 of the divisor"
    )


def test_refusals() -> None:
    a, b = np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)
    OneNode("DIV", [a, b]).refused(ShapeError, r"shapes \(2, 3\) and \(2, 4\) do not broadcast")
