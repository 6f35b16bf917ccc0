"""A slice of a model: the nodes from some tensors to others, as a Model with plans of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minilite.engine.tensor_arguments import input_arrays, inputs_by_number, names, output_arrays, tensor_number
from minilite.errors import InputError
from minilite.format.builder import as_read

if TYPE_CHECKING:
    from minilite._native.cancel import Cancel
    from minilite.engine.tensor_arguments import TensorKey
    from minilite.format.model import Array, Model, Subgraph

_MOST = 16
"""Slices that an interpreter keeps; the one that was made first goes first."""


def run(
    one: Any,
    inputs: Sequence[Any],
    until: TensorKey | Sequence[TensorKey] | None,
    taps: Sequence[TensorKey],
    since: Mapping[Any, Any] | None,
    out: Mapping[str, Array] | None,
    cancel: Cancel | None,
) -> dict[str, Array]:
    """Runs the slice on arrays, and gives its last tensors and the taps by name. Raises: InputError; as `run`."""
    graph = one.model.subgraphs[0]
    fed = {_number(graph, key): value for key, value in (since or {}).items()}
    last = graph.outputs if until is None else [_number(graph, key) for key in _several(until)]
    key = (*dict.fromkeys([*last, *(_number(graph, tap) for tap in _several(taps))]),), tuple(sorted(fed))
    part = one._slices.get(key)
    if part is None:
        while len(one._slices) >= _MOST:
            one._slices.pop(next(iter(one._slices)), None)
        part = one._slices[key] = one._with_model(_sliced(one, *key))
    given = inputs_by_number(graph, inputs) if inputs else {}
    wanted = part.model.subgraphs[0].inputs
    missing = [index for index in wanted if index not in given and index not in fed]
    if missing:
        message = f"no array is given for what the slice needs: {names('it needs', graph, wanted)}"
        raise InputError(message, tensors=[graph.tensors[index].name for index in missing])
    arrays = {index: fed[index] if index in fed else given[index] for index in wanted}
    cut, call = part.model.subgraphs[0], part._array_call()
    into = output_arrays(cut, call.outputs, out) if out is not None else None
    fitting = input_arrays(cut, [arrays])
    recorder = one._recorder  # another thread may end it
    if recorder is not None:
        return dict(recorder.sliced(call, fitting, into, cancel))
    return dict(call.run(fitting, into, cancel))


def _several(keys: Any) -> Sequence[Any]:
    return keys if isinstance(keys, (list, tuple)) else [keys]


def _number(graph: Subgraph, key: Any) -> int:
    index = tensor_number(graph, key)
    if not 0 <= index < len(graph.tensors):
        message = f"there is no tensor {index}: the model has tensors 0 to {len(graph.tensors) - 1}"
        raise InputError(message)
    return index


def _sliced(one: Any, last: Sequence[int], first: Sequence[int]) -> Model:
    """The model with the nodes that compute `last`, from the tensors `first` on. Raises: InputError."""
    model: Model = one.model
    graph = model.subgraphs[0]
    makers = {index: node for node in graph.nodes for index in node.outputs if index >= 0}
    waiting, seen, kept = list(last), set[int](), set[int]()
    while waiting:
        index = waiting.pop()
        node = makers.get(index) if index not in first else None
        if index not in seen and node is not None and node.index not in kept:
            kept.add(node.index)
            waiting += [each for each in node.inputs if each >= 0]
        seen.add(index)
    nodes = [node for node in graph.nodes if node.index in kept]
    _check(graph, nodes, first, one._lowered().lowered.lowering.keeping(0))
    used = {each for node in nodes for each in (*node.inputs, *node.outputs, *node.intermediates)} | {*last, *first}
    made = graph._replace(
        tensors=tuple(
            t if t.index in used or t.data is None else t._replace(data=None, sparsity=None) for t in graph.tensors
        ),
        inputs=tuple(index for index in dict.fromkeys([*graph.inputs, *first]) if index in seen),
        outputs=tuple(last),
        nodes=tuple(node._replace(index=at) for at, node in enumerate(nodes)),
    )
    return as_read(model._replace(subgraphs=(made, *model.subgraphs[1:]), signatures=()))


def _check(graph: Subgraph, nodes: Sequence[Any], first: Sequence[int], keeping: set[int]) -> None:
    for index in first:
        tensor = graph.tensors[index]
        if tensor.data is not None or tensor.is_variable:
            what = "a constant" if tensor.data is not None else "a variable"
            message = f"tensor {index} ('{tensor.name}') is {what}: since takes what nodes compute, and inputs"
            raise InputError(message, tensors=[tensor.name])
    for node in nodes:
        computed = [graph.tensors[index].name for index in node.outputs if index in first]
        if computed:
            message = (
                f"subgraph 0, node {node.index} ({node.op}) computes '{computed[0]}', which since gives, and another "
                "tensor that the slice needs: since takes all outputs of a node, or none"
            )
            raise InputError(message, subgraph=0, node=node.index, op=node.op, tensors=computed)
        if node.index in keeping:
            message = (
                f"subgraph 0, node {node.index} ({node.op}) keeps values from run to run: a slice has none to keep"
            )
            raise InputError(message, subgraph=0, node=node.index, op=node.op)
