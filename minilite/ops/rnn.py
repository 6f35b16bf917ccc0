"""RNN, UNIDIRECTIONAL_SEQUENCE_RNN, BIDIRECTIONAL_SEQUENCE_RNN: the weighted input and the last output, activated."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.recurrent import activate, times, weighted_sums

AUX = 9


def _walk(
    node: OpNode, inputs: tuple[Array | None, ...], first: int, x: Array, aux: int = 0, *, backward: bool = False
) -> tuple[Array, Array]:
    """The outputs of all steps of one direction, and the last one. Its operands begin at input `first`; `aux` is the
    input with the weights for the auxiliary input, 0 = none."""
    weights, recurrent, bias, h = (np.asarray(array) for array in inputs[first : first + 4])
    y = np.empty((*x.shape[:-1], len(bias)), np.float32)
    for at in times(x.shape, time_major=bool(node.options.get("time_major", True)), backward=backward):
        sums = weighted_sums(node, x[at], weights, first) + weighted_sums(node, h, recurrent, first + 1) + bias
        if aux:
            sums = sums + weighted_sums(node, np.asarray(inputs[AUX])[at], np.asarray(inputs[aux]), aux)
        y[at] = h = activate(node, sums)
    return y, h


@reference(
    "RNN",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
    rounding={
        "f32": "float32 sums; with integer weights each row of input and state quantized by itself",
    },
)
def rnn(node: OpNode, *inputs: Array) -> tuple[Array, Array]:
    """Returns y and the new state."""
    return _walk(node, inputs, 1, inputs[0])


@reference(
    "BIDIRECTIONAL_SEQUENCE_RNN",
    rounding={
        "f32": (
            "float32 sums; with integer weights each row of input and state quantized by itself. LiteRT's "
            "kernel goes through a sequence of integer weights, time first, once for each of its steps, and "
            "reads what goes backwards from x where batches are first: we do not"
        ),
    },
)
def bidirectional(node: OpNode, x: Array, *rest: Array | None) -> tuple[Array, ...]:
    """Returns the outputs (concatenated if they are merged), and both states. An auxiliary input without weights is the
    input of the backward direction."""
    inputs = (x, *rest, None, None, None)
    aux = inputs[AUX]
    crossed = aux is not None and inputs[AUX + 1] is not None
    y, state = _walk(node, inputs, 1, x, AUX + 1 if crossed else 0)
    behind = x if aux is None or crossed else aux
    other, last = _walk(node, inputs, 5, behind, AUX + 2 if crossed else 0, backward=True)
    outputs = (np.concatenate([y, other], axis=-1),) if node.options["merge_outputs"] else (y, other)
    return (*outputs, state, last)
