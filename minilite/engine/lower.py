"""Model -> lowered nodes: per node its kernel, parameters and packed weights; everything unsupported named at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from minilite import _native
from minilite.engine.python_nodes import Handler, check_custom
from minilite.engine.refusals import gathered, too_many_dimensions, unresolved
from minilite.engine.user_kernels import UserKernel
from minilite.errors import UnsupportedOpError, coordinates
from minilite.format.model import Array, Model, Node, Subgraph, Tensor
from minilite.ops import operators
from minilite.ops_shared.operator import Constants, Kernel, Operator, OpNode
from minilite.ops_shared.types import ABSENT, spelled

_OFFLINE = "OfflineMemoryAllocation"


Kinds = tuple[tuple[int, ...], tuple[int, ...]]
"""The types of inputs and of outputs, by code; -1 = absent."""


class Lowered(NamedTuple):
    """A Model ready for the C graph."""

    subgraphs: tuple[_native.SubgraphDef, ...]
    handlers: tuple[Handler, ...]
    resources: int
    keep: tuple[Any, ...]


def _offline(model: Model) -> list[list[int]] | None:
    """Offsets by subgraph and tensor where the file brings a memory plan. Raises: ModelFormatError."""
    if _OFFLINE not in model.metadata:
        return None
    from minilite.memory.offline import offline_offsets  # few files have one: importing minilite stays light

    return offline_offsets(model)


class _Lowering:
    """One pass over a Model's nodes, gathering what cannot be run."""

    def __init__(self, model: Model, custom_ops: Mapping[str, Any], *, reference: bool) -> None:
        self.model = model
        self.custom_ops = custom_ops
        self.reference = reference
        self.table = operators()
        self.kernels: dict[str, _native.KernelInfo | None] = {}
        self.rows: dict[tuple[Any, ...], int] = {}
        self.checked: dict[tuple[Any, ...], str] = {}
        self.flags: dict[tuple[str, bool], int] = {}
        self.handlers: list[Handler] = []
        self.resources: dict[tuple[str, str], int] = {}
        self.keep: list[Any] = []
        self.offline = _offline(model)
        self.refusals: list[UnsupportedOpError] = []

    def run(self) -> Lowered:
        subgraphs = tuple(self.subgraph(subgraph) for subgraph in self.model.subgraphs)
        if self.refusals:
            raise gathered(self.refusals)
        return Lowered(subgraphs, tuple(self.handlers), len(self.resources), tuple(self.keep))

    def subgraph(self, subgraph: Subgraph) -> _native.SubgraphDef:
        tensors = list(subgraph.tensors)
        nodes = []
        for node in subgraph.nodes:
            try:
                lowered = self.node(subgraph, node, tensors)
            except UnsupportedOpError as refusal:
                self.refusals.append(refusal)
            else:
                if lowered is not None:
                    nodes.append(lowered)
        definitions = [self.tensor(subgraph, tensor) for tensor in tensors]
        return _native.SubgraphDef(definitions, nodes, subgraph.inputs, subgraph.outputs)

    def tensor(self, subgraph: Subgraph, tensor: Tensor) -> _native.TensorDef:
        if len(tensor.shape) > _native.MAX_RANK:
            self.refusals.append(too_many_dimensions(subgraph, tensor))
            return _native.TensorDef(None, tensor.type, (), 0)
        offset = self.offline[subgraph.index][tensor.index] if self.offline else -1
        flags = _native.TENSOR_VARIABLE if tensor.is_variable else 0
        if tensor.data is not None and tensor.data is subgraph.tensors[tensor.index].data:
            flags |= _native.TENSOR_OF_FILE
        if tensor.sparsity is not None:
            flags |= _native.TENSOR_SPARSE
        return _native.TensorDef(tensor.data, tensor.type, tensor.shape, flags, self.quantization(tensor), offset)

    def quantization(self, tensor: Tensor) -> _native.QuantizationDef | None:
        """The tensor's scales and zero points as C reads them, kept alive with the graph."""
        q = tensor.quantization
        if not q.scales:
            return None
        scales, zero_points = np.array(q.scales, np.float32), np.array(q.zero_points, np.int64)
        self.keep += (scales, zero_points)
        return _native.QuantizationDef(scales, zero_points, q.quantized_dimension, q.block_size)

    def node(self, subgraph: Subgraph, node: Node, tensors: list[Tensor]) -> _native.NodeDef | None:
        operator = self.operator(node)
        if operator is not None and operator.output_follows is not None:
            self.follow(node, operator.output_follows, tensors)
        at_hand = OpNode(
            subgraph.index,
            node.index,
            node.op,
            node.version,
            tuple([tensors[i] if i >= 0 else None for i in node.inputs]),
            tuple([tensors[i] for i in node.outputs if i >= 0]),
            node.options,
            node.custom_options,
            self.resources,
            tuple([tensors[i] if i >= 0 else None for i in node.intermediates]),
            self.model.subgraphs,
        )
        if operator is None and node.custom:
            return self.custom(node, at_hand, _kinds(node, tensors))
        if operator is None:
            raise at_hand.refuse("this operator is not supported")
        if operator.custom is not None:
            at_hand = _with_options(at_hand, operator.custom)
        if node.version not in operator.versions:
            versions = operator.versions
            raise at_hand.refuse(
                f"version {node.version} is not supported, versions {versions[0]} to {versions[-1]} are"
            )
        kinds = _kinds(node, tensors)
        self.check_operands(at_hand, operator, kinds)
        lowered = operator.lowered(at_hand)
        if isinstance(lowered, Constants):
            self.fold(node, lowered.values, tensors)
            return None
        return self.kernel(node, at_hand, operator, lowered, kinds)

    def operator(self, node: Node) -> Operator | None:
        """The row of a node; None where there is none, and for custom operators that are the caller's."""
        row = self.table.get(node.op)
        if row is None or (row.custom is not None) != node.custom:
            return None
        return None if node.custom and node.op in self.custom_ops else row

    def check_operands(self, node: OpNode, operator: Operator, kinds: Kinds) -> None:
        """Refuses operands that the operator's row does not take: their number, presence and types."""
        key = (operator.name, kinds)
        why = self.checked.get(key)
        if why is None:
            why = self.checked[key] = operator.refusal(*kinds)
        if why:
            raise node.refuse(why)

    def follow(self, node: Node, position: int, tensors: list[Tensor]) -> None:
        """Gives output 0 the type of an input."""
        if position >= len(node.inputs) or not node.outputs or min(node.inputs[position], node.outputs[0]) < 0:
            return
        source, target = tensors[node.inputs[position]], tensors[node.outputs[0]]
        if source.type != target.type:
            tensors[target.index] = target._replace(type=source.type)

    def fold(self, node: Node, values: tuple[Array, ...], tensors: list[Tensor]) -> None:
        for index, value in zip(node.outputs, values, strict=True):
            tensors[index] = tensors[index]._replace(data=value, shape=value.shape)

    def find(self, name: str) -> _native.KernelInfo:
        if name not in self.kernels:
            self.kernels[name] = _native.find_kernel(name)
        info = self.kernels[name]
        if info is None:
            message = f"there is no C kernel '{name}'"
            raise LookupError(message)
        return info

    def typed(self, info: _native.KernelInfo, kinds: Kinds) -> int:
        """The row of the kernel's table that runs these operand types in C; -1 if none does."""
        key = (info.address, kinds)
        row = self.rows.get(key)
        if row is None:
            row = _native.match_kernel(info, *kinds)
            if row >= 0 and not _native.kernel_types(info)[row][1]:
                row = -1
            self.rows[key] = row
        return row

    def kernel(self, node: Node, at_hand: OpNode, operator: Operator, kernel: Kernel, kinds: Kinds) -> _native.NodeDef:
        info = self.find(kernel.name)
        typed = self.typed(info, kinds)
        python = operator.reference is not None and (self.reference or typed < 0)
        flags = self.flags.get((operator.name, python))
        if flags is None:
            flags = self.flags[operator.name, python] = _flags(operator, python)
        handler = -1
        if python and operator.reference is not None:
            handler = self.handler(at_hand, operator.reference, None, writes=operator.writes)
        params = _native.pack_params(info, kernel.params, self.keep) if kernel.params or info.fields else b""
        return _native.NodeDef(
            info.address,
            typed,
            flags,
            node.index,
            handler,
            node.inputs,
            node.outputs,
            kernel.subgraphs,
            params,
        )

    def custom(self, node: Node, at_hand: OpNode, kinds: Kinds) -> _native.NodeDef:
        function = self.custom_ops.get(node.op)
        if function is None:
            raise at_hand.refuse(unresolved(node.op, self.custom_ops))
        if isinstance(function, UserKernel):
            return self.compiled(node, at_hand, function, kinds)
        shape = getattr(function, "shape", None)
        check_custom(at_hand, function, shape)
        info = self.find("custom")
        params = _native.pack_params(info, {"has_shape": int(shape is not None)}, self.keep)
        handler = self.handler(at_hand, function, shape, custom=True)
        return _native.NodeDef(
            info.address, -1, _native.NODE_PYTHON, node.index, handler, node.inputs, node.outputs, (), params
        )

    def compiled(self, node: Node, at_hand: OpNode, kernel: UserKernel, kinds: Kinds) -> _native.NodeDef:
        """A custom operator whose kernel was compiled elsewhere."""
        typed = self.typed(kernel.info, kinds)
        if typed < 0 or ABSENT in kinds[1]:
            raise at_hand.refuse(f"types {spelled(*kinds)} are not what its kernel takes, {kernel.types()}")
        params = kernel.params(at_hand, self.keep)
        self.keep.append(kernel)
        return _native.NodeDef(kernel.info.address, typed, 0, node.index, -1, node.inputs, node.outputs, (), params)

    def handler(
        self,
        node: OpNode,
        function: Callable[..., Any],
        shape: Callable[..., Any] | None,
        *,
        custom: bool = False,
        writes: tuple[int, ...] = (),
    ) -> int:
        self.handlers.append(Handler(node, function, shape, custom, writes))
        return len(self.handlers) - 1


