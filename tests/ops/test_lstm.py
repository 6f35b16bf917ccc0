"""LSTMs: C kernels, numpy references and LiteRT agree over several invokes with state, with every optional part and
without."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.compare import BUILTIN, REFERENCE, check_steps
from support.lstm import FLOAT, HYBRID, INTEGER, PARTS, TOLERANCE, UNSIGNED, Both, Lstm, one_scale
from support.node import Given, OneNode, Out, const, kind_of, values
from support.peer import interpreter as litert
from support.weighted import same_for_any_number_of_threads

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.quantization import NOT_QUANTIZED, Quantization


def every(op: str) -> Any:
    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        if len(inputs) == 5:
            return basic(rng, inputs[0]), {"tolerance": 2e-6}
        types = " ".join(inputs[i] for i in (0, 1, 9, 12, 20, 19))
        if inputs[5] != inputs[1]:
            return diagonal(types), {"tolerance": TOLERANCE[types], "oracle": BUILTIN}
        return Lstm(op, types, PARTS[1:]), {"tolerance": TOLERANCE[types]}

    return case


def basic(rng: np.random.Generator, kind: str, batches: int = 3, depth: int = 5, n: int = 4, **inputs: Any) -> OneNode:
    """The older LSTM of five inputs and four outputs."""
    byte, cell = one_scale(kind, 1 / 128, 128), one_scale("s16" if kind == "u8" else "f32", 2.0**-11)
    weights, bias = one_scale(kind, 0.01, 120), Quantization((0.01 / 128,), (0,)) if kind == "u8" else NOT_QUANTIZED
    biases = rng.integers(-3000, 3000, 4 * n, np.int32) if kind == "u8" else values(rng, "f32", (4 * n,), 1.0)
    cells = rng.integers(-9000, 9000, (batches, n), np.int16) if kind == "u8" else values(rng, "f32", (batches, n), 1.0)
    given = {
        "x": Given(values(rng, kind, (batches, depth), 1.0), quantization=byte),
        "last": Given(values(rng, kind, (batches, n), 1.0), quantization=byte),
        "weights": Given(values(rng, kind, (4 * n, depth + n), 0.5), True, weights),
        "bias": Given(biases, True, bias),
        "cell": Given(cells, quantization=cell),
        **inputs,
    }
    gates = one_scale("s16" if kind == "u8" else "f32", 2.0**-12)
    outs = [Out(kind, byte), Out(kind_of(cells), cell), Out(kind, byte), Out(kind_of(cells), gates)]
    return OneNode("LSTM", list(given.values()), {"kernel_type": "BASIC"}, outs=outs, version=2)


EVERY_TYPE = {op: every(op) for op in ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")}
SUBSETS = [
    parts
    for count in range(len(PARTS) + 1)
    for parts in itertools.combinations(PARTS, count)
    if "projection" in parts or "projection_bias" not in parts
]


@pytest.mark.parametrize("types", TOLERANCE)
@pytest.mark.parametrize("parts", SUBSETS, ids=" ".join)
def test_parts(types: str, parts: Sequence[str]) -> None:
    """Every combination of parts, with and without limits."""
    Lstm("LSTM", types, parts, seed=len(parts), cell_clip=1.5 * (len(parts) % 2), proj_clip=0.3).agree(types)


@pytest.mark.parametrize("types", TOLERANCE)
@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("batches", [1, 3])
def test_sequences(types: str, time_major: bool, batches: int) -> None:
    """Sequences of more steps than are multiplied at once, and of none; parts that depend on the order of batches."""
    for steps, parts in ((70, ("cifg",)), (3, PARTS[1:]), (3, ("peephole", "projection")), (1, ())):
        node = Lstm(
            "UNIDIRECTIONAL_SEQUENCE_LSTM", types, parts, batches, steps, 7, 5, 3, time_major=time_major, seed=steps
        )
        node.agree(types)


@pytest.mark.parametrize("types", [FLOAT, HYBRID])
@pytest.mark.parametrize("activation", ["RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT"])
def test_activations(types: str, activation: str) -> None:
    Lstm("LSTM", types, fused_activation_function=activation).agree(types)


@pytest.mark.parametrize("types", [HYBRID, UNSIGNED])
@pytest.mark.parametrize("parts", [(), PARTS[1:]], ids=" ".join)
def test_asymmetric(types: str, parts: Sequence[str]) -> None:
    Lstm("UNIDIRECTIONAL_SEQUENCE_LSTM", types, parts, asymmetric_quantize_inputs=True).agree(types)


def every_way(rng: Any, inputs: Any, outputs: Any) -> Any:
    types = " ".join(inputs[i] for i in (0, 1, 9, 12, 12, 36))
    return Both(types, ("peephole", "projection", "projection_bias"), aux="crossed"), {"tolerance": TOLERANCE[types]}


EVERY_TYPE["BIDIRECTIONAL_SEQUENCE_LSTM"] = every_way


@pytest.mark.parametrize("types", [FLOAT, HYBRID, UNSIGNED])
@pytest.mark.parametrize("aux", ["", "crossed", "parallel"])
@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("merged", [True, False])
def test_two_directions(types: str, aux: str, time_major: bool, merged: bool) -> None:
    batches = 2 if time_major or not merged else 1  # else LiteRT looks for states by the width of both outputs
    for parts, steps in (((), 40 if types == FLOAT else 5), (("cifg", "peephole", "projection"), 2)):
        Both(types, parts, batches, steps, aux=aux, time_major=time_major, merged=merged).agree(types)
    node = Both(types, ("projection",), aux=aux, time_major=time_major, merged=merged, more=3)
    steps = [[node.floats(*array.shape) for array in node.arrays]]
    check_steps(node.model, steps, tolerance=TOLERANCE[types], oracle=None)  # LiteRT wants directions of one size


@pytest.mark.parametrize("types", [HYBRID, UNSIGNED])
def test_two_directions_asymmetric(types: str) -> None:
    Both(types, PARTS[3:], aux="crossed", asymmetric_quantize_inputs=True).agree(types)


def diagonal(types: str, parts: Sequence[str] = (), positions: Sequence[int] = (5, 6, 7, 8)) -> Lstm:
    """Returns a node whose recurrent weights are the diagonal of a matrix; they are floats beside weights of any
    type."""
    rng = np.random.default_rng(1)
    inputs = {i: const(values(rng, "f32", (6,), 0.5), np.float32) for i in positions}
    options = {"inputs": inputs, "diagonal_recurrent_tensors": True, "version": 4}
    return Lstm("UNIDIRECTIONAL_SEQUENCE_LSTM", types, parts, **options)


@pytest.mark.parametrize("types", [FLOAT, HYBRID, UNSIGNED])
@pytest.mark.parametrize("parts", [(), ("peephole", "norm")], ids=" ".join)
def test_diagonals(types: str, parts: Sequence[str]) -> None:
    """BUILTIN_REF has no version 4."""
    node = diagonal(types, parts)
    check_steps(node.model, [[node.draw()] for _ in range(3)], tolerance=TOLERANCE[types], oracle=BUILTIN)
    if types == FLOAT:
        node = diagonal(types, parts, (6, 8))
        check_steps(node.model, [[node.draw()]], tolerance=TOLERANCE[types], oracle=BUILTIN)


def interpreters(model: bytes) -> dict[str, Any]:
    """Returns an allocated interpreter of each kind."""
    kinds = minilite.OpResolverType
    made = {
        "C": minilite.Interpreter(model_content=model),
        "numpy": minilite.Interpreter(model_content=model, experimental_op_resolver_type=kinds.BUILTIN_REF),
        "LiteRT": litert.Interpreter(model_content=model, experimental_op_resolver_type=REFERENCE),
    }
    for interpreter in made.values():
        interpreter.allocate_tensors()
    return made


def tensor(interpreter: Any, name: str) -> int:
    return int(next(d["index"] for d in interpreter.get_tensor_details() if d["name"] == name))


def test_every_value_of_a_gate() -> None:
    """Biases are the gates' sums; cells show what the activations make of each of 65536."""
    n, every_value = 1 << 16, const(np.arange(-(1 << 15), 1 << 15))
    one, scale = const(np.full(n, 1 << 15)), {"quantization": one_scale("s8", 2.0**-6)}
    weights = {i: const(np.zeros((n, 1), np.int8), np.int8, **scale) for i in range(1, 9)}
    cells = Given(np.zeros((1, n), np.int16), quantization=one_scale("s16", 2.0**-15), variable=True)
    for biases in ((every_value, one), (one, every_value)):
        inputs = {**weights, 0: Given(np.zeros((1, 1), np.int8), **scale), 12: biases[0], 14: biases[1], 19: cells}
        node = Lstm("LSTM", INTEGER, ("projection",), 1, 1, 1, n, 1, inputs=inputs)
        found = {}
        for name, interpreter in interpreters(node.model).items():
            interpreter.set_tensor(tensor(interpreter, "x0"), np.zeros((1, 1), np.int8))
            interpreter.invoke()
            found[name] = interpreter.get_tensor(tensor(interpreter, "v19"))
        np.testing.assert_array_equal(found["C"], found["LiteRT"])
        np.testing.assert_array_equal(found["numpy"], found["LiteRT"])
        assert len(np.unique(found["C"])) > 9000


