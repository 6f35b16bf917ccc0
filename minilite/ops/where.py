"""WHERE with one input: the coordinates of the elements that are not 0."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.moving import arity, required
from minilite.ops_shared.operator import Kernel, Operator, OpNode

_KERNELS = {
    TensorType.BOOL: "where_b8",
    TensorType.UINT8: "where_b8",
    TensorType.INT8: "where_s8",
    TensorType.INT32: "where_s32",
    TensorType.UINT32: "where_s32",
    TensorType.INT64: "where_s64",
    TensorType.FLOAT32: "where_f32",
}


def lower_where(node: OpNode) -> Kernel:
    """NaN is not 0, -0.0 is."""
    arity(node, 1)
    condition = required(node, 0, frozenset(_KERNELS), "the condition")
    if node.outputs[0].type != TensorType.INT64:
        raise node.refuse(f"output type is {node.outputs[0].type.name}, expected INT64")
    return Kernel(_KERNELS[condition.type])


def reference_where(node: OpNode, condition: Array) -> Array:  # noqa: ARG001
    """numpy's argwhere."""
    return np.argwhere(condition).astype(np.int64)


OPERATORS = (Operator("WHERE", range(1, 3), lower_where, reference_where),)
