"""ADD, MUL: C kernels, numpy references and LiteRT agree (floats and integers bit for bit; oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import check, compare, run_litert, run_minilite
from elementwise import ALL_BYTES, FLOAT32, INT8, INT16, INT32, INT64, UINT8, one_node, scaled, values

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.quantization import NOT_QUANTIZED, Quantization

OPS = ["ADD", "MUL"]
KINDS = [FLOAT32, INT32, INT64, INT8, UINT8, INT16]
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
]


def model(
    op: str, a: Any, b: Any, activation: str = "NONE", seed: int = 0, pot: bool = False, constants: Any = ()
) -> bytes:
    """One node of random scales, such that the results spread over the output's range."""
    rng = np.random.default_rng(seed)
    kind = next(k for k in KINDS if numpy_type(k) == a.dtype.type)
    x, y, z = scaled(rng, kind, 1e-3, 0.5), scaled(rng, kind, 1e-3, 0.5), scaled(rng, kind, 0.3, 3.0)
    if z.scales:
        typical = max(x.scale, y.scale) if op == "ADD" else x.scale * y.scale * (16384 if kind == INT16 else 64)
        z = Quantization((float(np.float32(typical * z.scale)),), z.zero_points)
    options: dict[str, Any] = {"fused_activation_function": activation}
    if op == "ADD":
        options["pot_scale_int16"] = pot
    return one_node(op, [(a, x), (b, y)], kind, scale=z, options=options, constants=constants, version=2)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_broadcasts(op: str, kind: TensorType, activation: str) -> None:
    rng = np.random.default_rng(7)
    for seed, (left, right) in enumerate(SHAPES):
        a, b = values(rng, kind, left), values(rng, kind, right)
        for constants in ((), (0,), (1,)):
            inputs = [x for i, x in enumerate((a, b)) if i not in constants]
            check(model(op, a, b, activation, seed, constants=constants), inputs)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", [INT8, UINT8])
def test_all_pairs_of_bytes(op: str, kind: TensorType) -> None:
    a, b = (x.view(numpy_type(kind)) for x in (ALL_BYTES.reshape(256, 1), ALL_BYTES))
    for seed in range(4):
        check(model(op, a, b, seed=seed), [a, b])


@pytest.mark.parametrize("kind", KINDS)
def test_rank_8(kind: TensorType) -> None:
    """LiteRT broadcasts up to 6 dimensions only."""
    rng = np.random.default_rng(3)
    a, b = values(rng, kind, (2, 1, 2, 1, 3, 1, 2, 1)), values(rng, kind, (1, 3, 1, 2, 1, 2, 1, 2))
    for op in OPS:
        check(model(op, a, b), [a, b], against_litert=False)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_elements(op: str, kind: TensorType) -> None:
    rng = np.random.default_rng(3)
    for left, right in (((0, 3), (3,)), ((2, 0), (2, 1)), ((0,), (0,))):
        a, b = values(rng, kind, left), values(rng, kind, right)
        check(model(op, a, b), [a, b])


@pytest.mark.parametrize("op", OPS)
def test_no_elements_write_none(op: str) -> None:
    """The output lies in a buffer of the caller's, whose bytes stay when there is nothing to put there."""
    x, buffer = np.array([1], np.float32), np.array([7, 8], np.float32)
    one = one_node(op, [(x, NOT_QUANTIZED), (np.array([5], np.float32), NOT_QUANTIZED)], FLOAT32, constants=[1])
    interpreter = minilite.Interpreter(model_content=one)
    interpreter.bind_tensor("y", buffer)
    for size in (0, 1, 0):
        interpreter.resize_tensor_input(0, (size,))
        interpreter.allocate_tensors()
        before = buffer.copy()
        interpreter.set_tensor(0, x[:size])
        interpreter.invoke()
        assert buffer.tolist() == ([6 if op == "ADD" else 5, 8] if size else before.tolist())


@pytest.mark.parametrize("op", OPS)
def test_resized(op: str) -> None:
    rng = np.random.default_rng(3)
    built = model(op, values(rng, FLOAT32, (1, 4)), values(rng, FLOAT32, (4,)))
    for left, right in (((1, 4), (4,)), ((9, 4), (4,)), ((2, 3, 5), (3, 1)), ((7,), ())):
        check(built, [values(rng, FLOAT32, left), values(rng, FLOAT32, right)])


def test_nan_passes_every_clamp() -> None:
    a = np.array([np.nan, 1, -1, 7], np.float32)
    for activation in ACTIVATIONS:
        check(model("ADD", a, a[::-1].copy(), activation), [a, a[::-1].copy()])


def test_infinity_stays() -> None:
    """LiteRT's reference kernels clamp to the largest float even without an activation; its XNNPACK does not, nor we."""
    a = np.array([np.inf, -np.inf, 3e38], np.float32)
    (sums,) = check(model("ADD", a, a), [a, a], against_litert=False)
    np.testing.assert_array_equal(sums, [np.inf, -np.inf, np.inf])
    (theirs,) = run_litert(model("ADD", a, a), [a, a])
    np.testing.assert_array_equal(theirs, np.float32([3.4028235e38, -3.4028235e38, 3.4028235e38]))


def test_int16_in_powers_of_two() -> None:
    """Without broadcasting: LiteRT aborts where such a node broadcasts."""
    rng = np.random.default_rng(2)
    a, b = values(rng, INT16, (4, 100)), values(rng, INT16, (4, 100))
    for left, right in ((0, 0), (3, 0), (0, 5)):
        scales = [Quantization((2.0**-power,), (0,)) for power in (8 + left, 8 + right, 8)]
        for activation in ACTIVATIONS:
            options = {"fused_activation_function": activation, "pot_scale_int16": True}
            built = one_node("ADD", [(a, scales[0]), (b, scales[1])], INT16, scale=scales[2], options=options)
            check(built, [a, b])


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", [FLOAT32, INT8])
def test_in_place(op: str, kind: TensorType) -> None:
    """A chain whose nodes overwrite their first or second input, for every tail of the vector loops."""
    rng = np.random.default_rng(1)
    q = Quantization((0.05,), (3,)) if kind == INT8 else NOT_QUANTIZED
    for n in range(1, 70):
        builder = ModelBuilder()
        g = builder.subgraph()
        x = g.input("x", (n,), kind, quantization=q)
        row = g.constant("row", values(rng, kind, (n,)), quantization=q)
        one = g.constant("one", values(rng, kind, ()), quantization=q)
        t = g.node(op, [x, row], out=("t", (n,), kind, q))
        t = g.node(op, [t, one], out=("u", (n,), kind, q))
        t = g.node(op, [row, t], out=("v", (n,), kind, q))
        g.output(g.node(op, [t, t], out=("w", (n,), kind, q)))
        inputs = [values(rng, kind, (n,))]
        compare(run_minilite(builder.build(), inputs, reference=True), run_minilite(builder.build(), inputs), 0.0, "")


def test_shapes_that_do_not_broadcast() -> None:
    a, b = np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)
    with pytest.raises(ShapeError, match=r"ADD 'y'\): shapes \(2, 3\) and \(2, 4\) do not broadcast: .* is 3 and 4"):
        run_minilite(model("ADD", a, b), [a, b])


def test_types_that_differ() -> None:
    inputs: Any = [(np.zeros(2, np.float32), NOT_QUANTIZED), (np.zeros(2, np.int32), NOT_QUANTIZED)]
    with pytest.raises(UnsupportedOpError, match="FLOAT32, INT32, INT32 of inputs and output differ"):
        run_minilite(one_node("ADD", inputs, FLOAT32), [x for x, _ in inputs])
