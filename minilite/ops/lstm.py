"""LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM, BIDIRECTIONAL_SEQUENCE_LSTM: gates of weighted inputs, outputs and cells, kept between runs."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.checks import QUANTIZED, check_quantized
from minilite.ops_shared.fixed_point import input_of
from minilite.ops_shared.lstm import CELL, FORGET, INPUT, OUTPUT, Direction, Operands, intermediate, step_s8
from minilite.ops_shared.operator import Operator, OpNode, Param
from minilite.ops_shared.recurrent import activate, activation_number, times, weighted_sums

ONE, FORWARD, BACKWARD = Direction(), Direction(1, 35, 36, 99, 40), Direction(18, 37, 38, 99, 44)


def _logistic(x: Array) -> Array:
    return np.asarray((1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32))


def _normalized(x: Array) -> Array:
    """Each row less its mean, over its standard deviation."""
    wide = x.astype(np.float64)
    centered = wide - wide.mean(axis=1, keepdims=True)
    return np.asarray((centered / np.sqrt((centered**2).mean(axis=1, keepdims=True) + 1e-8)).astype(np.float32))


def _sums(p: Operands, rows: Array, position: int) -> Array:
    return weighted_sums(p.node, rows, p.there(position), position)


def _gate(p: Operands, gate: int, x: Array, aux: Array | None, h: Array, c: Array) -> Array:
    """What a gate's activation takes."""
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


def reference_lstm(node: OpNode, x: Array, *inputs: Array | None) -> tuple[Array, ...]:
    """Gives y and the new states of output and cell."""
    return _walk(Operands(node, (x, *inputs), ONE), x, None)


def reference_bidirectional(node: OpNode, x: Array, *inputs: Array | None) -> tuple[Array, ...]:
    """Gives the outputs, one behind the other where they are merged, and the new states of both directions."""
    forward, backward = (Operands(node, (x, *inputs), place) for place in (FORWARD, BACKWARD))
    aux = forward.at(39)
    crossed = forward.at(FORWARD.aux + FORGET) is not None  # else the auxiliary input is what goes backwards
    y, *states = _walk(forward, x, aux if crossed else None)
    other, *more = _walk(backward, x if aux is None or crossed else aux, aux if crossed else None, backward=True)
    outputs = (np.concatenate([y, other], axis=-1),) if node.options["merge_outputs"] else (y, other)
    return (*outputs, *states, *more)


# Rows ---------------------------------------------------------------------------------------------------------------------


def _gates(kind: str) -> str:
    return f"{kind}? {kind} {kind} {kind}"


def _direction(weights: str, peephole: str, bias: str, recurrent: str = "") -> str:
    """Types of one direction's operands, from the weights to the projection's bias."""
    peepholes = f"{peephole}? {peephole}? {peephole}?"
    return f"{_gates(weights)} {_gates(recurrent or weights)} {peepholes} {_gates(bias)} {weights}? {bias}?"


def _full(x: str, weights: str, peephole: str, bias: str, norm: str, cell: str, recurrent: str = "") -> str:
    one = _direction(weights, peephole, bias, recurrent)
    return f"{x} {one} {x} {cell} {norm}? {norm}? {norm}? {norm}? -> {x}"


def _both(weights: str) -> str:
    one, aux = _direction(weights, weights, "f32"), f"{weights}? " * 8
    return f"f32 {one} {one} f32 f32 f32 f32 f32? {aux}-> f32 f32?"


_GATES = ("input", "forget", "cell", "output")


def _named(prefix: str = "") -> str:
    """The names of one direction's operands, those of the input gate and what else may be absent marked."""
    names = [f"{prefix}{part}_to_{gate}" for part in ("input", "recurrent") for gate in _GATES]
    names += [f"{prefix}cell_to_{gate}?" for gate in ("input", "forget", "output")]
    names += [f"{prefix}{gate}_bias" for gate in _GATES] + [f"{prefix}projection?", f"{prefix}projection_bias?"]
    return " ".join(f"{name}?" if name.endswith(("to_input", "input_bias")) else name for name in names)


_NORMS = " ".join(f"{gate}_norm?" for gate in _GATES)
_AUX = " ".join(f"{way}_aux_to_{gate}?" for way in ("forward", "backward") for gate in _GATES)
_STATES = " ".join(f"{way}_{state}_state" for way in ("forward", "backward") for state in ("output", "cell"))


