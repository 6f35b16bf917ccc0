"""rebatched: rewrites a model whose constant shapes and slices allow only one item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minilite._native.kernels import find_row
from minilite.batch.check import check
from minilite.batch.entry import Entry, Runner
from minilite.errors import ShapeError
from minilite.format.builder import ModelBuilder, as_read
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Model, Node, Subgraph, Tensor
from minilite.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from minilite.format.builder import SubgraphBuilder

SIZE = 3
"""The batch on which a rewritten model is checked."""


def rebatched(model: Any, signature: str | None = None, custom_ops: Mapping[str, Any] | None = None) -> Model:
    """Returns the model (a path, bytes or a Model) with nodes that take any batch, after checking it.

    A constant RESHAPE target such as (1, 1001) becomes (-1, 1001); a slice from 0 to 1 along the batch takes the whole
    batch. If that does not suffice, other constant shapes, such as those of FILL, BROADCAST_TO and SCATTER_ND, are
    computed from the input's batch where they begin with 1. A batch of 3 has to equal single runs. The Model is in
    memory: it shares no weights with the file.
    Raises: ShapeError, which names the node that still refuses or mixes items; InputError for a model without a batch
    dimension.
    """
    source = Interpreter(model, custom_ops=custom_ops)
    entry = Entry.of(source.model, signature)
    entry.check_batched("a batch of any size")
    graphs = [_opened(graph) for graph in source.model.subgraphs]
    try:
        return _checked(source.model, graphs, signature, custom_ops)
    except ShapeError as refusal:  # names nodes as the file numbers them
        at = entry.subgraph.index
        shapes = _shapes_of_one_item(graphs[at])
        if not shapes:
            raise
        graphs[at] = _batch_computed(graphs[at], next(iter(entry.inputs.values())), shapes)
        try:
            return _checked(source.model, graphs, signature, custom_ops)
        except ShapeError:
            raise refusal from None


def _checked(
    model: Model, graphs: Sequence[Subgraph], signature: str | None, custom_ops: Mapping[str, Any] | None
) -> Model:
    """Makes the model with these subgraphs, and checks it. Raises: ShapeError."""
    made = as_read(model._replace(subgraphs=tuple(graphs)))
    check(Runner(Interpreter(made, custom_ops=custom_ops), Entry.of(made, signature)), SIZE)
    return made


def _opened(graph: Subgraph) -> Subgraph:
    """Returns the subgraph with nodes that take any batch; each new target or size is a constant of its own."""
    tensors, nodes = list(graph.tensors), []

    def constant(of: int, what: str, values: Any, kind: TensorType) -> int:
        data = np.array(values, numpy_type(kind))
        data.flags.writeable = False
        tensors.append(Tensor(len(tensors), f"{tensors[of].name}/{what}", kind, data.shape, data=data))
        return len(tensors) - 1

    for node in graph.nodes:
        target = _target(graph, node) if node.op == "RESHAPE" else None
        sliced = node.op in ("SLICE", "STRIDED_SLICE") and _takes_one_item(graph, node)
        if target is not None:
            made = constant(node.outputs[0], "shape", target, TensorType.INT32)
            node = node._replace(inputs=(node.inputs[0], made), options={**node.options, "new_shape": target})
        elif sliced and node.op == "STRIDED_SLICE":
            masks = {name: node.options.get(name, 0) | 1 for name in ("begin_mask", "end_mask")}
            node = node._replace(options={**node.options, **masks})
        elif sliced:
            size = graph.tensors[node.inputs[2]]
            made = constant(node.outputs[0], "size", [-1, *size.data[1:]], size.type)  # type: ignore[index]  # constant
            node = node._replace(inputs=(*node.inputs[:2], made))
        nodes.append(node)
    return graph._replace(tensors=tuple(tensors), nodes=tuple(nodes))


def _takes_one_item(graph: Subgraph, node: Node) -> bool:
    """True if a slice with constant bounds goes from 0 to 1 along the batch, and keeps that dimension."""
    bounds = [graph.tensors[i].data for i in node.inputs[1:4]]
    first = [int(each.reshape(-1)[0]) for each in bounds if each is not None and each.size]
    removed = node.options.get("shrink_axis_mask", 0) | node.options.get("new_axis_mask", 0)
    return (
        first == [0, 1, 1][: len(node.inputs) - 1]
        and not removed & 1
        and graph.tensors[node.inputs[0]].shape[:1] == (1,)
    )


def _target(graph: Subgraph, node: Node) -> tuple[int, ...] | None:
    """Returns a RESHAPE's target with -1 in place of the batch; None if it is not constant, or does not begin with
    1."""
    source, out = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    given = graph.tensors[node.inputs[1]].data if len(node.inputs) > 1 and node.inputs[1] >= 0 else None
    if len(node.inputs) > 1 and given is None:
        return None
    dims = tuple(map(int, node.options.get("new_shape") or () if given is None else given.reshape(-1)))
    if source.data is not None or not dims or dims[0] < 1 or (source.shape[:1] != (1,) and dims[0] != 1):
        return None
    rest = out.shape[1:] if len(out.shape) == len(dims) else dims[1:]
    return (-1, *rest) if min(rest, default=1) > 0 else None


_BATCHED_BY_THEMSELVES = ("RESHAPE", "TRANSPOSE_CONV", "CONV_3D_TRANSPOSE")


def _shapes_of_one_item(graph: Subgraph) -> list[tuple[int, int]]:
    """Returns the constant shapes of outputs that begin with 1, by node and operand. RESHAPE is left out, because it
    has a target, and TRANSPOSE_CONV, because it follows its input."""
    found = []
    for node in graph.nodes:
        row = None if node.custom or node.op in _BATCHED_BY_THEMSELVES else find_row(node.op)
        operands = row.takes.split() if row is not None else []
        if "shape" in operands and (place := operands.index("shape")) < len(node.inputs):
            shape = graph.tensors[node.inputs[place]].data if node.inputs[place] >= 0 else None
            if shape is not None and shape.shape[:1] > (0,) and shape.reshape(-1)[0] == 1:
                found.append((node.index, place))
    return found


def _batch_computed(graph: Subgraph, x: Tensor, shapes: Sequence[tuple[int, int]]) -> Subgraph:
    """Returns the subgraph with nodes at its start that compute these shapes: the batch of input x, then the rest of
    the constant."""
    builder = ModelBuilder()
    made = builder.subgraph(graph.name)
    made._extend(graph)
    batches: dict[TensorType, int] = {}
    nodes = list(graph.nodes)
    for number, place in shapes:
        shape = graph.tensors[nodes[number].inputs[place]]
        assert shape.data is not None
        if shape.type not in batches:
            batches[shape.type] = _batch_of(made, x, shape.type)
        computed, rest = batches[shape.type], shape.data[1:]
        if rest.size:
            parts = [computed, made.constant(f"{shape.name}/rest", rest)]
            out = (f"{shape.name}/batched", shape.shape, shape.type)
            computed = made.node("CONCATENATION", parts, out=out, options={"axis": 0})
        inputs = list(nodes[number].inputs)
        inputs[place] = computed
        nodes[number] = nodes[number]._replace(inputs=tuple(inputs))
    found = made.subgraph()
    ordered = [*found.nodes[len(nodes) :], *nodes]
    return found._replace(
        index=graph.index, nodes=tuple(node._replace(index=number) for number, node in enumerate(ordered))
    )


def _batch_of(made: SubgraphBuilder, x: Tensor, kind: TensorType) -> int:
    """Adds nodes that compute the batch of x as one number of type `kind`."""
    shape = made.node("SHAPE", [x.index], out=("batch/shape", (len(x.shape),), kind), options={"out_type": kind.name})
    first, end = (made.constant(f"batch/{name}", np.array([number], np.int32)) for name, number in (("0", 0), ("1", 1)))
    batch: int = made.node("STRIDED_SLICE", [shape, first, end, end], out=("batch", (1,), kind), options={})
    return batch