def _kinds(node: Node, tensors: list[Tensor]) -> Kinds:
    """The types of a node's operands, by code."""
    return (
        tuple([int(tensors[i].type) if i >= 0 else ABSENT for i in node.inputs]),
        tuple([int(tensors[i].type) if i >= 0 else ABSENT for i in node.outputs]),
    )


def _with_options(node: OpNode, decode: Callable[[bytes], Mapping[str, Any]]) -> OpNode:
    """The node of a custom operator that is built in, with its options. Raises: UnsupportedOpError."""
    try:
        return node._replace(options=decode(bytes(node.custom_options)))
    except ValueError as error:
        raise node.refuse(str(error)) from None


def _flags(operator: Operator, python: bool) -> int:
    flags = sum(_native.NODE_IN_PLACE << i for i in operator.in_place)
    flags |= _native.NODE_VIEW if operator.view else 0
    flags |= _native.NODE_TFLITE_SHARES if operator.tflite_shares else 0
    flags |= _native.NODE_PYTHON if python else 0
    if python and not operator.view:  # numpy writes outputs after reading all inputs; views must stay skippable
        flags &= ~(0xFF * _native.NODE_IN_PLACE)
    return flags


def lower(model: Model, custom_ops: Mapping[str, Any], *, reference: bool = False) -> Lowered:
    """Lowers every node of every subgraph.

    `reference` makes nodes run their numpy references. Raises: UnsupportedOpError, listing every unsupported node.
    """
    return _Lowering(model, custom_ops, reference=reference).run()


def node_label(model: Model, subgraph: int, index: int) -> tuple[str, str]:
    """The operator of a node and the name of its first output, for error lines."""
    if not 0 <= subgraph < len(model.subgraphs) or not 0 <= index < len(model.subgraphs[subgraph].nodes):
        return "?", ""
    found = model.subgraphs[subgraph]
    node = found.nodes[index]
    return node.op, found.tensors[node.outputs[0]].name if node.outputs and node.outputs[0] >= 0 else ""


__all__ = ["Handler", "Lowered", "coordinates", "lower", "node_label"]
