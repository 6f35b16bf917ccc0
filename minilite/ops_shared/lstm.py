"""The operands of an LSTM by role, and the arithmetic of its integer gates in 16 bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minilite.format.model import Array, Tensor
from minilite.ops_shared.fixed_point import (
    inverse_sqrt,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
)
from minilite.ops_shared.fixed_point_s16 import logistic_s16, tanh_s16
from minilite.ops_shared.operator import OpNode

INPUT, FORGET, CELL, OUTPUT = range(4)


class Direction(NamedTuple):
    """The positions of one direction's operands among a node's inputs."""

    first: int = 1
    """Weights of the input for each gate; after them those of the output, 3 peepholes, biases, projection and its
    bias."""
    output_state: int = 18
    cell_state: int = 19
    norms: int = 20
    """Coefficients of layer normalization for each gate; beyond the last input if there are none."""
    aux: int = 99
    """Weights of the auxiliary input for each gate."""


class Operands:
    """The operands of one direction; None for those that are absent."""

    def __init__(self, node: OpNode, inputs: Sequence[Array | None], place: Direction) -> None:
        self.node: OpNode = node
        self.inputs: Sequence[Array | None] = inputs
        self.place: Direction = place
        self.cifg: bool = self.at(place.first + INPUT) is None
        self.projection: Array | None = self.at(place.first + 15)
        self.projection_bias: Array | None = self.at(place.first + 16)

    def at(self, position: int) -> Array | None:
        """Input `position`, or None."""
        return self.inputs[position] if position < len(self.inputs) else None

    def there(self, position: int) -> Array:
        """Input `position`, which must be present."""
        array = self.at(position)
        assert array is not None
        return array

    def scale(self, position: int) -> np.float32:
        """The scale of input `position`; 1 if it is absent."""
        tensor = self.node.input(position)
        return np.float32(1) if tensor is None else np.float32(tensor.quantization.scale)

    def zero(self, position: int) -> int:
        """The zero point of input `position`."""
        tensor = self.node.inputs[position]
        assert tensor is not None
        return tensor.quantization.zero_point

    def peephole_of(self, gate: int) -> int:
        """The position of a gate's peephole weights."""
        return self.place.first + 8 + min(gate, 2)

    def peephole(self, gate: int) -> Array | None:
        """A gate's peephole weights, for the cell state; the cell gate has none."""
        return None if gate == CELL else self.at(self.peephole_of(gate))

    def bias(self, gate: int) -> Array:
        """A gate's bias."""
        return self.there(self.place.first + 11 + gate)

    def norm(self, gate: int) -> Array | None:
        """A gate's coefficients of layer normalization."""
        return self.at(self.place.norms + gate)


def intermediate(node: OpNode, number: int) -> Tensor:
    """A tensor that only holds a quantization for values inside the node. Raises: UnsupportedOpError if it is
    missing."""
    tensor = node.intermediates[number] if number < len(node.intermediates) else None
    if tensor is None or not tensor.quantization.scales:
        raise node.refuse(f"intermediate tensor {number} must have a scale")
    return tensor


def gate_scale(p: Operands, gate: int) -> np.float32:
    """The scale of a gate's sums: that of an intermediate tensor if they are normalized, else 2**-12."""
    if p.norm(FORGET) is None:
        return np.float32(2.0**-12)
    return np.float32(intermediate(p.node, gate).quantization.scale)


def cell_exponent(p: Operands) -> int:
    """The exponent of the cell state's scale, a power of two."""
    return round(math.log2(p.scale(p.place.cell_state)))


def _requantized(sums: Array, scale: np.float32) -> Array:
    """int32 sums, which wrap, times a real multiplier, with double rounding."""
    multiplier = quantize_multiplier(float(np.float32(scale)))
    return multiply_by_quantized_multiplier(sums.astype(np.int32), *multiplier).astype(np.int64)


def _saturated(x: Array, kind: type[np.signedinteger]) -> Array:
    info = np.iinfo(kind)
    return np.clip(x, info.min, info.max)


def _sums(rows: Array, zero: int, weights: Array) -> Array:
    return (rows.astype(np.int64) - zero) @ weights.astype(np.int64).T


def _with_peephole(p: Operands, gate: int, y: Array, c: Array, scale: np.float32) -> Array:
    """Adds the cells' contribution. LiteRT reads rows of as many cells as there are outputs. So if a projection reduces
    the outputs, weights are applied to other cells, and the last cells get none."""
    weights = p.there(p.peephole_of(gate))
    outputs = p.there(p.place.first + 7).shape[1]
    count = len(c) * outputs
    factor = float(np.float32(2.0 ** cell_exponent(p) * float(p.scale(p.peephole_of(gate))) / float(scale)))
    products = np.tile(weights[:outputs].astype(np.int64), len(c)) * c.ravel()[:count]
    flat = y.ravel().copy()
    flat[:count] = _saturated(_requantized(products, np.float32(factor)) + flat[:count], np.int16)
    return flat.reshape(y.shape)


