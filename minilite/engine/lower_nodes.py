"""The part of lowering that is done in Python: custom operators of the caller, sparse constants, constants computed
from others, and the error that lists all nodes that cannot be run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minilite._native.kernels import KernelInfo, find_kernel, kernel_types, match_kernel, pack_params
from minilite._native.status import MAX_RANK, NEEDS_DENSE, NEEDS_VALUES, NODE_PYTHON
from minilite.engine import python_nodes, refusals
from minilite.engine.user_kernels import UserKernel
from minilite.errors import UnsupportedOpError
from minilite.format.dtypes import PACKED
from minilite.format.packed import unpack
from minilite.ops import find_operator
from minilite.ops_shared.types import ABSENT, spelled

if TYPE_CHECKING:
    from minilite.engine.lower import Lowered
    from minilite.format.model import Tensor
    from minilite.ops_shared.operator import OpNode

Kinds = tuple[tuple[int, ...], tuple[int, ...]]
"""The types of inputs and of outputs, by code; -1 = absent."""


def finish(lowered: Lowered) -> None:
    """Continues a lowering where C has stopped, to its end. Raises: UnsupportedOpError, listing every unsupported node;
    InputError for a function or kernel of the caller that does not fit its node."""
    lowering = lowered.lowering
    refused: dict[tuple[int, int], UnsupportedOpError] = {}
    while need := lowering.need:
        subgraph, node = lowering.place
        row = lowered.model.subgraphs[subgraph].nodes[node]
        try:
            if need == NEEDS_DENSE:
                lowered.operands.densify(lowered.operands.node(subgraph, node))
            elif need == NEEDS_VALUES:
                _fold(lowered, subgraph, node)
            else:
                _lower_custom(lowered, lowered.operands.node(subgraph, node), custom=row.custom)
        except UnsupportedOpError as refusal:
            refused[subgraph, node] = refusal
            lowering.skip()
        lowering.run()
    for subgraph, node, text in lowering.refused():
        refused[subgraph, node] = lowered.operands.node(subgraph, node).refuse(
            text or _mismatch(lowered, subgraph, node)
        )
    found = [refused[place] for place in sorted(refused)]
    if lowering.too_many_dimensions:
        for each in lowered.model.subgraphs:
            deep = (tensor for tensor in each.tensors if len(tensor.shape) > MAX_RANK)
            found += [refusals.too_many_dimensions(each, tensor) for tensor in deep]
    if found:
        raise refusals.gathered(found)


def _mismatch(lowered: Lowered, subgraph: int, node: int) -> str:
    """The reason why the number or the types of a node's operands are not supported."""
    at_hand = lowered.operands.node(subgraph, node)
    operator = find_operator(at_hand.op)
    assert operator is not None
    return operator.refusal(*_kinds(at_hand))


def _fold(lowered: Lowered, subgraph: int, node: int) -> None:
    """Computes a node whose inputs are constant by its numpy reference, and makes its output a constant."""
    at_hand = lowered.operands.node(subgraph, node)
    operator = find_operator(at_hand.op)
    assert operator is not None
    assert operator.reference is not None
    source = at_hand.inputs[0]
    assert source is not None
    assert source.data is not None
    if at_hand.op == "DENSIFY":
        result = lowered.operands.dense(at_hand, source)
    else:
        value = unpack(source.data, source.type, source.shape) if source.type in PACKED else source.data
        made = operator.reference(at_hand, value)
        assert not isinstance(made, tuple)
        result = made
    lowered.operands.fold(subgraph, lowered.model.subgraphs[subgraph].nodes[node].outputs[0], result)
    lowered.lowering.skip()


def _lower_custom(lowered: Lowered, node: OpNode, *, custom: bool) -> None:
    """Lowers a node that no row in C runs: a custom operator of the caller.

    Raises: UnsupportedOpError, InputError."""
    if not custom:
        raise node.refuse("this operator is not supported")
    function = lowered.custom_ops.get(node.op)
    if function is None:
        raise node.refuse(refusals.unresolved(node.op, lowered.custom_ops))
    if isinstance(function, UserKernel):
        return _lower_compiled(lowered, node, function)
    shape = getattr(function, "shape", None)
    python_nodes.check_custom(node, function, shape)
    info = find_kernel("custom")
    assert info is not None
    params = pack_params(info, {"has_shape": int(shape is not None)}, [])
    return lowered.lowering.put(info, -1, NODE_PYTHON, params, (), ())


def _lower_compiled(lowered: Lowered, node: OpNode, kernel: UserKernel) -> None:
    """Lowers a custom operator whose kernel was compiled elsewhere. Raises: UnsupportedOpError, InputError."""
    kinds = _kinds(node)
    typed = _typed(kernel.info, kinds)
    if typed < 0 or ABSENT in kinds[1]:
        raise node.refuse(f"types {spelled(*kinds)} are not what its kernel takes, {kernel.types()}")
    keep: list[Any] = [kernel]
    lowered.lowering.put(kernel.info, typed, 0, kernel.params(node, keep), (), keep)


def _typed(info: KernelInfo, kinds: Kinds) -> int:
    """The index of the row in the kernel's table that runs these operand types in C; -1 if none does."""
    row = match_kernel(info, *kinds)
    return row if row >= 0 and kernel_types(info)[row][1] else -1


def _kinds(node: OpNode) -> Kinds:
    """The types of a node's operands, by code."""

    def codes(tensors: tuple[Tensor | None, ...]) -> tuple[int, ...]:
        return tuple([ABSENT if tensor is None else int(tensor.type) for tensor in tensors])

    return codes(node.inputs), codes(node.outputs)
