"""Lowered nodes -> C graph, and a Session: one root subgraph prepared, run and looked into."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minilite import _native
from minilite.engine.lower import Handler, lower, node_label
from minilite.errors import KernelError, coordinates
from minilite.format.dtypes import TensorType, element_bits, numpy_type
from minilite.format.model import Model, Tensor
from minilite.format.packed import PACKED, pack, unpack
from minilite.memory.order import OrderNode, lower_peak_order

Shape = tuple[int, ...]


class Program:
    """A Model lowered once; C graphs by root subgraph, shared by every Session."""

    def __init__(self, model: Model, custom_ops: Mapping[str, Any], *, reference: bool, reorder: bool = False) -> None:
        self.model = model
        self.lowered = lower(model, custom_ops, reference=reference)
        self.store = _native.Store()
        self._reorder = reorder
        self._graphs: dict[int, _native.Graph] = {}

    def graph(self, root: int) -> _native.Graph:
        """The C graph whose main subgraph is `root`."""
        if root not in self._graphs:
            low = self.lowered
            subgraphs = self._reordered(root) if self._reorder else low.subgraphs
            self._graphs[root] = _native.Graph(subgraphs, low.resources, root, low.keep, self, self.store)
        return self._graphs[root]

    def _reordered(self, root: int) -> tuple[_native.SubgraphDef, ...]:
        """The subgraphs with the root's nodes in an order of lower peak, where there is one and nodes have no effects."""
        graph = self.lowered.subgraphs[root]
        files = self.model.subgraphs[root].nodes
        if any(tensor.offline_offset >= 0 for tensor in graph.tensors):  # the file's memory plan is made for its order
            return self.lowered.subgraphs
        if any(
            node.subgraphs or files[node.index].custom or "VARIABLE" in files[node.index].op for node in graph.nodes
        ):
            return self.lowered.subgraphs
        sizes = [
            0
            if t.data is not None or t.flags & _native.TENSOR_VARIABLE
            else math.prod(t.shape) * element_bits(TensorType(t.type)) // 8
            for t in graph.tensors
        ]
        nodes = [OrderNode(node.inputs, node.outputs) for node in graph.nodes]
        order = lower_peak_order(nodes, sizes, graph.inputs, graph.outputs)
        if order is None:
            return self.lowered.subgraphs
        better = graph._replace(nodes=[graph.nodes[n] for n in order])
        return (*self.lowered.subgraphs[:root], better, *self.lowered.subgraphs[root + 1 :])

    def node_label(self, subgraph: int, node: int) -> tuple[str, str]:
        """The operator and the name of the first output of a node."""
        return node_label(self.model, subgraph, node)

    def tensor_name(self, subgraph: int, tensor: int) -> str:
        """The name of a tensor."""
        return self.model.subgraphs[subgraph].tensors[tensor].name


def _input(call: _native.Call, position: int, tensor: Tensor | None) -> Any:
    """The values of an input that a node in Python reads; None when it is absent."""
    if tensor is None:
        return None
    if tensor.type not in PACKED:
        return call.input_array(position, numpy_type(tensor.type))
    return unpack(call.input_array(position, np.uint8), tensor.type, call.input_shape(position) or ())


class PythonNodes:
    """Runs the nodes that C hands over: numpy references and custom operators."""

    def __init__(self, handlers: Sequence[Handler]) -> None:
        self._handlers = handlers
        self.exception: BaseException | None = None

    def eval(self, call: _native.Call) -> int:
        """Computes one node and stores its outputs."""
        handler = self._handlers[call.handler]
        inputs = [_input(call, i, tensor) for i, tensor in enumerate(handler.node.inputs)]
        if handler.copies:
            inputs = [array.copy() if array is not None else None for array in inputs]
        results = handler.function(handler.node, *inputs)
        if not isinstance(results, tuple):
            results = (results,)
        arrays = self._checked(handler, results)
        shapes = [array.shape for array in arrays]
        if any(call.output_shape(i) != shape for i, shape in enumerate(shapes)):
            arrays = [array.copy() if array.base is not None else array for array in arrays]
            if status := call.set_output_shapes(shapes):
                return status
        for i, array in enumerate(arrays):
            kind = handler.node.outputs[i].type
            stored = pack(array, kind) if kind in PACKED else array
            np.copyto(call.output_array(i, stored.dtype), stored)
        return 0

    def _checked(self, handler: Handler, results: tuple[Any, ...]) -> list[Any]:
        node = handler.node
        head = coordinates(node.subgraph, node.index, node.op, node.outputs[0].name if node.outputs else "")
        if len(results) != len(handler.dtypes_out):
            message = f"{head}: the function gave {len(results)} outputs, the node has {len(handler.dtypes_out)}"
            raise KernelError(message, subgraph=node.subgraph, node=node.index, op=node.op)
        arrays = [np.asarray(result) for result in results]
        for i, (array, dtype) in enumerate(zip(arrays, handler.dtypes_out, strict=True)):
            if array.dtype != dtype:
                message = f"{head}: output {i} came as {array.dtype}, the model says {np.dtype(dtype)}"
                raise KernelError(message, subgraph=node.subgraph, node=node.index, op=node.op)
        return arrays

    def shape(self, call: _native.Call) -> list[Shape]:
        """The output shapes of a custom node, by its shape function."""
        handler = self._handlers[call.handler]
        assert handler.shape is not None
        shapes = handler.shape(handler.node, *(call.input_shape(i) for i in range(len(handler.dtypes_in))))
        if shapes and isinstance(shapes[0], (int, np.integer)):
            shapes = [shapes]
        if len(shapes) != len(handler.dtypes_out):
            message = f"the shape function gave {len(shapes)} shapes, the node has {len(handler.dtypes_out)} outputs"
            raise KernelError(message)
        return [tuple(int(d) for d in shape) for shape in shapes]


def new_state(program: Program, root: int, strategy: str, options: Mapping[str, bool]) -> _native.State:
    """A C state over the program's graph for `root`."""
    hooks = PythonNodes(program.lowered.handlers)
    bits = sum(_native.OPTIONS[name] for name, on in options.items() if on)
    return _native.State(program.graph(root), strategy, bits, hooks)


def spec_of(shapes: Mapping[int, Shape]) -> list[int]:
    """The key of a plan: rows of [tensor, rank, dims...] by ascending tensor."""
    spec: list[int] = []
    for tensor in sorted(shapes):
        spec += (tensor, len(shapes[tensor]), *shapes[tensor])
    return spec