@pytest.mark.parametrize("exponent", [-30, *range(-20, -8)])
def test_every_scale_of_cells(exponent: int) -> None:
    """Sets states over the whole range and compares the cells. For scales below 2**-15 LiteRT multiplies the output
    gate with the input gate."""
    n = 512
    cells = Given(np.zeros((1, n), np.int16), quantization=one_scale("s16", 2.0**exponent), variable=True)
    node = Lstm("LSTM", INTEGER, (), 1, 1, 3, n, inputs={19: cells})
    state, found = np.linspace(-32768, 32767, n).astype(np.int16)[None], {}
    x = node.draw()
    for name, interpreter in interpreters(node.model).items():
        interpreter.set_tensor(tensor(interpreter, "v19"), state)
        interpreter.set_tensor(tensor(interpreter, "x0"), x)
        interpreter.invoke()
        found[name] = [interpreter.get_tensor(tensor(interpreter, which)) for which in ("y", "v18", "v19")]
    for name in ("numpy", "LiteRT"):
        np.testing.assert_array_equal(found["C"], found[name], err_msg=name)


@pytest.mark.parametrize("parts", [parts for parts in SUBSETS if "cifg" not in parts], ids=" ".join)
def test_parts_with_small_cells(parts: Sequence[str]) -> None:
    """The scale that a converter gives to cells that stay below 1/2; every variant, both orders."""
    cells = Given(np.zeros((2, 6), np.int16), quantization=one_scale("s16", 2.0**-16), variable=True)
    for op, time_major in (("LSTM", True), *(("UNIDIRECTIONAL_SEQUENCE_LSTM", order) for order in (True, False))):
        Lstm(op, INTEGER, parts, time_major=time_major, inputs={19: cells}, cell_clip=0.2).agree(INTEGER)


