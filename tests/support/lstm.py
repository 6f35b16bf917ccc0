"""Nodes of LSTMs with random operands, with every optional part or without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from support.compare import check_steps
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
        """The operands of a direction, from the weights to the projection's bias."""
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
        constant: bool = True,
        inner: Any = None,
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
        if not constant:
            given = [part._replace(constant=False) if part is not None else None for part in given]
        for position, value in dict(inputs).items():
            given[position] = value
        text: dict[str, Any] = {"fused_activation_function": "TANH", **options}
        if sequence:
            text["time_major"] = time_major
        y = Out(self.kind, one_scale(self.kind, 0.01, 3))
        scaled = [Out("s16", one_scale("s16", 2.0**-10 * (1 + i / 8))) for i in range(4)]
        if inner is None:
            inner = [*scaled, Out("s8", one_scale("s8", 0.008, -4))] if types == INTEGER else []
        super().__init__(op, given, text, outs=[y], version=version, intermediates=inner)

    def draw(self) -> Array:
        return values(self.rng, self.kind, self.shape, 1.0)

    def agree(self, types: str, count: int = 3) -> list[list[Array]]:
        """Returns the outputs of `count` runs, after checking that C, numpy and LiteRT agree."""
        return check_steps(self.model, [[self.draw()] for _ in range(count)], tolerance=TOLERANCE[types])


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
        text = {"fused_activation_function": "TANH", "time_major": time_major, "merge_outputs": merged, **options}
        super().__init__("BIDIRECTIONAL_SEQUENCE_LSTM", given, text, outs=[Out("f32")] * (2 - merged), version=3)

    def floats(self, *shape: int) -> Array:
        return values(self.rng, "f32", shape, 1.0)

    def agree(self, types: str) -> None:
        """All outputs of three invokes."""
        steps = [[self.floats(*array.shape) for array in self.arrays] for _ in range(3)]
        check_steps(self.model, steps, tolerance=TOLERANCE[types])
