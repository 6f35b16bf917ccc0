"""RESHAPE: the same elements under another shape. SHAPE: a shape as a tensor."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Array
from minilite.ops_shared.moving import INDICES, arity, moved, required
from minilite.ops_shared.operator import Kernel, Operator, OpNode


def _new_shape(node: OpNode) -> tuple[int, ...]:
    """The shape in the options; [0] is how old files write a scalar's."""
    shape = tuple(map(int, node.options["new_shape"] or ()))
    return () if shape == (0,) else shape


def lower_reshape(node: OpNode) -> Kernel:
    """Any type of whole bytes; a shape tensor counts if it is an int32 vector, else the options do."""
    arity(node, 1, 2)
    moved(node)
    shape = node.input(1)
    from_tensor = shape is not None and shape.type == TensorType.INT32
    return Kernel("reshape", from_tensor=int(from_tensor), new_shape=np.array(_new_shape(node), np.int32))


def reference_reshape(node: OpNode, x: Array, shape: Array | None = None) -> Array:
    """numpy's reshape; where 0 elements leave -1 open, the dimensions other than 0 decide."""
    if shape is not None and shape.dtype == np.int32 and shape.ndim == 1:
        target = [int(dim) for dim in shape]
    else:
        target = list(_new_shape(node))
    if x.size == 0 and -1 in target:
        by_others = math.prod(dim or 1 for dim in x.shape) // math.prod(abs(dim) or 1 for dim in target)
        target[target.index(-1)] = by_others if 0 in target else 0
    return x.reshape(target)


def lower_shape(node: OpNode) -> Kernel:
    """int32 or int64, as out_type and the output's type say."""
    arity(node, 1)
    required(node, 0)
    kind = node.outputs[0].type
    if kind not in INDICES or node.options["out_type"] != kind.name:
        raise node.refuse(f"out_type {node.options['out_type']} for an output of type {kind.name} is not supported")
    return Kernel("shape_s32" if kind == TensorType.INT32 else "shape_s64")


def reference_shape(node: OpNode, x: Array) -> Array:
    """The dimensions of x."""
    return np.array(x.shape, numpy_type(node.outputs[0].type))


OPERATORS = (
    Operator("RESHAPE", range(1, 2), lower_reshape, reference_reshape, in_place=(0,), view=True, tflite_shares=True),
    Operator("SHAPE", range(1, 2), lower_shape, reference_shape),
)
