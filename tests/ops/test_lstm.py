"""LSTMs: C kernels, numpy references and LiteRT agree over several invokes with state, with every optional part and without."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.compare import BUILTIN, check_steps
from support.node import Array, Given, OneNode, Out, const, dtype_of, values

from minilite.format.quantization import NOT_QUANTIZED, Quantization

FLOAT = "f32 f32 f32 f32 f32 f32"  # input, weights, peepholes, biases, coefficients, cells
HYBRID, UNSIGNED = "f32 s8 s8 f32 f32 f32", "f32 u8 u8 f32 f32 f32"
INTEGER = "s8 s8 s16 s32 s16 s16"
TOLERANCE = {FLOAT: 4e-6, HYBRID: 2e-5, UNSIGNED: 2e-5, INTEGER: 0.0}
PARTS = ("cifg", "peephole", "norm", "projection", "projection_bias")


def one_scale(kind: str, scale: float, zero_point: int = 0) -> Quantization:
    return (
        NOT_QUANTIZED if kind[0] == "f" or kind == "s32" else Quantization((float(np.float32(scale)),), (zero_point,))
    )


class Drawn:
    """Constants at random for the operands of one direction."""

    def __init__(self, rng: np.random.Generator, types: str, sizes: Sequence[int], parts: Sequence[str]) -> None:
        self.rng, self.parts = rng, parts
        self.depth, self.cells, self.outputs = sizes
        self.kind, self.weights, self.peephole, self.bias, self.norm, self.cell = types.split()

    def draw(self, kind: str, shape: Sequence[int], scale: float, spread: float = 0.5) -> Given:
        if kind == "s32":
            return const(self.rng.integers(-3000, 3000, shape))
        array = values(self.rng, kind, shape, spread)
        if kind in ("s8", "s16"):
            array = np.maximum(array, -np.iinfo(array.dtype).max)
        if kind == "u8":  # another name for s8
            array = np.maximum(array.view(np.int8), -127).view(np.uint8)
        return const(array, dtype_of(kind), one_scale(kind, scale))

    def gates(self, kind: str, shape: Sequence[int], scale: float) -> list[Given | None]:
        first = None if "cifg" in self.parts else self.draw(kind, shape, scale)
        return [first, *(self.draw(kind, shape, scale) for _ in range(3))]

    def operands(self) -> list[Given | None]:
        """From the weights to the projection's bias."""
        n, parts = self.cells, self.parts
        made = self.gates(self.weights, (n, self.depth), 0.01) + self.gates(self.weights, (n, self.outputs), 0.01)
        if "peephole" in parts:
            made += [
                g
                for i, g in enumerate(self.gates(self.peephole, (n,), 1e-4 if self.peephole == "s16" else 0.01))
                if i != 2
            ]
        else:
            made += [None] * 3
        made += self.gates(self.bias, (n,), 0)
        made.append(self.draw(self.weights, (self.outputs, n), 0.01) if "projection" in parts else None)
        made.append(self.draw(self.bias, (self.outputs,), 0) if "projection_bias" in parts else None)
        return made

    def norms(self) -> list[Given | None]:
        return self.gates(self.norm, (self.cells,), 1e-4) if "norm" in self.parts else [None] * 4

    def states(self, batches: int) -> list[Given]:
        shapes = ((batches, self.outputs), (batches, self.cells))
        kinds = ((self.kind, one_scale(self.kind, 0.01, 3)), (self.cell, one_scale(self.cell, 2.0**-12)))
        return [
            Given(np.zeros(shape, dtype_of(kind)), quantization=q, variable=True, kind=kind)
            for shape, (kind, q) in zip(shapes, kinds, strict=True)
        ]


