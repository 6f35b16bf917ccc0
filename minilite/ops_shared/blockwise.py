"""Operands whose rows are quantized in blocks, each with its own scale; the scales are another tensor of the
subgraph."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode
from minilite.ops_shared.tensors import input_of


def block_scales(node: OpNode) -> Array:
    """The scales of the blocks of input 1, row by row; empty if it is quantized in another way. Raises:
    UnsupportedOpError."""
    operand = input_of(node, 1)
    q = operand.quantization
    if q.scales_tensor < 0:
        return np.zeros(0, np.float32)
    scales = node.subgraphs[node.subgraph].tensors[q.scales_tensor]
    if scales.type not in (TensorType.FLOAT16, TensorType.FLOAT32) or scales.data is None:
        raise node.refuse(f"tensor '{scales.name}', the scales of '{operand.name}', must be a constant of f16 or f32")
    if q.zero_points_tensor >= 0 or q.block_size < 1:
        raise node.refuse(
            f"tensor '{operand.name}' has blocks of {q.block_size} and zero points, it must have blocks alone"
        )
    return scales.data.astype(np.float32).reshape(-1)


def block_size(node: OpNode) -> int:
    """The number of elements in a block of input 1; 0 if it has no blocks."""
    return input_of(node, 1).quantization.block_size if block_scales(node).size else 0


def scale_of_elements(node: OpNode, shape: tuple[int, ...]) -> Array:
    """The scale of each element of input 1, whose shape is `shape`."""
    return np.repeat(block_scales(node), block_size(node)).reshape(shape)