def test_states_begin_at_their_zero_points() -> None:
    for name, interpreter in interpreters(Lstm("LSTM", INTEGER).model).items():
        for _ in range(2):
            assert (interpreter.get_tensor(tensor(interpreter, "v18")) == 3).all(), name
            interpreter.invoke()
            interpreter.reset_all_variables()


@pytest.mark.parametrize("types", TOLERANCE)
def test_limits(types: str) -> None:
    """Limits that clip values, and limits beyond the integers' range."""
    for limit in (0.01, 0.4, 100.0):
        node = Lstm("LSTM", types, ("projection",), cell_clip=limit, proj_clip=limit)
        outputs = node.agree(types)
        if types == FLOAT:
            assert max(np.abs(y).max() for (y,) in outputs) <= np.float32(limit)


@pytest.mark.parametrize("types", TOLERANCE)
@pytest.mark.parametrize("parts", [(), PARTS[1:]], ids=" ".join)
def test_computed_weights(types: str, parts: Sequence[str]) -> None:
    """Weights that come with the run are packed in it."""
    known = Lstm("UNIDIRECTIONAL_SEQUENCE_LSTM", types, parts, seed=7)
    computed = Lstm("UNIDIRECTIONAL_SEQUENCE_LSTM", types, parts, seed=7, constant=False)
    np.testing.assert_array_equal(computed.run(), known.run())
    assert len(computed.arrays) > len(known.arrays) + 5


@pytest.mark.parametrize("types", TOLERANCE)
def test_threads(types: str) -> None:
    same_for_any_number_of_threads(Lstm("UNIDIRECTIONAL_SEQUENCE_LSTM", types, PARTS[1:], 4, 9, 128, 150, 100))


@pytest.mark.parametrize(
    ("position", "shape", "message"),
    [
        (0, (2, 5, 1), "input has the shape .2, 5, 1., expected 2 dimensions"),
        (0, (2, 6), r"input 1 has the shape \(6, 5\), expected \(6, 6\)"),
        (3, (5, 5), "the weights of some gates differ"),
        (8, (6, 5), "the weights of some gates differ"),
        (10, (5,), r"input 10 has the shape \(5\), expected \(6\)"),
        (13, (7,), r"input 13 has the shape \(7\), expected \(6\)"),
        (16, (6, 4), r"input 16 has the shape \(6, 4\), expected \(4, 6\)"),
        (17, (5,), r"input 17 has the shape \(5\), expected \(4\)"),
        (18, (2, 5), r"state 18 has the shape \(2, 5\), expected \(2, 4\)"),
        (19, (1, 6), r"state 19 has the shape \(1, 6\), expected \(2, 6\)"),
        (22, (5,), r"input 22 has the shape \(5\), expected \(6\)"),
    ],
)
def test_shapes_refused(position: int, shape: Any, message: str) -> None:
    value = Given(np.zeros(shape, np.float32), position not in (0, 18, 19), variable=position in (18, 19))
    node = Lstm("LSTM", FLOAT, PARTS[1:], inputs={position: value})
    node.refused(ShapeError, message, by_litert=len(shape) < 3)  # it reads two dimensions


