"""RNNs: C kernels, numpy references and LiteRT agree over several invokes with state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import REFERENCE, check, check_steps
from support.node import Array, Given, OneNode, Out, const, dtype_of, values
from support.weighted import same_for_any_number_of_threads

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization

SEQUENCES = ("UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN")
KINDS = {"f32": 2e-6, "s8": 2e-5, "u8": 2e-5}
"""Types of weights, and how far floats may be apart."""


class Rnn(OneNode):
    """A node of (batches, depth) inputs, or of a sequence of them, and `units` outputs a direction."""

    def __init__(
        self,
        op: str = "RNN",
        kind: str = "f32",
        batches: int = 2,
        steps: int = 3,
        depth: int = 5,
        units: int = 4,
        *,
        aux: str = "",
        time_major: bool = False,
        merged: bool = False,
        constant: bool = True,
        inputs: Any = (),
        seed: int = 0,
        **options: Any,
    ) -> None:
        self.rng, self.kind, self.constant = np.random.default_rng(seed), kind, constant
        shape = (batches, depth) if op == "RNN" else (steps, batches, depth) if time_major else (batches, steps, depth)
        given: list[Any] = [values(self.rng, "f32", shape, 1.0)]
        both = op == "BIDIRECTIONAL_SEQUENCE_RNN"
        for count in (units, units + 1)[: 1 + both]:
            given += [self.weights(count, depth), self.weights(count, count), const(self.floats(count), np.float32)]
            given.append(Given(np.zeros((batches, count), np.float32), variable=True))
        if both:
            # LiteRT steps through an auxiliary input by the input's depth, but for floats with batches first
            wide = depth + (aux == "crossed" and kind == "f32" and not time_major)
            given.append(self.floats(*shape[:2], wide) if aux else None)
            sizes = ((units, wide), (units + 1, wide))
            given += [self.weights(*size) if aux == "crossed" else None for size in sizes]
        for position, value in dict(inputs).items():
            given[position] = value
        text: dict[str, Any] = {"fused_activation_function": "TANH", **options}
        if op != "RNN":
            text["time_major"] = time_major
        if both:
            text["merge_outputs"] = merged
        super().__init__(op, given, text, outs=[Out("f32")] * (1 + (both and not merged)), version=3)

    def floats(self, *shape: int) -> Array:
        return values(self.rng, "f32", shape, 0.5)

    def weights(self, *shape: int) -> Given:
        array = values(self.rng, self.kind, shape, 0.3)
        if self.kind != "f32":  # u8 is another name for s8
            array = np.maximum(array.view(np.int8), -127).view(dtype_of(self.kind))
        q = NOT_QUANTIZED if self.kind == "f32" else Quantization((0.004,), (0,))
        return Given(array, self.constant, q)

    def agree(self, oracle: Any = REFERENCE) -> list[list[Array]]:
        """The outputs of three invokes, once all agree."""
        steps = [
            [array if array.dtype != np.float32 else self.floats(*array.shape) for array in self.arrays]
            for _ in range(3)
        ]
        return check_steps(self.model, steps, tolerance=KINDS[self.kind], oracle=oracle)


def every(op: str) -> Any:
    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        return Rnn(op, inputs[1], aux="crossed"), {"tolerance": KINDS[inputs[1]]}

    return case


EVERY_TYPE = {op: every(op) for op in ("RNN", *SEQUENCES)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT"])
def test_activations(kind: str, activation: str) -> None:
    Rnn("RNN", kind, fused_activation_function=activation).agree()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", SEQUENCES)
@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("sizes", [(1, 70, 5, 4), (3, 4, 9, 17), (40, 2, 3, 3), (2, 1, 20, 1)])
def test_sequences(kind: str, op: str, time_major: bool, sizes: Any) -> None:
    """More steps than are multiplied at once; more batches; where LiteRT goes through a sequence several times."""
    repeats = op == SEQUENCES[1] and kind != "f32" and time_major and sizes[1] > 1
    Rnn(op, kind, *sizes, time_major=time_major).agree(None if repeats else REFERENCE)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("aux", ["", "crossed", "parallel"])
@pytest.mark.parametrize("time_major", [False, True])
def test_two_directions(kind: str, merged: bool, aux: str, time_major: bool) -> None:
    """LiteRT goes through a sequence several times, and reads the input in the place of a parallel one."""
    wrong = kind != "f32" if time_major else aux == "parallel"
    Rnn(SEQUENCES[1], kind, aux=aux, merged=merged, time_major=time_major).agree(None if wrong else REFERENCE)


@pytest.mark.parametrize("kind", ["s8", "u8"])
@pytest.mark.parametrize("op", ["RNN", *SEQUENCES])
def test_asymmetric(kind: str, op: str) -> None:
    Rnn(op, kind, asymmetric_quantize_inputs=True).agree()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ["RNN", *SEQUENCES])
def test_computed_weights(kind: str, op: str) -> None:
    """Weights that come with the run are packed in it."""
    known, computed = Rnn(op, kind, seed=3), Rnn(op, kind, constant=False, seed=3)
    np.testing.assert_array_equal(computed.run(), known.run())
    assert len(computed.arrays) > len(known.arrays)


def test_threads() -> None:
    same_for_any_number_of_threads(Rnn(SEQUENCES[1], "f32", 4, 9, 128, 200))


@pytest.mark.parametrize(
    ("position", "shape", "message"),
    [
        (0, (2, 5, 1), "input has the shape .2, 5, 1., expected 2 dimensions"),
        (1, (4, 6), r"input 1 has the shape \(4, 6\), expected \(4, 5\)"),
        (2, (4, 5), r"input 2 has the shape \(4, 5\), expected \(4, 4\)"),
        (3, (5,), r"input 3 has the shape \(5\), expected \(4\)"),
        (4, (1, 4), r"input 4 has the shape \(1, 4\), expected \(2, 4\)"),
    ],
)
def test_shapes_refused(position: int, shape: Any, message: str) -> None:
    value = Given(np.zeros(shape, np.float32), position not in (0, 4), variable=position == 4)
    Rnn(inputs={position: value}).refused(ShapeError, message, by_litert=position > 0)  # it reads two dimensions


def test_refused() -> None:
    weights = const(np.zeros((4, 5)), np.int8, Quantization((0.5,) * 4, (0,) * 4))
    Rnn(kind="s8", inputs={1: weights}).refused(
        UnsupportedOpError, "'c1' must have one scale, it has 4", by_litert=False
    )
    Rnn(SEQUENCES[1], kind="s8", inputs={5: weights}).refused(
        UnsupportedOpError, "'c5' must have one scale, it has 4", by_litert=False
    )
    Rnn(inputs={4: np.zeros((2, 4), np.float32)}).refused(UnsupportedOpError, "must be a variable", by_litert=False)
    Rnn(SEQUENCES[1], aux="crossed", inputs={9: np.zeros((2, 4, 6), np.float32)}).refused(
        ShapeError, "auxiliary input of shape .2, 4, 6. does not match the input's .2, 3, 5.", by_litert=False
    )


def test_folded_weights() -> None:
    """Weights that planning computes are there in prepare, and were not yet in derive."""
    rng, builder = np.random.default_rng(5), ModelBuilder()
    graph, half = builder.subgraph(), values(rng, "f32", (4, 5), 0.5)
    x = graph.input("x", (2, 5))
    parts = [graph.constant(name, half) for name in ("a", "b")]
    weights = graph.node("ADD", parts, out=("w", (4, 5)))
    others = [graph.constant("r", np.eye(4, dtype=np.float32)), graph.constant("bias", np.ones(4, np.float32))]
    state = graph.variable("state", (2, 4), TensorType.FLOAT32)
    graph.output(graph.node("RNN", [x, weights, *others, state], out=("y", (2, 4))))
    rows = values(rng, "f32", (2, 5), 1.0)
    found = check(builder.build(), [rows], tolerance=2e-6)[0]
    np.testing.assert_allclose(found, rows @ (half + half).T + 1, atol=2e-6)
