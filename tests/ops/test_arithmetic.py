"""ADD, SUB, MUL, SQUARED_DIFFERENCE: floats and integers bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import REFERENCE, compare, run_litert, run_minilite
from support.halves import LONG, any_halves
from support.node import ALL_BYTES, QUANTIZED, Array, Given, OneNode, const, dtype_of, kind_of, scaled, values

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.quantization import NOT_QUANTIZED, Quantization

OPS = ["ADD", "SUB", "MUL", "SQUARED_DIFFERENCE"]
FUSED = ["ADD", "SUB", "MUL"]
KINDS = ["f32", "f16", "s32", "s64", "s8", "u8", "s16"]
BY_OP = {"SUB": ["f32", "s32", "s64", "s8", "u8", "s16"], "SQUARED_DIFFERENCE": ["f32", "s32", "s8"]}
PAIRS = [(op, kind) for op in OPS for kind in BY_OP.get(op, KINDS)]
ACTIVATIONS = ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"]
SHAPES: list[tuple[Any, Any]] = [
    ((), ()),
    ((1,), ()),
    ((33,), (33,)),
    ((17,), (1,)),
    ((1, 1), (2, 5)),
    ((3, 1), (1, 5)),
    ((2, 3, 4), (4,)),
    ((2, 3, 4), (2, 1, 4)),
    ((2, 1, 4, 1), (1, 3, 1, 5)),
    ((1, 2, 1, 3, 1), (2, 2, 1, 3, 4)),
    ((2, 1, 3, 1, 2, 2), (1, 2, 3, 1, 2, 1)),
    ((5, 300), (5, 1)),
    ((5, 700), (5, 1)),
    # A short row that comes again, of either operand, and another one from plane to plane.
    ((3, 700, 3), (3, 1, 3)),
    ((2, 1, 5), (2, 9, 5)),
    ((2, 2, 6, 1, 4), (1, 2, 1, 7, 4)),
]


def output_scale(rng: np.random.Generator, op: str, kind: str, x: Quantization, y: Quantization) -> Quantization:
    """A random scale such that results spread over the output's range."""
    z = scaled(rng, kind, 0.3, 3.0)
    if not z.scales:
        return z
    if op == "SQUARED_DIFFERENCE":
        return Quantization((float(np.float32(max(x.scale, y.scale) ** 2 * 64 * z.scale)),), z.zero_points)
    typical = max(x.scale, y.scale) if op != "MUL" else x.scale * y.scale * (16384 if kind == "s16" else 64)
    return Quantization((float(np.float32(typical * z.scale)),), z.zero_points)


def node(
    op: str,
    a: Array,
    b: Array,
    kind: str,
    activation: str = "NONE",
    seed: int = 0,
    constants: Any = (),
    pot: bool = False,
) -> OneNode:
    rng = np.random.default_rng(seed)
    x, y = scaled(rng, kind), scaled(rng, kind)
    options: dict[str, Any] = {"fused_activation_function": activation} if op in FUSED else {}
    options |= {"pot_scale_int16": pot} if op in ("ADD", "SUB") else {}
    given = [Given(array, i in constants, q) for i, (array, q) in enumerate(((a, x), (b, y)))]
    return OneNode(op, given, options, quantization=output_scale(rng, op, kind, x, y), version=2)


def every_type(op: str) -> Any:
    def case(rng: np.random.Generator, inputs: Any, outputs: Any) -> tuple[OneNode, Any]:
        a, b = (values(rng, kind, shape) for kind, shape in zip(inputs, ((4, 1, 30), (4, 3, 1)), strict=True))
        return node(op, a, b, outputs[0]), {}

    return case


EVERY_TYPE = {op: every_type(op) for op in OPS}


