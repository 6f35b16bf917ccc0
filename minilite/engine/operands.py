"""Lowered nodes and tensors, created on first use, and the functions that run nodes in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minilite._native.graph import Lowering
from minilite.engine import python_nodes
from minilite.format.dtypes import TensorType, numpy_type
from minilite.ops import find_operator
from minilite.ops_shared.operator import OpNode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minilite.format.model import Array, Model, Tensor


class Operands:
    """Makes nodes with their tensors when they are looked at."""

    def __init__(self, model: Model, lowering: Lowering) -> None:
        self.model = model
        self.lowering = lowering
        self._folded: dict[tuple[int, int], Tensor] = {}
        self._options: dict[tuple[int, int], Mapping[str, Any]] = {}

    def tensor(self, subgraph: int, number: int) -> Tensor:
        """A tensor after lowering."""
        tensor = self._folded.get((subgraph, number)) or self.model.subgraphs[subgraph].tensors[number]
        definition = self.lowering.tensor(subgraph, number)
        code = definition.type
        if definition.data and tensor.data is None:  # C has made floats of halves or integers, or dense values
            value = self.lowering.made(subgraph, number, numpy_type(TensorType(code)))
            shape = value.shape
            tensor = self._folded[subgraph, number] = tensor._replace(data=value, shape=shape)
        return tensor if tensor.type == code else tensor._replace(type=TensorType(code))

    def fold(self, subgraph: int, number: int, value: Array) -> None:
        """Makes a tensor a constant."""
        tensor = self.model.subgraphs[subgraph].tensors[number]
        self._folded[subgraph, number] = tensor._replace(data=value, shape=value.shape, sparsity=None)
        self.lowering.set_constant(subgraph, number, value)

    def dense(self, node: OpNode, tensor: Tensor) -> Array:
        """The dense values of a node's sparse constant. Raises: UnsupportedOpError, ArenaError."""
        from minilite.ops_shared.sparse import dense_values  # few models have any

        values = dense_values(node, tensor, self.lowering.dense_left)
        self.lowering.dense_left -= values.nbytes
        return values

    def densify(self, node: OpNode) -> OpNode:
        """The node with its sparse constants made dense; other readers of them get the dense values too. Raises:
        UnsupportedOpError."""
        for number in self.model.subgraphs[node.subgraph].nodes[node.index].inputs:
            tensor = self.tensor(node.subgraph, number) if number >= 0 else None
            if tensor is not None and tensor.sparsity is not None:
                self.fold(node.subgraph, number, self.dense(node, tensor))
        return self.node(node.subgraph, node.index)

    def node(self, subgraph: int, number: int) -> OpNode:
        """A node with its tensors."""
        node = self.model.subgraphs[subgraph].nodes[number]
        return OpNode(
            subgraph,
            number,
            node.op,
            node.version,
            tuple([self.tensor(subgraph, i) if i >= 0 else None for i in node.inputs]),
            tuple([self.tensor(subgraph, i) for i in node.outputs if i >= 0]),
            self._options.get((subgraph, number), node.options),
            node.custom_options,
            tuple([self.tensor(subgraph, i) if i >= 0 else None for i in node.intermediates]),
            self.model.subgraphs,
        )

    def decoded(self, subgraph: int, number: int, decode: Callable[[bytes], Mapping[str, Any]]) -> OpNode:
        """The node of a built-in custom operator; its options are decoded and kept. Raises: UnsupportedOpError."""
        node = self.node(subgraph, number)
        try:
            self._options[subgraph, number] = decode(bytes(node.custom_options))
        except ValueError as error:
            raise node.refuse(str(error)) from None
        return self.node(subgraph, number)


class Handlers:
    """The nodes that run in Python by the numbers of their handlers; each is made when it first runs."""

    def __init__(self, operands: Operands, custom_ops: Mapping[str, Any]) -> None:
        self._operands = operands
        self._custom_ops = custom_ops
        self._made: dict[int, python_nodes.Handler] = {}

    def __getitem__(self, number: int) -> python_nodes.Handler:
        handler = self._made.get(number)
        if handler is None:
            handler = self._made[number] = self._make(*self._operands.lowering.place_of(number))
        return handler

    def _make(self, subgraph: int, number: int) -> python_nodes.Handler:
        node = self._operands.node(subgraph, number)
        custom = self._operands.model.subgraphs[subgraph].nodes[number].custom
        if custom and node.op in self._custom_ops:
            function = self._custom_ops[node.op]
            return python_nodes.Handler(node, function, getattr(function, "shape", None), custom=True)
        operator = find_operator(node.op)
        assert operator is not None
        assert operator.reference is not None
        if operator.options is not None:
            node = self._operands.decoded(subgraph, number, operator.options)
        written = tuple(position for position in operator.writes if node.input(position) is not None)
        return python_nodes.Handler(node, operator.reference, None, custom=False, writes=written)
