"""RESHAPE: the same elements under another shape. SHAPE: a shape as a tensor."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.moving import WHOLE_BYTES
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def new_shape(node: OpNode) -> Array:
    """The shape in the options; [0] is how old files write a scalar's."""
    shape = np.array(node.options["new_shape"] or (), np.int32)
    return shape[:0] if shape.tolist() == [0] else shape


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
)