class Lstm(OneNode):
    """One direction: (batches, depth) to (batches, outputs), or a sequence of steps."""

    def __init__(
        self,
        op: str = "LSTM",
        types: str = FLOAT,
        parts: Sequence[str] = (),
        batches: int = 2,
        steps: int = 3,
        depth: int = 5,
        cells: int = 6,
        outputs: int = 4,
        *,
        seed: int = 0,
        time_major: bool = True,
        inputs: Any = (),
        version: int = 3,
        **options: Any,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        drawn = Drawn(self.rng, types, (depth, cells, outputs if "projection" in parts else cells), parts)
        sequence = op != "LSTM"
        self.shape = (steps, batches, depth) if time_major else (batches, steps, depth)
        self.shape = self.shape if sequence else (batches, depth)
        self.kind = drawn.kind
        x = Given(self.draw(), quantization=one_scale(self.kind, 0.02, 5))
        given: list[Given | None] = [x, *drawn.operands(), *drawn.states(batches), *drawn.norms()]
        for position, value in dict(inputs).items():
            given[position] = value
        said: dict[str, Any] = {"fused_activation_function": "TANH", **options}
        if sequence:
            said["time_major"] = time_major
        y = Out(self.kind, one_scale(self.kind, 0.01, 3))
        scaled = [Out("s16", one_scale("s16", 2.0**-10 * (1 + i / 8))) for i in range(4)]
        inner = [*scaled, Out("s8", one_scale("s8", 0.008, -4))] if types == INTEGER else []
        super().__init__(op, given, said, outs=[y], version=version, intermediates=inner)

    def draw(self) -> Array:
        return values(self.rng, self.kind, self.shape, 1.0)

    def agree(self, types: str, count: int = 3) -> list[list[Array]]:
        """The outputs of so many invokes, once all three agree."""
        return check_steps(self.model, [[self.draw()] for _ in range(count)], tolerance=TOLERANCE[types])


def every(op: str) -> Any:
    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        types = " ".join(inputs[i] for i in (0, 1, 9, 12, 20, 19))
        if inputs[5] != inputs[1]:
            return diagonal(types), {"tolerance": TOLERANCE[types], "oracle": BUILTIN}
        return Lstm(op, types, PARTS[1:]), {"tolerance": TOLERANCE[types]}

    return case


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
    """More steps than are multiplied at once; none at all; parts that hang on the order of batches."""
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


class Both(OneNode):
    """Two directions over a sequence; the second one has `more` cells and outputs."""

    def __init__(
        self,
        types: str = FLOAT,
        parts: Sequence[str] = (),
        batches: int = 2,
        steps: int = 3,
        *,
        aux: str = "",
        time_major: bool = True,
        merged: bool = False,
        more: int = 0,
        inputs: Any = (),
        seed: int = 0,
        **options: Any,
    ) -> None:
        self.rng, depth = np.random.default_rng(seed), 5
        outputs = 4 if "projection" in parts else 6
        ways = [Drawn(self.rng, types, (depth, 6 + n, outputs + n), parts) for n in (0, more)]
        lead = (steps, batches) if time_major else (batches, steps)
        wide = depth + (aux == "crossed")
        given: list[Any] = [self.floats(*lead, depth), *ways[0].operands(), *ways[1].operands()]
        given += [state for way in ways for state in way.states(batches)]
        given.append(self.floats(*lead, wide) if aux else None)
        for way in ways:
            given += way.gates(way.weights, (way.cells, wide), 0.01) if aux == "crossed" else [None] * 4
        for position, value in dict(inputs).items():
            given[position] = value
        said = {"fused_activation_function": "TANH", "time_major": time_major, "merge_outputs": merged, **options}
        super().__init__("BIDIRECTIONAL_SEQUENCE_LSTM", given, said, outs=[Out("f32")] * (2 - merged), version=3)

    def floats(self, *shape: int) -> Array:
        return values(self.rng, "f32", shape, 1.0)

    def agree(self, types: str) -> None:
        """All outputs of three invokes."""
        steps = [[self.floats(*array.shape) for array in self.arrays] for _ in range(3)]
        check_steps(self.model, steps, tolerance=TOLERANCE[types])


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
    """Recurrent weights that are the diagonal of a matrix, of floats whatever the others are."""
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
