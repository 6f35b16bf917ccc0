"""Helpers for recurrent operators: sums of gates, float or hybrid, their activations, and the steps over time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode
from minilite.ops_shared.weighted import quantize_rows

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "NONE": lambda x: x,
    "RELU": lambda x: np.maximum(x, 0),
    "RELU_N1_TO_1": lambda x: np.clip(x, -1, 1),
    "RELU6": lambda x: np.clip(x, 0, 6),
    "TANH": np.tanh,
    "SIGN_BIT": lambda x: np.signbit(x).astype(x.dtype),
}
"""The fused activations by name, in the order of csrc/rules/recurrent.h's numbers."""


def activate(node: OpNode, x: Array) -> Array:
    """The fused activation of float32."""
    return ACTIVATIONS[node.options["fused_activation_function"]](x.astype(np.float64)).astype(np.float32)


def weighted_sums(node: OpNode, x: Array, weights: Array, position: int) -> Array:
    """Rows of float32 times the weights of input `position`, in float32: dense ones, or the diagonal of a matrix.

    If weights are integers, each row is quantized by itself; uint8 means int8."""
    if weights.ndim == 1:
        return x * weights
    if weights.dtype == np.float32:
        return (x.astype(np.float64) @ weights.T.astype(np.float64)).astype(np.float32)
    tensor = node.inputs[position]
    assert tensor is not None
    rows, scale, zero = quantize_rows(x, asymmetric=bool(node.options["asymmetric_quantize_inputs"]))
    sums = (rows - zero) @ weights.view(np.int8).astype(np.float64).T
    return np.asarray(sums.astype(np.float32) * (scale * np.float32(tensor.quantization.scale)))


def times(shape: tuple[int, ...], *, time_major: bool, backward: bool = False) -> Iterator[tuple[slice | int, ...]]:
    """The index of each step's rows in a sequence of that shape, (time, batch, ...) or (batch, time, ...); matrices are
    one step."""
    if len(shape) == 2:
        yield (slice(None),)
        return
    steps = range(shape[0 if time_major else 1])
    for step in reversed(steps) if backward else steps:
        yield (step,) if time_major else (slice(None), step)
