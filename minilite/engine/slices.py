"""A slice of a model: the nodes from some tensors to others, as a Model with plans of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite._native.kernels import written_inputs
from minilite.engine.carried import carry
from minilite.engine.engine import Engine
from minilite.engine.tensor_arguments import input_arrays, inputs_by_number, names, output_arrays, tensor_number
from minilite.errors import InputError
from minilite.format.builder import as_read
from minilite.format.dtypes import TensorType

if TYPE_CHECKING:
    from minilite._native.cancel import Cancel
    from minilite._native.graph import Lowering
    from minilite.engine.tensor_arguments import TensorKey
    from minilite.format.model import Array, Model, Subgraph

_MOST = 16
"""Slices that an interpreter keeps; the one that was made first goes first."""


class Slice(NamedTuple):
    """Some nodes of an interpreter's model."""

    part: Engine
    """Runs them."""
    keeping: frozenset[int]
    """The nodes that keep values from run to run, by their numbers in the whole model."""
    variables: tuple[int, ...]
    """The variable tensors that the nodes use."""
    turn: Any
    """A lock: values that are kept are put in and run in one piece."""


def run(
    one: Engine,
    inputs: Sequence[Any],
    until: TensorKey | Sequence[TensorKey] | None,
    taps: Sequence[TensorKey],
    since: Mapping[Any, Any] | None,
    out: Mapping[str, Array] | None,
    cancel: Cancel | None,
) -> dict[str, Array]:
    """Runs the slice on arrays, and gives its last tensors and the taps by name. Raises: InputError; as `run`."""
    graph = one.graph
    fed = {_number(graph, key): value for key, value in (since or {}).items()}
    last = graph.outputs if until is None else [_number(graph, key) for key in _several(until)]
    key = (*dict.fromkeys([*last, *(_number(graph, tap) for tap in _several(taps))]),), tuple(sorted(fed))
    found = one.slices.get(key)
    if found is None:
        while len(one.slices) >= _MOST:
            one.slices.pop(next(iter(one.slices)), None)
        found = one.slices[key] = _sliced(one, *key)
    part = found.part
    given = inputs_by_number(graph, inputs) if inputs else {}
    wanted = part.graph.inputs
    missing = [index for index in wanted if index not in given and index not in fed]
    if missing:
        message = f"no array is given for what the slice needs: {names('it needs', graph, wanted)}"
        raise InputError(message, tensors=[graph.tensors[index].name for index in missing])
    arrays = {index: fed[index] if index in fed else given[index] for index in wanted}
    cut, call = part.graph, part.array_call()
    into = output_arrays(cut, call.outputs, out) if out is not None else None
    fitting = input_arrays(cut, [arrays])
    listener = one.listener  # another thread may end it
    with found.turn:
        if found.keeping or found.variables:
            for index in found.variables:
                part.session().resize(index, one.session().shape(index))
            call.allocate(fitting)
            whole = dict(input_arrays(graph, inputs)) if inputs else {}
            carry(one, part, found.keeping, found.variables, {**whole, **dict(fitting)})
        if listener is not None:
            return dict(listener.sliced(call, fitting, into, cancel))
        return dict(call.run(fitting, into, cancel))


def _several(keys: Any) -> Sequence[Any]:
    return keys if isinstance(keys, (list, tuple)) else [keys]


def _number(graph: Subgraph, key: Any) -> int:
    index = tensor_number(graph, key)
    if not 0 <= index < len(graph.tensors):
        message = f"there is no tensor {index}: the model has tensors 0 to {len(graph.tensors) - 1}"
        raise InputError(message)
    return index


def _sliced(one: Engine, last: Sequence[int], first: Sequence[int]) -> Slice:
    """The nodes that compute `last`, from the tensors `first` on. Raises: InputError."""
    model = one.model
    graph, lowering, root = one.graph, one.program().lowered.lowering, one.root
    keeping: set[int] = lowering.keeping(root)
    kept = _needed(graph, last, first, _shared(graph, lowering, keeping))
    nodes = [node for node in graph.nodes if node.index in kept]
    _check(graph, nodes, first)
    _check_variables(model, lowering, root, kept & keeping)
    used = {each for node in nodes for each in (*node.inputs, *node.outputs, *node.intermediates)} | {*last, *first}
    read = {each for node in nodes for each in node.inputs} | {*last}
    made = graph._replace(
        tensors=tuple(
            t if t.index in used or t.data is None else t._replace(data=None, sparsity=None) for t in graph.tensors
        ),
        inputs=tuple(index for index in dict.fromkeys([*graph.inputs, *first]) if index in read),
        outputs=tuple(last),
        nodes=tuple(node._replace(index=at) for at, node in enumerate(nodes)),
    )
    graphs = tuple(made if number == root else each for number, each in enumerate(model.subgraphs))
    cut = as_read(model._replace(subgraphs=graphs, signatures=()))
    variables = tuple(t.index for t in graph.tensors if t.is_variable and t.index in used)
    return Slice(Engine(cut, one.options, root=root), frozenset(kept & keeping), variables, RLock())


