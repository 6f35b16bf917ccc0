"""RESHAPE, SQUEEZE, EXPAND_DIMS: the same elements with another shape. SHAPE, RANK: a shape, or its length, as a
tensor."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.options import numbers


@reference(
    "RESHAPE",
    rounding={
        "": "a shape that is no s32 vector leaves it to the options",
    },
)
def reshape(node: OpNode, x: Array, shape: Array | None = None) -> Array:
    """numpy's reshape; if -1 is ambiguous because there are 0 elements, the dimensions other than 0 decide."""
    if shape is not None and shape.dtype == np.int32 and shape.ndim == 1:
        target = [int(dim) for dim in shape]
    else:
        target = numbers(node, "new_shape").tolist()
        target = [] if target == [0] else target  # old files write a scalar's shape like this
    if x.size == 0 and -1 in target:
        by_others = math.prod(dim or 1 for dim in x.shape) // math.prod(abs(dim) or 1 for dim in target)
        target[target.index(-1)] = by_others if 0 in target else 0
    return x.reshape(target)


@reference("SHAPE")
def shape(node: OpNode, x: Array) -> Array:
    """The dimensions of x."""
    return np.array(x.shape, numpy_type(node.outputs[0].type))


@reference("SQUEEZE")
def squeeze(node: OpNode, x: Array) -> Array:
    """numpy's squeeze; without dimensions in the options, all dimensions of 1 are removed."""
    dims = node.options["squeeze_dims"]
    return np.squeeze(x, tuple(int(dim) for dim in dims) if dims is not None and len(dims) else None)


@reference("EXPAND_DIMS")
def expand_dims(node: OpNode, x: Array, axis: Array) -> Array:  # noqa: ARG001
    """numpy's expand_dims."""
    return np.expand_dims(x, int(axis.reshape(())))


@reference("RANK")
def rank(node: OpNode, x: Array) -> Array:  # noqa: ARG001
    """The number of dimensions of x."""
    return np.array(x.ndim, np.int32)
