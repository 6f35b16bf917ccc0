"""Counts the work of a node: multiply-adds, from the shapes of its operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Shape = tuple[int, ...]
_Rule = Callable[[Sequence[Shape], Sequence[Shape]], int]


def _windows(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    """Counts products of windows: each output element is a sum over one filter (outputs, height, width, channels of a
    group)."""
    return math.prod(outputs[0]) * math.prod(inputs[1][1:])


def _depthwise(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    return math.prod(outputs[0]) * math.prod(inputs[1][1:3])


def _rows(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    return math.prod(outputs[0]) * inputs[1][-1]


def _matrices(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    """Counts products of matrices: the summed dimension is the elements of x divided by the rows of the output,
    whichever operand is transposed."""
    outer = math.prod(outputs[0][:-2]) or 1
    mine = math.prod(inputs[0][:-2]) or 1
    inner = math.prod(inputs[0]) // mine // max(1, outputs[0][-2])
    return outer * math.prod(outputs[0][-2:]) * inner


def _transposed(inputs: Sequence[Shape], _: Sequence[Shape]) -> int:
    """Counts products of transposed convolutions: every value of the input is multiplied with every filter."""
    data, weights = inputs[2], inputs[1]
    return math.prod(data) * math.prod(weights[:-1])


def _volumes(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    return math.prod(outputs[0]) * math.prod(inputs[1][:-1])


def _steps(inputs: Sequence[Shape], _: Sequence[Shape]) -> int:
    """Counts products of recurrent operators: every step of every batch is multiplied with all weights, which are the
    matrices among the operands."""
    matrices = sum(math.prod(shape) for shape in inputs[1:] if len(shape) == 2)
    return math.prod(inputs[0][:-1]) * matrices


_RULES: dict[str, _Rule] = {
    "CONV_2D": _windows,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _rows,
    "BATCH_MATMUL": _matrices,
    "TRANSPOSE_CONV": _transposed,
    "CONV_3D": _volumes,
    "CONV_3D_TRANSPOSE": _transposed,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _steps,
    "UNIDIRECTIONAL_SEQUENCE_RNN": _steps,
}


def counted(op: str) -> bool:
    """True if the operator is known to consist of products."""
    return op in _RULES


def multiplications(op: str, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    """Counts the multiply-adds of a node whose operator is known to consist of products, else 0; absent operands have
    the shape ()."""
    rule = _RULES.get(op)
    return rule(inputs, outputs) if rule is not None else 0
