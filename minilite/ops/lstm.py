"""LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM, BIDIRECTIONAL_SEQUENCE_LSTM: gates of weighted inputs, outputs and cells; states
are kept between runs."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.fixed_point import (
    quantize_multiplier,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
)
from minilite.ops_shared.fixed_point_s16 import logistic_s16, multiply_q15, tanh_s16
from minilite.ops_shared.lstm import CELL, FORGET, INPUT, OUTPUT, Direction, Operands, step_s8
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.recurrent import activate, times, weighted_sums

ONE, FORWARD, BACKWARD = Direction(), Direction(1, 35, 36, 99, 40), Direction(18, 37, 38, 99, 44)


def _logistic(x: Array) -> Array:
    return np.asarray((1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32))


def _normalized(x: Array) -> Array:
    """(row - mean) / standard deviation, for each row."""
    wide = x.astype(np.float64)
    centered = wide - wide.mean(axis=1, keepdims=True)
    return np.asarray((centered / np.sqrt((centered**2).mean(axis=1, keepdims=True) + 1e-8)).astype(np.float32))


def _sums(p: Operands, rows: Array, position: int) -> Array:
    return weighted_sums(p.node, rows, p.there(position), position)


def _gate(p: Operands, gate: int, x: Array, aux: Array | None, h: Array, c: Array) -> Array:
    """The sums of a gate, before its activation."""
    y = _sums(p, x, p.place.first + gate) + _sums(p, h, p.place.first + 4 + gate)
    if aux is not None:
        y = y + _sums(p, aux, p.place.aux + gate)
    if (weights := p.peephole(gate)) is not None:
        if weights.dtype != np.float32:
            weights = p.scale(p.peephole_of(gate)) * weights.view(np.int8)
        y = y + weights * c
    if (norm := p.norm(gate)) is not None:
        y = _normalized(y) * norm
    return np.asarray(y + p.bias(gate))


def _clipped(x: Array, limit: float) -> Array:
    return np.clip(x, np.float32(-limit), np.float32(limit)) if limit > 0 else x


def _step(p: Operands, x: Array, aux: Array | None, h: Array, c: Array) -> tuple[Array, Array]:
    """Output and cell after one more step, of floats."""
    forget = _logistic(_gate(p, FORGET, x, aux, h, c))
    take = 1 - forget if p.cifg else _logistic(_gate(p, INPUT, x, aux, h, c))
    new = forget * c + take * activate(p.node, _gate(p, CELL, x, aux, h, c))
    new = _clipped(new, p.node.options["cell_clip"])
    y = _logistic(_gate(p, OUTPUT, x, aux, h, new)) * activate(p.node, new)
    if p.projection is not None:
        y = _sums(p, y, p.place.first + 15)
        y = _clipped(y if p.projection_bias is None else y + p.projection_bias, p.node.options["proj_clip"])
    return y, new


def _walk(p: Operands, x: Array, aux: Array | None, *, backward: bool = False) -> tuple[Array, Array, Array]:
    """The outputs of all steps, and the states after the last."""
    time_major = bool(p.node.options.get("time_major", True))
    states = p.there(p.place.output_state), p.there(p.place.cell_state)
    h = states[0].reshape(-1, p.there(p.place.first + 7).shape[-1])
    c = states[1].reshape(-1, len(p.there(p.place.first + OUTPUT)))
    y = np.empty((*x.shape[:-1], h.shape[1]), x.dtype)
    for at in times(x.shape, time_major=time_major, backward=backward):
        if x.dtype == np.int8 and time_major:
            h, c = step_s8(p, x[at], h, c)
        elif x.dtype == np.int8:  # each batch by itself
            pairs = [step_s8(p, x[at][b : b + 1], h[b : b + 1], c[b : b + 1]) for b in range(len(h))]
            h, c = (np.concatenate([pair[i] for pair in pairs]) for i in range(2)) if pairs else (h, c)
        else:
            h, c = _step(p, x[at], None if aux is None else aux[at], h, c)
        y[at] = h
    return y, h.reshape(states[0].shape), c.reshape(states[1].shape)


@reference(
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    rounding={
        "f32": "float32 sums; with integer weights each row of input, output and hidden values quantized by itself",
        "s8": (
            "int32 sums, double rounding to gates of Q3.12, gemmlowp's logistic and tanh of 16 bits; each "
            "product and sum saturates"
        ),
    },
)
def lstm(node: OpNode, x: Array, *inputs: Array | None) -> tuple[Array, ...]:
    """Returns y and the new states of output and cell."""
    return _walk(Operands(node, (x, *inputs), ONE), x, None)


@reference(
    "LSTM",
    rounding={
        "f32": "float32 sums; with integer weights each row of input, output and hidden values quantized by itself",
        "s8": (
            "int32 sums, double rounding to gates of Q3.12, gemmlowp's logistic and tanh of 16 bits; each "
            "product and sum saturates"
        ),
        "u8": (
            "int32 sums, times a multiplier with both roundings upwards, to gates of Q3.12; products of Q0.15, "
            "cells of Q4.11"
        ),
    },
)
def basic_or_full(node: OpNode, x: Array, *inputs: Array | None) -> tuple[Array, ...]:
    """Like `lstm`; but the basic kernel returns output, cell, the joined input of the weights, and its products."""
    if node.options["kernel_type"] == "FULL":
        full: tuple[Array, ...] = lstm(node, x, *inputs)
        return full
    last, weights, bias, cell = (np.asarray(array) for array in inputs[:4])
    rows = np.concatenate([x, last], axis=1)
    if x.dtype == np.float32:
        sums = (rows.astype(np.float64) @ weights.T.astype(np.float64)).astype(np.float32) + bias
        take, new, forget, output = np.split(sums, 4, axis=1)
        state = _logistic(take) * np.tanh(new) + _logistic(forget) * cell
        return _logistic(output) * np.tanh(state), state, rows, sums
    products = (rows.astype(np.int64) - 128) @ (weights.astype(np.int64) - Operands(node, (), ONE).zero(2)).T
    mantissa, shift = quantize_multiplier(4096 * float(Operands(node, (), ONE).scale(3)))
    left = ((products + bias).astype(np.int32).astype(np.int64) << max(shift, 0)).astype(np.int32)
    high = saturating_rounding_doubling_high_mul(left, mantissa).astype(np.int64)
    sums = np.clip((high + (1 << max(-shift, 0) >> 1)) >> max(-shift, 0), -32768, 32767).astype(np.int16)
    take, new, forget, output = np.split(sums, 4, axis=1)
    added = multiply_q15(logistic_s16(take).astype(np.int64), tanh_s16(new, 3))
    kept = multiply_q15(logistic_s16(forget).astype(np.int64), cell)
    state = np.clip(rounding_divide_by_pot(added, 4) + kept, -32768, 32767).astype(np.int16)
    y = rounding_divide_by_pot(multiply_q15(logistic_s16(output).astype(np.int64), tanh_s16(state, 4)), 8)
    return (np.clip(y, -128, 127) + 128).astype(np.uint8), state, rows, sums


@reference(
    "BIDIRECTIONAL_SEQUENCE_LSTM",
    rounding={
        "f32": "float32 sums; with integer weights each row of input, output and hidden values quantized by itself",
    },
)
def bidirectional(node: OpNode, x: Array, *inputs: Array | None) -> tuple[Array, ...]:
    """Returns the outputs (concatenated if they are merged), and the new states of both directions."""
    forward, backward = (Operands(node, (x, *inputs), place) for place in (FORWARD, BACKWARD))
    aux = forward.at(39)
    crossed = forward.at(FORWARD.aux + FORGET) is not None  # else aux is the input of the backward direction
    y, *states = _walk(forward, x, aux if crossed else None)
    other, *more = _walk(backward, x if aux is None or crossed else aux, aux if crossed else None, backward=True)
    outputs = (np.concatenate([y, other], axis=-1),) if node.options["merge_outputs"] else (y, other)
    return (*outputs, *states, *more)


# Rows -----------------------------------------------------------------------------------------------------------------


def _gates(kind: str) -> str:
    return f"{kind}? {kind} {kind} {kind}"


def _direction(weights: str, peephole: str, bias: str, recurrent: str = "") -> str:
    """Types of one direction's operands, from the weights to the projection's bias."""
    peepholes = f"{peephole}? {peephole}? {peephole}?"
    return f"{_gates(weights)} {_gates(recurrent or weights)} {peepholes} {_gates(bias)} {weights}? {bias}?"


def _full(x: str, weights: str, peephole: str, bias: str, norm: str, cell: str, recurrent: str = "") -> str:
    one = _direction(weights, peephole, bias, recurrent)
    return f"{x} {one} {x} {cell} {norm}? {norm}? {norm}? {norm}? -> {x}"


FULL = (
    _full("f32", "f32", "f32", "f32", "f32", "f32"),
    _full("f32", "s8", "s8", "f32", "f32", "f32"),
    _full("f32", "u8", "u8", "f32", "f32", "f32"),
    _full("s8", "s8", "s16", "s32", "s16", "s16"),
)
