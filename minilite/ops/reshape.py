"""RESHAPE, SQUEEZE, EXPAND_DIMS: the same elements under another shape. SHAPE, RANK: a shape, or its length, as a
tensor."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.moving import WHOLE_BYTES, check_same_scale
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.options import Numbers
from minilite.ops_shared.types import each

new_shape: Numbers = Numbers("new_shape", none=(0,))
"""The shape in the options; [0] is how old files write a scalar's."""


def reference_reshape(node: OpNode, x: Array, shape: Array | None = None) -> Array:
    """numpy's reshape; where 0 elements leave -1 open, the dimensions other than 0 decide."""
    if shape is not None and shape.dtype == np.int32 and shape.ndim == 1:
        target = [int(dim) for dim in shape]
    else:
        target = new_shape(node).tolist()
    if x.size == 0 and -1 in target:
        by_others = math.prod(dim or 1 for dim in x.shape) // math.prod(abs(dim) or 1 for dim in target)
        target[target.index(-1)] = by_others if 0 in target else 0
    return x.reshape(target)


def check_shape(node: OpNode) -> None:
    """The type said twice."""
    kind = node.outputs[0].type
    if node.options["out_type"] != kind.name:
        raise node.refuse(f"out_type {node.options['out_type']} for an output of type {kind.name} is not supported")


def reference_shape(node: OpNode, x: Array) -> Array:
    """The dimensions of x."""
    return np.array(x.shape, numpy_type(node.outputs[0].type))


def reference_squeeze(node: OpNode, x: Array) -> Array:
    """numpy's squeeze; without dimensions in the options all of 1 go."""
    dims = node.options["squeeze_dims"]
    return np.squeeze(x, tuple(int(dim) for dim in dims) if dims is not None and len(dims) else None)


def check_expand_dims(node: OpNode) -> None:
    """One scale and zero point."""
    if node.inputs[0] is not None:
        check_same_scale(node, node.inputs[0], "the input")


def reference_expand_dims(node: OpNode, x: Array, axis: Array) -> Array:  # noqa: ARG001
    """numpy's expand_dims."""
    return np.expand_dims(x, int(axis.reshape(())))


def reference_rank(node: OpNode, x: Array) -> Array:  # noqa: ARG001
    """The number of dimensions of x."""
    return np.array(x.ndim, np.int32)


OPERATORS = (
    Operator(
        "RESHAPE",
        range(1, 2),
        takes="x shape? -> y",
        types=each("T s32|s64? -> T", WHOLE_BYTES + " s4 u4 s2 string"),
        params={"new_shape": new_shape},
        reference=reference_reshape,
        in_place=(0,),
        view=True,
        tflite_shares=True,
        rule={"": "a shape that is no s32 vector leaves it to the options"},
    ),
    Operator(
        "SHAPE",
        range(1, 2),
        takes="x -> y",
        types=each("T -> s32|s64", WHOLE_BYTES + " s4 u4 s2 string resource"),
        check=check_shape,
        reference=reference_shape,
    ),
    Operator(
        "SQUEEZE",
        range(1, 3),
        takes="x -> y",
        types=each("T -> T", WHOLE_BYTES + " s4 u4 s2 string"),
        params={"squeeze_dims": Numbers("squeeze_dims")},
        reference=reference_squeeze,
        in_place=(0,),
        view=True,
        tflite_shares=True,
    ),
    Operator(
        "EXPAND_DIMS",
        range(1, 2),
        takes="x axis -> y",
        types=each("T s32|s64 -> T", WHOLE_BYTES + " s4 u4 s2 string"),
        check=check_expand_dims,
        reference=reference_expand_dims,
        in_place=(0,),
        view=True,
        tflite_shares=True,
    ),
    Operator(
        "RANK",
        range(1, 2),
        takes="x -> y",
        types=each("T -> s32", WHOLE_BYTES + " s4 u4 s2 string"),
        reference=reference_rank,
    ),
)
