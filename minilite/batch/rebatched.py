"""rebatched: a model whose constant RESHAPE targets and slices no longer say that there is one item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minilite.batch.check import check
from minilite.batch.entry import Entry, Runner
from minilite.format.builder import as_read
from minilite.format.dtypes import TensorType
from minilite.format.model import Model, Node, Subgraph, Tensor
from minilite.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SIZE = 3
"""The batch on which a rewritten model is checked."""


def rebatched(model: Any, signature: str | None = None, custom_ops: Mapping[str, Any] | None = None) -> Model:
    """The model, from a path, bytes or a Model, with RESHAPE and STRIDED_SLICE that take any batch, checked.

    A constant target such as (1, 1001) becomes (-1, 1001); a slice from 0 to 1 along the batch takes the whole batch.
    A batch of 3 has to equal single runs. The Model is in memory: it shares no weights with the file.
    Raises: ShapeError, which names the node that still refuses or mixes items; InputError for a model without a batch
    dimension.
    """
    source = Interpreter(model, custom_ops=custom_ops)
    Entry.of(source.model, signature).check_batched("a batch of any size")
    made = as_read(source.model._replace(subgraphs=tuple(map(_opened, source.model.subgraphs))))
    check(Runner(Interpreter(made, custom_ops=custom_ops), Entry.of(made, signature)), SIZE)
    return made


def _opened(graph: Subgraph) -> Subgraph:
    """The subgraph with nodes that take any batch; each new target is a constant of its own."""
    tensors, nodes = list(graph.tensors), []
    for node in graph.nodes:
        target = _target(graph, node) if node.op == "RESHAPE" else None
        if node.op == "STRIDED_SLICE" and _takes_one_item(graph, node):
            masks = {name: node.options.get(name, 0) | 1 for name in ("begin_mask", "end_mask")}
            node = node._replace(options={**node.options, **masks})
        if target is not None:
            data = np.array(target, np.int32)
            data.flags.writeable = False
            made = Tensor(
                len(tensors), f"{tensors[node.outputs[0]].name}/shape", TensorType.INT32, data.shape, data=data
            )
            node = node._replace(inputs=(node.inputs[0], made.index), options={**node.options, "new_shape": target})
            tensors.append(made)
        nodes.append(node)
    return graph._replace(tensors=tuple(tensors), nodes=tuple(nodes))


def _takes_one_item(graph: Subgraph, node: Node) -> bool:
    """Whether a slice of constant bounds goes from 0 to 1 along the batch, and keeps that dimension."""
    bounds = [graph.tensors[i].data for i in node.inputs[1:4]]
    first = [int(each.reshape(-1)[0]) for each in bounds if each is not None and each.size]
    removed = node.options.get("shrink_axis_mask", 0) | node.options.get("new_axis_mask", 0)
    return first == [0, 1, 1] and not removed & 1 and graph.tensors[node.inputs[0]].shape[:1] == (1,)


def _target(graph: Subgraph, node: Node) -> tuple[int, ...] | None:
    """The target with -1 in place of the batch; None where it is no constant, or does not begin with one."""
    source, out = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    given = graph.tensors[node.inputs[1]].data if len(node.inputs) > 1 and node.inputs[1] >= 0 else None
    if len(node.inputs) > 1 and given is None:
        return None
    dims = tuple(map(int, node.options.get("new_shape") or () if given is None else given.reshape(-1)))
    if source.data is not None or not dims or dims[0] < 1 or (source.shape[:1] != (1,) and dims[0] != 1):
        return None
    rest = out.shape[1:] if len(out.shape) == len(dims) else dims[1:]
    return (-1, *rest) if min(rest, default=1) > 0 else None