def _normalized(p: Operands, gate: int, x: Array) -> Array:
    """(row - mean) / standard deviation * coefficients + bias, for each row: TFLite's ApplyLayerNorm."""
    count, scale = x.shape[1], p.scale(p.place.norms + gate)
    guard = max(1, int(np.float32(10000) * scale))
    mantissa, shift = quantize_multiplier(float(scale))
    y = np.empty_like(x)
    for row, out in zip(x, y, strict=True):
        mean = math.trunc(int(row.sum()) * 1024 / count)
        variance = math.trunc(int((row * row).sum() * ((1 << 20) // count) - mean * mean) / (1 << 20))
        shifted = (1024 * row - mean).astype(np.int32)
        rescaled = multiply_by_quantized_multiplier(shifted, *inverse_sqrt(variance if variance >= 1 else guard))
        weighed = rescaled.astype(np.int64) * p.there(p.place.norms + gate) + p.bias(gate)
        weighed = weighed.astype(np.int32).astype(np.int64)
        thousandth = np.trunc((weighed + np.where(weighed > 0, 512, -512)) / 1024).astype(np.int32)
        out[:] = _saturated(multiply_by_quantized_multiplier(thousandth, mantissa, shift + 12), np.int16)
    return y


def _gate(p: Operands, gate: int, x: Array, h: Array, c: Array) -> Array:
    """A gate of int16 in Q0.15."""
    first, scale, normed = p.place.first, gate_scale(p, gate), p.norm(gate) is not None
    sums = _sums(x, p.zero(0), p.there(first + gate)) + (0 if normed else p.bias(gate).astype(np.int64))
    y = _saturated(_requantized(sums, p.scale(first + gate) * p.scale(0) / scale), np.int16)
    sums = _sums(h, p.zero(p.place.output_state), p.there(first + 4 + gate))
    recurrent = p.scale(first + 4 + gate) * p.scale(p.place.output_state) / scale
    y = _saturated(_requantized(sums, recurrent) + y, np.int16)
    if p.peephole(gate) is not None:
        y = _with_peephole(p, gate, y, c, scale)
    if normed:
        y = _normalized(p, gate, y)
    return (tanh_s16(y, 3) if gate == CELL else logistic_s16(y)).astype(np.int64)


def _bounded(limit: float, scale: np.float32, most: float, y: Array) -> Array:
    """Integers clamped to a real limit, by their scale; a limit of 0 means none."""
    bound = int(min(float(np.float32(limit) / scale), most))
    return np.clip(y, -bound, bound) if bound > 0 else y


def _output(p: Operands, product: Array) -> Array:
    """The output from output gate times activated cell, Q0.30, through a projection if there is one."""
    hidden = intermediate(p.node, 4).quantization
    zero, scale = hidden.zero_point, np.float32(2.0**-15 / float(np.float32(hidden.scale)) * 2.0**-15)
    scaled = _requantized(product, scale)
    if p.projection is None:
        return _saturated(scaled + zero, np.int8)
    rows = _saturated(scaled - zero, np.int8)
    state = p.place.output_state
    sums = _sums(rows, -zero, p.projection)
    sums = sums if p.projection_bias is None else sums + p.projection_bias
    factor = p.scale(p.place.first + 15) * np.float32(hidden.scale) / p.scale(state)
    y = _saturated(_requantized(sums, factor) + p.zero(state), np.int8)
    return _bounded(p.node.options["proj_clip"], np.float32(p.node.outputs[0].quantization.scale), 127.0, y)


def step_s8(p: Operands, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """Output (int8) and cell (int16) after one more step; gates have 16 bits."""
    exponent, old = cell_exponent(p), c.astype(np.int64)
    forget = _gate(p, FORGET, x, h, old)
    take = 32767 - forget if p.cifg else _gate(p, INPUT, x, h, old)
    kept = rounding_divide_by_pot(forget * old, 15).astype(np.int16).astype(np.int64)
    added = rounding_divide_by_pot(take * _gate(p, CELL, x, h, old), 30 + exponent).astype(np.int16)
    new = _saturated(kept + added, np.int16)
    new = _bounded(p.node.options["cell_clip"], p.scale(p.place.cell_state), 32767.0, new)
    # LiteRT knows no tanh of cells whose scale is below 2**-15: the values it should replace stay, the input gate's.
    factor = tanh_s16(new, 15 + exponent).astype(np.int64) if exponent >= -15 else take
    product = _gate(p, OUTPUT, x, h, new) * factor
    return _output(p, product).astype(np.int8), new.astype(np.int16)
