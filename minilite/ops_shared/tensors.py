"""Properties of a node's tensors that references need."""

from __future__ import annotations

from minilite.format.dtypes import TensorType
from minilite.format.model import Tensor
from minilite.ops_shared.operator import OpNode

QUANTIZED = frozenset({TensorType.INT8, TensorType.UINT8, TensorType.INT16})
"""The types whose integers mean reals, unless an operator says otherwise."""


def input_of(node: OpNode, position: int = 0) -> Tensor:
    """An input that must be present."""
    tensor = node.inputs[position]
    assert tensor is not None
    return tensor
