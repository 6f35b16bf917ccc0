"""What lowering leaves to Python: custom operators of the caller's, constants that are sparse or become others, and the
error that names every node that cannot be run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minilite import _native
from minilite.engine import python_nodes, refusals
from minilite.engine.user_kernels import UserKernel
from minilite.errors import UnsupportedOpError
from minilite.format.dtypes import PACKED
from minilite.format.packed import unpack
from minilite.ops import find_operator
from minilite.ops_shared.types import ABSENT, spelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minilite.engine.lower import Lowered
    from minilite.format.model import Array, Tensor
    from minilite.ops_shared.operator import Operator, OpNode

Kinds = tuple[tuple[int, ...], tuple[int, ...]]
"""The types of inputs and of outputs, by code; -1 = absent."""


def finish(lowered: Lowered, *, reference: bool) -> None:
    """Goes on with a lowering where C stopped, to its end. Raises: UnsupportedOpError, listing every unsupported node;
    InputError for a function or kernel of the caller's that does not fit its node."""
    lowering = lowered.lowering
    refused: dict[tuple[int, int], UnsupportedOpError] = {}
    while need := lowering.need:
        subgraph, node = lowering.place
        try:
            if need == _native.NEEDS_DENSE:
                lowered.operands.densify(lowered.operands.node(subgraph, node))
            elif need == _native.NEEDS_VALUES:
                _fold(lowered, subgraph, node)
            else:
                _lower(lowered, subgraph, node, reference=reference)
        except UnsupportedOpError as refusal:
            refused[subgraph, node] = refusal
            lowering.skip()
        lowering.run()
    for subgraph, node, text in lowering.refused():
        refused[subgraph, node] = lowered.operands.node(subgraph, node).refuse(text or _misfit(lowered, subgraph, node))
    found = [refused[place] for place in sorted(refused)]
    if lowering.too_many_dimensions:
        for each in lowered.model.subgraphs:
            deep = (tensor for tensor in each.tensors if len(tensor.shape) > _native.MAX_RANK)
            found += [refusals.too_many_dimensions(each, tensor) for tensor in deep]
    if found:
        raise refusals.gathered(found)


def _misfit(lowered: Lowered, subgraph: int, node: int) -> str:
    """Why the number or the types of a node's operands are not supported."""
    at_hand = lowered.operands.node(subgraph, node)
    operator = find_operator(at_hand.op)
    assert operator is not None
    return operator.refusal(*_kinds(at_hand))


def _fold(lowered: Lowered, subgraph: int, node: int) -> None:
    """Makes the outputs of a node of constants constants, by its numpy reference."""
    at_hand = lowered.operands.node(subgraph, node)
    operator = find_operator(at_hand.op)
    assert operator is not None
    assert operator.reference is not None
    source = at_hand.inputs[0]
    assert source is not None
    assert source.data is not None
    value = unpack(source.data, source.type, source.shape) if source.type in PACKED else source.data
    results = operator.reference(at_hand, value)
    _become(lowered, subgraph, node, results if isinstance(results, tuple) else (results,))


def _become(lowered: Lowered, subgraph: int, node: int, values: Sequence[Array]) -> None:
    for number, value in zip(lowered.model.subgraphs[subgraph].nodes[node].outputs, values, strict=True):
        lowered.operands.fold(subgraph, number, value)
    lowered.lowering.skip()