def _check_integers(node: OpNode) -> None:
    """Scales and zero points of all that is s8 or s16, and a power of two for the cells."""
    x, p = input_of(node), Operands(node, (), ONE)
    symmetric = [t for i, t in enumerate(node.inputs) if t is not None and t.type in QUANTIZED and i not in (0, 18)]
    check_quantized(node, x, p.node.inputs[18], node.outputs[0], *symmetric)
    for tensor in symmetric:
        if tensor.quantization.zero_point:
            raise node.refuse(
                f"tensor '{tensor.name}' must have the zero point 0, it has {tensor.quantization.zero_point}"
            )
    exponent = math.log2(p.scale(19))
    if abs(exponent - round(exponent)) >= 1e-3 or not -15 <= round(exponent) <= -9:
        raise node.refuse(f"the cell state's scale must be a power of two from 2**-15 to 2**-9, it is {p.scale(19)}")
    if len(node.intermediates) != 5:
        raise node.refuse(f"{len(node.intermediates)} intermediate tensors, it takes 5")


def check_lstm(node: OpNode) -> None:
    """Limits that are none, and what weights and integers need of their quantization."""
    for name in ("cell_clip", "proj_clip"):
        if not node.options[name] >= 0:
            raise node.refuse(f"{name} must be at least 0, it is {node.options[name]}")
    if input_of(node).type == TensorType.INT8:
        _check_integers(node)
    else:
        check_quantized(node, *(t for t in node.inputs if t is not None and t.type in QUANTIZED))


def _scales(node: OpNode) -> Array | None:
    """The scales of each gate's sums and of the hidden values."""
    if input_of(node).type != TensorType.INT8:
        return None
    normed = node.input(ONE.norms + FORGET) is not None
    gates = [intermediate(node, g).quantization.scale if normed else 2.0**-12 for g in range(4)]
    return np.array([*gates, intermediate(node, 4).quantization.scale], np.float32)


def _hidden_zero(node: OpNode) -> int:
    return intermediate(node, 4).quantization.zero_point if input_of(node).type == TensorType.INT8 else 0


PARAMS: dict[str, str | Param] = {
    "activation": activation_number,
    "cell_clip": "cell_clip",
    "proj_clip": "proj_clip",
    "asymmetric": "asymmetric_quantize_inputs",
    "time_major": lambda node: int(node.options.get("time_major", True)),
    "rank": lambda node: 2 if node.op == "LSTM" else 3,
    "merged": lambda node: int(node.options.get("merge_outputs", False)),
    "scales": _scales,
    "hidden_zero": _hidden_zero,
}
RULE = {
    "f32": "float32 sums; with integer weights each row of input, output and hidden values quantized by itself",
    "s8": "int32 sums, double rounding to gates of Q3.12, gemmlowp's logistic and tanh of 16 bits; each product and sum saturates",
}
FULL = (
    _full("f32", "f32", "f32", "f32", "f32", "f32"),
    _full("f32", "s8", "s8", "f32", "f32", "f32"),
    _full("f32", "u8", "u8", "f32", "f32", "f32"),
    _full("s8", "s8", "s16", "s32", "s16", "s16"),
)
DIAGONAL = tuple(_full("f32", w, w, "f32", "f32", "f32", recurrent="f32") for w in ("s8", "u8"))
"""Recurrent weights that are the diagonal of a matrix stay floats."""
OPERATORS = (
    *(
        Operator(
            name,
            range(1, 5),
            takes=f"x {_named()} output_state cell_state {_NORMS} -> y",
            types=types,
            params=PARAMS,
            check=check_lstm,
            reference=reference_lstm,
            writes=(18, 19),
            kernel="lstm",
            rule=RULE,
        )
        for name, types in (("LSTM", FULL), ("UNIDIRECTIONAL_SEQUENCE_LSTM", FULL + DIAGONAL))
    ),
    Operator(
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        range(1, 4),
        takes=f"x {_named('forward_')} {_named('backward_')} {_STATES} aux? {_AUX} -> y backward_y?",
        types=tuple(_both(weights) for weights in ("f32", "s8", "u8")),
        params=PARAMS,
        check=check_lstm,
        reference=reference_bidirectional,
        writes=(35, 36, 37, 38),
        rule={"f32": RULE["f32"]},
    ),
)
