"""RNN, UNIDIRECTIONAL_SEQUENCE_RNN, BIDIRECTIONAL_SEQUENCE_RNN: the weighted input and the last output, activated."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.checks import QUANTIZED, check_quantized
from minilite.ops_shared.operator import Operator, OpNode, Param
from minilite.ops_shared.recurrent import activate, activation_number, times, weighted_sums

AUX = 9


def _walk(
    node: OpNode, inputs: tuple[Array | None, ...], first: int, x: Array, aux: int = 0, *, backward: bool = False
) -> tuple[Array, Array]:
    """The outputs of all steps of one direction, whose operands stand from `first` on, and the last; `aux` is the input
    that has the weights of the auxiliary input, 0 for none."""
    weights, recurrent, bias, h = (np.asarray(array) for array in inputs[first : first + 4])
    y = np.empty((*x.shape[:-1], len(bias)), np.float32)
    for at in times(x.shape, time_major=bool(node.options.get("time_major", True)), backward=backward):
        sums = weighted_sums(node, x[at], weights, first) + weighted_sums(node, h, recurrent, first + 1) + bias
        if aux:
            sums = sums + weighted_sums(node, np.asarray(inputs[AUX])[at], np.asarray(inputs[aux]), aux)
        y[at] = h = activate(node, sums)
    return y, h


def reference_rnn(node: OpNode, *inputs: Array) -> tuple[Array, Array]:
    """Gives y and the new state."""
    return _walk(node, inputs, 1, inputs[0])


def reference_bidirectional(node: OpNode, x: Array, *rest: Array | None) -> tuple[Array, ...]:
    """Gives the outputs, one behind the other where they are merged, and both states. An auxiliary input without
    weights is what goes backwards."""
    inputs = (x, *rest, None, None, None)
    aux = inputs[AUX]
    crossed = aux is not None and inputs[AUX + 1] is not None
    y, state = _walk(node, inputs, 1, x, AUX + 1 if crossed else 0)
    behind = x if aux is None or crossed else aux
    other, last = _walk(node, inputs, 5, behind, AUX + 2 if crossed else 0, backward=True)
    outputs = (np.concatenate([y, other], axis=-1),) if node.options["merge_outputs"] else (y, other)
    return (*outputs, state, last)


def check_rnn(node: OpNode) -> None:
    """One scale for all weights of a matrix."""
    check_quantized(node, *(t for t in node.inputs if t is not None and t.type in QUANTIZED))


def _both(w: str) -> str:
    return f"f32 {w} {w} f32 f32 {w} {w} f32 f32 f32? {w}? {w}? -> f32 f32?"


PARAMS: dict[str, str | Param] = {
    "activation": activation_number,
    "asymmetric": "asymmetric_quantize_inputs",
    "time_major": lambda node: int(node.options.get("time_major", True)),
    "rank": lambda node: 2 if node.op == "RNN" else 3,
    "merged": lambda node: int(node.options.get("merge_outputs", False)),
}
RULE = "float32 sums; with integer weights each row of input and state quantized by itself"
OPERATORS = (
    *(
        Operator(
            name,
            range(1, 4),
            takes="x weights recurrent_weights bias state -> y",
            types=tuple(f"f32 {w} {w} f32 f32 -> f32" for w in ("f32", "s8", "u8")),
            params=PARAMS,
            check=check_rnn,
            reference=reference_rnn,
            writes=(4,),
            kernel="rnn",
            rule={"f32": RULE},
        )
        for name in ("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
    ),
    Operator(
        "BIDIRECTIONAL_SEQUENCE_RNN",
        range(1, 4),
        takes="x forward_weights forward_recurrent forward_bias forward_state backward_weights backward_recurrent "
        "backward_bias backward_state aux? forward_aux? backward_aux? -> y backward_y?",
        types=tuple(_both(weights) for weights in ("f32", "s8", "u8")),
        params=PARAMS,
        check=check_rnn,
        reference=reference_bidirectional,
        writes=(4, 8),
        rule={
            "f32": RULE
            + ". LiteRT's kernel goes through a sequence of integer weights, time first, once for each of its "
            "steps, and reads what goes backwards from x where batches are first: we do not"
        },
    ),
)
