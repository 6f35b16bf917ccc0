"""Where an operand of a model's last node comes from: the same node with one of its tensors a constant of the file, an
input, computed by another node, or read from a variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from support.node import Array

from minilite.format.dtypes import TensorType, element_bits
from minilite.format.model import Model, Node, Subgraph, Tensor
from minilite.format.quantization import NOT_QUANTIZED

CONSTANT, INPUT, COMPUTED, INITIAL, ASSIGNED = "constant", "input", "computed", "initial", "assigned"
ASSIGNED_LAST = "assigned last"
"""`initial`: a variable that CALL_ONCE has assigned. `assigned`: one that is assigned earlier in the same run.
`assigned last`: as `initial`, and at the end of each run it takes the value that is given."""
CHANGING = (INPUT, COMPUTED, ASSIGNED, ASSIGNED_LAST)
"""The sources whose value is given again for each run."""


class Sourced(NamedTuple):
    """A model and what it runs on."""

    model: Model
    arrays: list[Array]
    at: int
    """The position of the operand's value in `arrays`; -1 if the model has it."""


def tensors_of(model: Model, arrays: list[Array]) -> dict[int, Array]:
    """The tensors that the last node of the main subgraph reads, with their values; without state, and without those
    whose values numpy cannot hold element by element."""
    main = model.subgraphs[0]
    given = dict(zip(main.inputs, arrays, strict=True))
    found = {}
    for number in dict.fromkeys(main.nodes[-1].inputs):
        tensor = main.tensors[number] if number >= 0 else None
        if tensor is None or tensor.is_variable or tensor.sparsity is not None:
            continue
        if number in given:
            found[number] = given[number]
        elif tensor.data is not None and may_be_constant(model, number):
            found[number] = tensor.data
    return found


def may_be_constant(model: Model, number: int) -> bool:
    """True if the file can hold the tensor's values as numpy has them."""
    kind = model.subgraphs[0].tensors[number].type
    return element_bits(kind) >= 8 and kind != TensorType.STRING


class _Graph:
    """A subgraph that grows."""

    def __init__(self, subgraph: Subgraph) -> None:
        self.subgraph, self.tensors, self.nodes = subgraph, list(subgraph.tensors), list[Node]()

    def tensor(self, like: Tensor, name: str, data: Array | None = None, **fields: Any) -> int:
        """A tensor of this one's kind."""
        number = len(self.tensors)
        self.tensors.append(like._replace(index=number, name=name, data=data, **fields))
        return number

    def node(self, op: str, inputs: list[int], outputs: list[int], **options: Any) -> None:
        """A node before those that the subgraph has."""
        self.nodes.append(Node(0, op, 1, tuple(inputs), tuple(outputs), options))

    def handle(self) -> int:
        """The handle of the variable."""
        number = self.tensor(Tensor(0, "", TensorType.RESOURCE, ()), "handle")
        self.node("VAR_HANDLE", [], [number], container="", shared_name="operand")
        return number

    def whole(self, inputs: list[int], after: Sequence[Node] = ()) -> Subgraph:
        """The subgraph with what was added, and more nodes at its end."""
        nodes = [node._replace(index=i) for i, node in enumerate([*self.nodes, *self.subgraph.nodes, *after])]
        return self.subgraph._replace(tensors=self.tensors, inputs=tuple(inputs), nodes=nodes)


def sourced(model: Model, arrays: list[Array], number: int, value: Array, source: str) -> Sourced:
    """The model with `value` as the value of a tensor of its main subgraph, from that source."""
    main = _Graph(model.subgraphs[0])
    given = dict(zip(main.subgraph.inputs, arrays, strict=True))
    given.pop(number, None)
    old = main.tensors[number]
    shape = tuple(value.shape)
    plain = old._replace(data=None, shape=shape, shape_signature=None)
    main.tensors[number] = plain._replace(data=value) if source == CONSTANT else plain
    others = list(model.subgraphs[1:])
    at = number
    if source in (COMPUTED, ASSIGNED, ASSIGNED_LAST):
        at = main.tensor(plain, "given")
    if source == COMPUTED:
        target = Tensor(0, "", TensorType.INT32, (len(shape),))
        main.node("RESHAPE", [at, main.tensor(target, "target", np.array(shape, np.int32))], [number])
    if source in (INITIAL, ASSIGNED_LAST):
        others.append(_initial(len(model.subgraphs), plain, value))
        main.node("CALL_ONCE", [], [], init_subgraph_index=len(model.subgraphs))
    if source == ASSIGNED:
        main.node("ASSIGN_VARIABLE", [main.handle(), at], [])
    if source in (INITIAL, ASSIGNED, ASSIGNED_LAST):
        main.node("READ_VARIABLE", [main.handle()], [number])
    after = [Node(0, "ASSIGN_VARIABLE", 1, (main.handle(), at), (), {})] if source == ASSIGNED_LAST else []
    if source in CHANGING:
        given[at] = value
    changed = model._replace(subgraphs=[main.whole(list(given), after), *others], signatures=())
    return Sourced(changed, list(given.values()), list(given).index(at) if source in CHANGING else -1)


def _initial(index: int, like: Tensor, value: Array) -> Subgraph:
    """A subgraph that assigns the variable its first value."""
    graph = _Graph(Subgraph(index, "initial", [], (), (), []))
    first = graph.tensor(like, "first", value, quantization=like.quantization or NOT_QUANTIZED)
    graph.node("ASSIGN_VARIABLE", [graph.handle(), first], [])
    return graph.whole([])