def _lower(lowered: Lowered, subgraph: int, number: int, *, reference: bool) -> None:
    """Lowers a node that no row in C runs. Raises: UnsupportedOpError, InputError."""
    row = lowered.model.subgraphs[subgraph].nodes[number]
    node = lowered.operands.node(subgraph, number)
    operator = None if row.custom and row.op in lowered.custom_ops else find_operator(row.op)
    if operator is None or (operator.custom is not None) != row.custom:
        if not row.custom:
            raise node.refuse("this operator is not supported")
        return _lower_custom(lowered, node)
    if operator.output_follows is not None:
        source = node.input(operator.output_follows)
        if source is not None and row.outputs:
            lowered.lowering.tensor(subgraph, row.outputs[0]).type = int(source.type)
            node = lowered.operands.node(subgraph, number)
    if operator.custom is not None:
        node = lowered.operands.decoded(subgraph, number, operator.custom)
    if row.version not in operator.versions:
        versions = operator.versions
        raise node.refuse(f"version {row.version} is not supported, versions {versions[0]} to {versions[-1]} are")
    if operator.folds is None and any(tensor is not None and tensor.sparsity is not None for tensor in node.inputs):
        node = lowered.operands.densify(node)
    kinds = _kinds(node)
    if why := operator.refusal(*kinds):
        raise node.refuse(why)
    params, subgraphs = operator.lowered(node)
    source = node.input(0)
    if operator.folds is not None and source is not None and source.data is not None:
        return _become(lowered, subgraph, number, operator.folds(node))
    info = _native.find_kernel(operator.kernel_name)
    assert info is not None
    typed = _typed(info, kinds)
    python = operator.reference is not None and (reference or typed < 0)
    keep: list[Any] = []
    packed = _native.pack_params(info, params, keep) if params or info.fields else b""
    return lowered.lowering.put(info, typed, _flags(operator, python=python), packed, subgraphs, keep)


def _flags(operator: Operator, *, python: bool) -> int:
    """An ml_node_def's flags."""
    flags = sum(_native.NODE_IN_PLACE << i for i in operator.in_place)
    flags |= _native.NODE_VIEW if operator.view else 0
    flags |= _native.NODE_TFLITE_SHARES if operator.tflite_shares else 0
    flags |= _native.NODE_PYTHON if python else 0
    if python and not operator.view:  # numpy writes outputs after reading all inputs; views must stay skippable
        flags &= ~(0xFF * _native.NODE_IN_PLACE)
    return flags


def _lower_custom(lowered: Lowered, node: OpNode) -> None:
    """Lowers a custom operator of the caller's. Raises: UnsupportedOpError, InputError."""
    function = lowered.custom_ops.get(node.op)
    if function is None:
        raise node.refuse(refusals.unresolved(node.op, lowered.custom_ops))
    if isinstance(function, UserKernel):
        return _lower_compiled(lowered, node, function)
    shape = getattr(function, "shape", None)
    python_nodes.check_custom(node, function, shape)
    info = _native.find_kernel("custom")
    assert info is not None
    params = _native.pack_params(info, {"has_shape": int(shape is not None)}, [])
    return lowered.lowering.put(info, -1, _native.NODE_PYTHON, params, (), ())


def _lower_compiled(lowered: Lowered, node: OpNode, kernel: UserKernel) -> None:
    """Lowers a custom operator whose kernel was compiled elsewhere. Raises: UnsupportedOpError, InputError."""
    kinds = _kinds(node)
    typed = _typed(kernel.info, kinds)
    if typed < 0 or ABSENT in kinds[1]:
        raise node.refuse(f"types {spelled(*kinds)} are not what its kernel takes, {kernel.types()}")
    keep: list[Any] = [kernel]
    lowered.lowering.put(kernel.info, typed, 0, kernel.params(node, keep), (), keep)


def _typed(info: _native.KernelInfo, kinds: Kinds) -> int:
    """The row of the kernel's table that runs these operand types in C; -1 if none does."""
    row = _native.match_kernel(info, *kinds)
    return row if row >= 0 and _native.kernel_types(info)[row][1] else -1


def _kinds(node: OpNode) -> Kinds:
    """The types of a node's operands, by code."""

    def codes(tensors: tuple[Tensor | None, ...]) -> tuple[int, ...]:
        return tuple([ABSENT if tensor is None else int(tensor.type) for tensor in tensors])

    return codes(node.inputs), codes(node.outputs)