@pytest.mark.parametrize("position", [1, 5, 9, 10, 11, 12, 16, 20, 22, 23])
def test_parts_that_do_not_go_together(position: int) -> None:
    """One operand of a group is missing while the others are there."""
    node = Lstm("LSTM", FLOAT, PARTS[1:], inputs={position: None})
    node.refused(ShapeError, "input .* (absent|given)", by_litert=position not in (12, 16))  # it crashes


def test_refused() -> None:
    x = Lstm("LSTM", FLOAT, cells=6)
    assert x.run().shape == (2, 6)
    square = const(np.zeros((6, 4)), np.float32)
    narrow = dict.fromkeys((5, 6, 7, 8), square) | {18: Given(np.zeros((2, 4), np.float32), variable=True)}
    Lstm(inputs=narrow).refused(ShapeError, "6 cells do not match 4 outputs", by_litert=False)  # it writes beyond
    Lstm(cell_clip=-1.0).refused(UnsupportedOpError, "cell_clip must be at least 0, it is -1")
    Lstm(inputs={19: np.zeros((2, 6), np.float32)}).refused(UnsupportedOpError, "must be a variable tensor")
    for scale, zero, parts, words in (
        (0.3, 0, (), "power of two from 2..-30 to 2..-9"),
        (2.0**-8, 0, (), "power of two from 2..-30 to 2..-9"),
        (2.0**-16, 0, ("cifg",), "at least 2..-15 without an input gate"),
        (2.0**-12, 3, (), "'v19' has the zero"),
    ):
        cells = Given(np.zeros((2, 6), np.int16), quantization=one_scale("s16", scale, zero), variable=True)
        node = Lstm(types=INTEGER, parts=parts, inputs={19: cells})
        node.refused(UnsupportedOpError, words, by_litert=False)  # it goes on
    weights = const(np.zeros((6, 5)), np.int8, Quantization((0.5,) * 6, (0,) * 6))
    Lstm(types=HYBRID, inputs={2: weights}).refused(
        UnsupportedOpError, "'c2' must have one scale, it has 6", by_litert=False
    )
    Lstm(types=INTEGER, inner=()).refused(UnsupportedOpError, "0 intermediate tensors, it takes 5", by_litert=False)
    bare = Lstm(types=INTEGER, parts=("norm",), inner=[Out("s16")] * 5)
    bare.refused(UnsupportedOpError, "intermediate tensor [0-9] must have a scale", by_litert=False)
    gates = Lstm(types=INTEGER, inner=[Out("s8", one_scale("s8", 0.01))] * 12)
    gates.refused(UnsupportedOpError, "12 intermediate tensors", by_litert=False)  # reads beyond its multipliers


@pytest.mark.parametrize("kind", ["f32", "u8"])
def test_basic(kind: str) -> None:
    """All four outputs, of gates over their whole range."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        basic(rng, kind, 1 + seed, 3 * seed + 1, 7 * seed + 1).check(tolerance=4e-6)


def test_basic_refused() -> None:
    rng = np.random.default_rng(0)
    basic(rng, "f32", bias=const(np.zeros(15), np.float32)).refused(
        ShapeError, r"input 3 has the shape \(15\), expected"
    )
    basic(rng, "f32", last=np.zeros((2, 4), np.float32)).refused(
        ShapeError, r"input 1 has the shape \(2, 4\), expected"
    )
    node = OneNode(
        "LSTM", [np.zeros((1, 2), np.float32)] * 5, {"kernel_type": "FULL"}, outs=[Out("f32")] * 4, version=2
    )
    node.refused(UnsupportedOpError, "5 inputs and 4 outputs of kernel type FULL, it takes 5 and 4 of BASIC")
    byte = basic(rng, "u8")
    outs = [out._replace(quantization=one_scale("s16", 0.25)) if i == 1 else out for i, out in enumerate(byte.outs)]
    other = OneNode("LSTM", byte.given, byte.options, outs=outs, version=byte.version)
    other.refused(UnsupportedOpError, "the cell state's scale must be 2\\*\\*-11, it is 0.25", by_litert=False)