@pytest.mark.parametrize("op", ["ADD", "MUL"])
@pytest.mark.parametrize("activation", ["NONE", "RELU6"])
def test_halves_of_all_kinds(op: str, activation: str) -> None:
    """LiteRT's reference clamps to the largest number even without an activation."""
    rng = np.random.default_rng(8)
    for shapes in LONG:
        a, b = (any_halves(rng, shape) for shape in shapes)
        with np.errstate(all="ignore"):
            node(op, a, b, "f16", activation).check(oracle=None if activation == "NONE" else REFERENCE)


@pytest.mark.parametrize(("op", "kind"), PAIRS)
def test_broadcasts(op: str, kind: str) -> None:
    rng = np.random.default_rng(7)
    for seed, (left, right) in enumerate(SHAPES):
        a, b = values(rng, kind, left), values(rng, kind, right)
        for constants in ((), (0,), (1,)):
            node(op, a, b, kind, "NONE", seed, constants).check()


@pytest.mark.parametrize(("op", "kind"), [pair for pair in PAIRS if pair[0] in FUSED])
@pytest.mark.parametrize("activation", ACTIVATIONS[1:])
def test_fused_activations(op: str, kind: str, activation: str) -> None:
    rng = np.random.default_rng(7)
    for seed, (left, right) in enumerate(SHAPES):
        a, b = values(rng, kind, left), values(rng, kind, right)
        node(op, a, b, kind, activation, seed, ((), (0,), (1,))[seed % 3]).check()


@pytest.mark.parametrize(("op", "kind"), [pair for pair in PAIRS if pair[1] in ("s8", "u8")])
def test_all_pairs_of_bytes(op: str, kind: str) -> None:
    a, b = (x.view(dtype_of(kind)) for x in (ALL_BYTES.reshape(256, 1), ALL_BYTES))
    for seed in range(4):
        node(op, a, b, kind, seed=seed).check()


@pytest.mark.parametrize("op", ["ADD", "SUB"])
@pytest.mark.parametrize(("kind", "zero_points"), [("u8", (191, 69, 31)), ("s8", (63, -59, -97))])
@pytest.mark.parametrize("y_scale", [0.165969238, 0.0026369158, 1e-5])
def test_bytes_whose_sums_are_not_linear(op: str, kind: str, zero_points: Any, y_scale: float) -> None:
    """Scales for which sums of bytes are not linear: for the first, no linear form gives all pairs; for the second,
    sums go far beyond a byte; for the third, so far that there is no linear form."""
    scales = (0.0629307032, 0.00894563645, y_scale)
    a, b, y = (Quantization((float(np.float32(s)),), (z,)) for s, z in zip(scales, zero_points, strict=True))
    every = ALL_BYTES.view(dtype_of(kind))
    left, right = every.repeat(256), np.tile(every, 256)
    for u, v in ((left, right), (every.reshape(256, 1), every), (left[:40000], every[137]), (every[31], right[:5000])):
        OneNode(op, [Given(u, quantization=a), Given(v, quantization=b)], quantization=y).check()


