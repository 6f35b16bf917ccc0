"""Reads options of nodes, for references."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode

ACTIVATION_LIMITS: dict[str, tuple[float, float]] = {
    "NONE": (-math.inf, math.inf),
    "RELU": (0.0, math.inf),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU6": (0.0, 6.0),
}
"""The fused activations that are clamps, with their limits as reals."""


def activation(node: OpNode) -> str:
    """The node's fused activation, a key of ACTIVATION_LIMITS."""
    return str(node.options["fused_activation_function"])


def numbers(node: OpNode, option: str) -> Array:
    """An option that is a list of numbers; empty if the operator has no such option."""
    return np.array(tuple(node.options.get(option) or ()), np.int64)
