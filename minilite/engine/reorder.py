"""Finds an order of a subgraph's nodes with a lower memory peak, for `reorder=True`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minilite._native.graph import Lowering
from minilite._native.status import TENSOR_VARIABLE
from minilite.format.dtypes import TensorType, element_bits
from minilite.memory.order import OrderNode, lower_peak_order

if TYPE_CHECKING:
    from minilite.format.model import Model


def order_of(model: Model, lowering: Lowering, root: int) -> list[int] | None:
    """An order with a lower peak for the nodes of a subgraph; None if none was found, or if nodes may have effects."""
    graph = model.subgraphs[root]
    tensors = [lowering.tensor(root, i) for i in range(len(graph.tensors))]
    if any(tensor.offline_offset >= 0 for tensor in tensors):  # the memory plan in the file is for its order
        return None
    nodes = lowering.nodes(root)
    if lowering.keeping(root) or any(node.n_subgraphs or graph.nodes[node.index].custom for node in nodes):
        return None
    sizes = [
        0
        if t.data or t.flags & TENSOR_VARIABLE
        else -(-math.prod(t.shape.dims[0 : t.shape.rank]) * element_bits(TensorType(t.type)) // 8)
        for t in tensors
    ]
    operands = [OrderNode(*lowering.operands(node)) for node in nodes]
    return lower_peak_order(operands, sizes, graph.inputs, graph.outputs)