@pytest.mark.parametrize("op", ["ADD", "MUL"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_int16_without_scales(op: str, activation: str) -> None:
    """Plain integers, which wrap."""
    rng = np.random.default_rng(5)
    for shift in (0, 8, 13):
        a, b = (values(rng, "s16", shape) >> shift for shape in ((3, 40), (3, 1)))
        OneNode(op, [a, b], {"fused_activation_function": activation}).check()


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_uint32(activation: str) -> None:
    rng = np.random.default_rng(5)
    a, b = (values(rng, "u32", shape) for shape in ((3, 40), (3, 1)))
    OneNode("MUL", [a, b % 3], {"fused_activation_function": activation}).check()


def test_mul_without_scales() -> None:
    """A scale that is missing counts as 0, and so does the product."""
    for kind in ("s8", "u8"):
        assert not OneNode("MUL", [ALL_BYTES.view(dtype_of(kind))] * 2).check().any()


@pytest.mark.parametrize("kind", KINDS)
def test_rank_8(kind: str) -> None:
    """LiteRT broadcasts up to 6 dimensions only."""
    rng = np.random.default_rng(3)
    a, b = values(rng, kind, (2, 1, 2, 1, 3, 1, 2, 1)), values(rng, kind, (1, 3, 1, 2, 1, 2, 1, 2))
    for op in (op for op, other in PAIRS if other == kind):
        node(op, a, b, kind).check(oracle=None)


@pytest.mark.parametrize(("op", "kind"), PAIRS)
def test_no_elements(op: str, kind: str) -> None:
    rng = np.random.default_rng(3)
    for left, right in (((0, 3), (3,)), ((2, 0), (2, 1)), ((0,), (0,))):
        node(op, values(rng, kind, left), values(rng, kind, right), kind).check()


@pytest.mark.parametrize("op", OPS)
def test_no_elements_write_none(op: str) -> None:
    """The output lies in a buffer of the caller's, whose bytes stay when there is nothing to put there."""
    x, buffer = np.array([1], np.float32), np.array([7, 8], np.float32)
    interpreter = minilite.Interpreter(model_content=OneNode(op, [x, const([5], np.float32)]).model)
    interpreter.bind_tensor("y", buffer)
    for size in (0, 1, 0):
        interpreter.resize_tensor_input(0, (size,))
        interpreter.allocate_tensors()
        before = buffer.copy()
        interpreter.set_tensor(0, x[:size])
        interpreter.invoke()
        assert buffer.tolist() == (
            [{"ADD": 6, "SUB": -4, "MUL": 5, "SQUARED_DIFFERENCE": 16}[op], 8] if size else before.tolist()
        )


@pytest.mark.parametrize("op", OPS)
def test_resized(op: str) -> None:
    rng = np.random.default_rng(3)
    for left, right in (((1, 4), (4,)), ((9, 4), (4,)), ((2, 3, 5), (3, 1)), ((7,), ())):
        a, b = values(rng, "f32", left), values(rng, "f32", right)
        OneNode(op, [Given(a, shape=(1, 4)), Given(b, shape=(4,))]).check()


def test_nan_passes_every_clamp() -> None:
    a = np.array([np.nan, 1, -1, 7], np.float32)
    for kind in (np.float32, np.float16):
        for activation in ACTIVATIONS:
            node("ADD", a.astype(kind), a[::-1].astype(kind), "f32", activation).check()


def test_infinity_stays() -> None:
    """LiteRT's reference kernels clamp to the largest float even without an activation; its XNNPACK does not, nor
    we."""
    a = np.array([np.inf, -np.inf, 3e38], np.float32)
    sums = OneNode("ADD", [a, a])
    np.testing.assert_array_equal(sums.check(oracle=None), [np.inf, -np.inf, np.inf])
    (theirs,) = run_litert(sums.model, [a, a])
    np.testing.assert_array_equal(theirs, np.float32([3.4028235e38, -3.4028235e38, 3.4028235e38]))


def test_int16_in_powers_of_two() -> None:
    """Without broadcasting: LiteRT aborts where such a node broadcasts."""
    rng = np.random.default_rng(2)
    a, b = values(rng, "s16", (4, 100)), values(rng, "s16", (4, 100))
    for left, right in ((0, 0), (3, 0), (0, 5)):
        x, y, z = (Quantization((2.0**-power,), (0,)) for power in (8 + left, 8 + right, 8))
        for activation in ACTIVATIONS:
            options = {"fused_activation_function": activation, "pot_scale_int16": True}
            for op in ("ADD", "SUB"):
                OneNode(op, [Given(a, quantization=x), Given(b, quantization=y)], options, quantization=z).check()
    shifted = Quantization((2.0**-8,), (5,))
    options = {"pot_scale_int16": True}
    OneNode(
        "ADD", [Given(a, quantization=shifted), Given(b, quantization=shifted)], options, quantization=shifted
    ).check(
        oracle=None  # LiteRT wants zero points of 0 there
    )


def test_large_multipliers() -> None:
    """If a product exceeds int32 on the way, it is clamped before the zero point is added."""
    for kind, zero_point in (("s8", 127), ("u8", 255), ("s16", 0)):
        q = Quantization((3e38,), (zero_point,))
        x = Given(np.arange(-120, 120).astype(dtype_of(kind)), quantization=q)
        OneNode("MUL", [x, x], quantization=q).check(oracle=None)  # LiteRT's shift is undefined there


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", ["f32", "s8"])
def test_in_place(op: str, kind: str) -> None:
    """A chain whose nodes overwrite their first or second input, for every tail of the vector loops."""
    rng = np.random.default_rng(1)
    q = Quantization((0.05,), (3,)) if kind in QUANTIZED else NOT_QUANTIZED
    for n in range(1, 70):
        builder = ModelBuilder()
        g = builder.subgraph()
        x, row = values(rng, kind, (n,)), values(rng, kind, (n,))
        t = g.input("x", (n,), kind_of(kind), quantization=q)
        second = g.constant("row", row, quantization=q)
        one = g.constant("one", values(rng, kind, ()), quantization=q)
        outs = [(name, (n,), kind_of(kind), q) for name in "tuvw"]
        t = g.node(op, [t, second], out=outs[0])
        t = g.node(op, [t, one], out=outs[1])
        t = g.node(op, [second, t], out=outs[2])
        g.output(g.node(op, [t, t], out=outs[3]))
        compare(run_minilite(builder.build(), [x], reference=True), run_minilite(builder.build(), [x]), 0.0, "")


def test_rows_of_more_than_2_31_elements_are_not_merged() -> None:
    """Only planned: 8 GiB."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, y = graph.input("x", (1, 1, 1), signature=(-1, -1, 1)), graph.input("y", (1, 1, 2), signature=(-1, -1, 2))
    graph.output(graph.node("ADD", [x, y], out=("z", (1, 1, 2))))
    plan = minilite.Interpreter(model_content=builder.build()).plan_for(
        {"x": (65536, 65536, 1), "y": (65536, 65536, 2)}
    )
    assert plan.shape(2) == (65536, 65536, 2)


def test_refusals() -> None:
    a, b = np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)
    OneNode("ADD", [a, b]).refused(
        ShapeError, r"ADD 'y'\): shapes \(2, 3\) and \(2, 4\) do not broadcast: .* is 3 and 4"
    )
    OneNode("ADD", [a, a.astype(np.int32)]).refused(
        UnsupportedOpError, "types f32 s32 -> s32 of a b -> y are not supported"
    )
    OneNode("ADD", [a]).refused(UnsupportedOpError, r"input 1 \(b\) is absent")
    OneNode("ADD", [a, a, a]).refused(UnsupportedOpError, "3 inputs, it takes at most 2")
    fused = OneNode("MUL", [a, a], {"fused_activation_function": "TANH"})
    fused.refused(UnsupportedOpError, "fused activation TANH is not supported", by_litert=False)  # LiteRT ignores it
    x = Given(np.zeros(3, np.int8), quantization=Quantization((1.0,), (0,)))
    small = OneNode("ADD", [x, x], quantization=Quantization((1e-7,), (0,)))
    small.refused(UnsupportedOpError, "output scale is too small", by_litert=False)  # LiteRT aborts
    w = [Given(np.zeros(3, np.int16), quantization=Quantization((2.0**-power,), (0,))) for power in (3, 4)]
    shifts = OneNode("ADD", w, {"pot_scale_int16": True}, quantization=Quantization((0.03125,), (0,)))
    shifts.refused(UnsupportedOpError, "no input scale may exceed the output's", by_litert=False)  # LiteRT aborts
    plain = OneNode("SUB", [w[0].array, w[0].array])
    plain.refused(UnsupportedOpError, "must have a scale", by_litert=False)  # LiteRT aborts
    squares = OneNode("SQUARED_DIFFERENCE", [x, x], quantization=Quantization((1e-7,), (0,)))
    squares.refused(UnsupportedOpError, "output scale is too small", by_litert=False)  # LiteRT aborts