class _Use(NamedTuple):
    """The variable tensors that a node uses, by number, and _RESOURCES."""

    reads: set[int]
    changes: set[int]


_RESOURCES = -1


def _shared(graph: Subgraph, lowering: Lowering, keeping: set[int]) -> dict[int, _Use]:
    """The state that nodes use and other nodes may have changed. The memory of a node does not count: it is the node's
    own."""
    found = {}
    for row in lowering.nodes(graph.index):
        if row.index not in keeping:
            continue
        node = graph.nodes[row.index]
        handles = any(graph.tensors[index].type == TensorType.RESOURCE for index in (*node.inputs, *node.outputs))
        some = {_RESOURCES} if handles or row.n_subgraphs else set()
        variables = {index for index in node.inputs if index >= 0 and graph.tensors[index].is_variable}
        written = {node.inputs[i] for i in written_inputs(row.kernel) if i < len(node.inputs)}
        changes = some if row.n_subgraphs or not node.outputs else set()
        found[row.index] = _Use(variables | some, written | changes)
    return found


def _needed(graph: Subgraph, last: Sequence[int], first: Sequence[int], shared: Mapping[int, _Use]) -> set[int]:
    """The nodes that compute `last` from `first`, and the nodes before them that change what they read."""
    makers = {index: node for node in graph.nodes for index in node.outputs if index >= 0 and index not in first}
    kept, waiting = set[int](), list(last)
    nothing = _Use(set(), set())
    while waiting:
        node = makers.get(waiting.pop())
        if node is not None and node.index not in kept:
            kept.add(node.index)
            waiting += node.inputs
        if waiting:
            continue
        read = {index for index in last if graph.tensors[index].is_variable}
        for node in reversed(graph.nodes):
            use = shared.get(node.index, nothing)
            if node.index not in kept and use.changes & read:
                kept.add(node.index)
                waiting += node.inputs
            if node.index in kept:
                read |= use.reads
    return kept


def _check(graph: Subgraph, nodes: Sequence[Any], first: Sequence[int]) -> None:
    for index in first:
        tensor = graph.tensors[index]
        if tensor.data is not None or tensor.is_variable:
            what = "a constant" if tensor.data is not None else "a variable"
            message = f"tensor {index} ('{tensor.name}') is {what}: since takes what nodes compute, and inputs"
            raise InputError(message, tensors=[tensor.name])
    for node in nodes:
        computed = [graph.tensors[index].name for index in node.outputs if index in first]
        if computed:
            whole = all(index in first for index in node.outputs)
            why = (
                "changes variables that the slice reads: since cannot stand for it"
                if whole
                else "another tensor that the slice needs: since takes all outputs of a node, or none"
            )
            message = f"subgraph {graph.index}, node {node.index} ({node.op}) computes '{computed[0]}', which since gives, and {why}"
            raise InputError(message, subgraph=graph.index, node=node.index, op=node.op, tensors=computed)


def _check_variables(model: Model, lowering: Lowering, root: int, keeping: set[int]) -> None:
    """Refuses nodes that keep variable tensors of subgraphs: nothing outside of a run reads or writes those."""
    for caller in lowering.nodes(root):
        waiting = lowering.called(caller) if caller.index in keeping else []
        for number in waiting:
            waiting += [
                each for node in lowering.nodes(number) for each in lowering.called(node) if each not in waiting
            ]
            variable = next((t for t in model.subgraphs[number].tensors if t.is_variable), None)
            if variable is not None:
                op = model.subgraphs[root].nodes[caller.index].op
                message = (
                    f"subgraph {root}, node {caller.index} ({op}) runs subgraph {number}, whose variable tensor "
                    f"{variable.index} ('{variable.name}') keeps values from run to run: a slice cannot take them over"
                )
                raise InputError(message, subgraph=root, node=caller.index, op=op, tensors=[variable.name])
