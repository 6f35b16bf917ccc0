"""RELU, RELU6: elementwise activations."""

from __future__ import annotations

import functools

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops.operator import Kernel, Operator, OpNode

_LIMITS = {"RELU": (0.0, np.inf), "RELU6": (0.0, 6.0)}


def lower_relu(node: OpNode) -> Kernel:
    """float32 only so far."""
    minimum, maximum = _LIMITS[node.op]
    source = node.inputs[0]
    if source is None or source.type != TensorType.FLOAT32:
        raise node.refuse("takes float32 only")
    return Kernel("relu_f32", minimum=minimum, maximum=maximum)


def reference_relu(node: OpNode, x: Array) -> Array:
    """y = min(max(x, minimum), maximum)."""
    clipped: Array = np.clip(x, *map(x.dtype.type, _LIMITS[node.op]))
    return clipped


_relu = functools.partial(Operator, lower=lower_relu, reference=reference_relu, in_place=(0,))
OPERATORS = (_relu("RELU", range(1, 4)), _relu("RELU6", range(1, 4)))
