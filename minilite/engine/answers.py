"""What kinds of nodes lower to where C does not know it: by their operators' rows. All that cannot run is named.

What a kind lowers to hangs on the operators' rows alone, which never change: answers are kept from model to model.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from minilite import errors
from minilite._native.graph import Lowering
from minilite._native.kernels import Answer, KernelInfo, find_kernel, kernel_types, match_kernel, pack_params, widening
from minilite._native.status import MAX_RANK, NODE_IN_PLACE, NODE_PYTHON, NODE_TFLITE_SHARES, NODE_VIEW
from minilite.engine import python_nodes, refusals
from minilite.engine.operands import Function
from minilite.ops import find_operator
from minilite.ops_shared.types import ABSENT, spelled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minilite.engine.lower import Lowered
    from minilite.engine.operands import Operands
    from minilite.engine.user_kernels import UserKernel
    from minilite.format.model import Model, Node, Tensor
    from minilite.ops_shared.operator import Operator, OpNode

_MOST_ANSWERS = 4096
"""Answers that are kept; beyond it all are forgotten at once."""
_answers: dict[tuple[bytes, bool], Answer] = {}
"""What kinds lower to, by key and whether numpy references run: a cache, as functools has them, for values made on the
way."""

Kinds = tuple[tuple[int, ...], tuple[int, ...]]
"""The types of inputs and of outputs, by code; -1 = absent."""


@functools.cache
def _find_kernel(name: str) -> KernelInfo:
    info = find_kernel(name)
    if info is None:
        message = f"there is no C kernel '{name}'"
        raise LookupError(message)
    return info


@functools.lru_cache(_MOST_ANSWERS)
def _typed(info: KernelInfo, kinds: Kinds) -> int:
    """The row of the kernel's table that runs these operand types in C; -1 if none does."""
    row = match_kernel(info, *kinds)
    return row if row >= 0 and kernel_types(info)[row][1] else -1


@functools.lru_cache(_MOST_ANSWERS)
def _refusal(name: str, kinds: Kinds) -> str:
    operator = find_operator(name)
    return operator.refusal(*kinds) if operator is not None else ""


class Answers:
    """One pass over a Model's kinds of nodes, gathering what cannot be run."""

    def __init__(self, lowered: Lowered, custom_ops: Mapping[str, Any], *, reference: bool) -> None:
        self.model: Model = lowered.model
        self.custom_ops: Mapping[str, Any] = custom_ops
        self.reference: bool = reference
        self.lowering: Lowering = lowered.lowering
        self.operands: Operands = lowered.operands
        self.functions: dict[int, Function] = lowered.functions

    def fill(self) -> None:
        """Completes the lowering. Raises: UnsupportedOpError, listing every unsupported node."""
        answers: list[Answer | None] = []
        refused: set[int] = set()
        for number, (key, subgraph, node) in enumerate(self.lowering.kinds()):
            answer = _answers.get((key, self.reference)) if key else None
            known = not self.reference and self.lowering.knows(number)
            try:
                if answer is None and not known:
                    answer = self.answer(subgraph, node, number, alone=not key)
                    if key and answer is not None:
                        self.keep(key, subgraph, node, answer)
                elif answer is not None and answer.python:
                    self.reference_of(self.model.subgraphs[subgraph].nodes[node].op, number)
            except errors.UnsupportedOpError:
                refused.add(number)
            answers.append(answer)
        if refused or self.lowering.too_many_dimensions:
            raise refusals.gathered(self.refusals(refused))
        self.lowering.fill(answers)

    def keep(self, key: bytes, subgraph: int, node: int, answer: Answer) -> None:
        """Keeps what a kind lowers to for other models, where it hangs on nothing of this one."""
        operator = find_operator(self.model.subgraphs[subgraph].nodes[node].op)
        if operator is not None and operator.asks_about != "model":
            if len(_answers) >= _MOST_ANSWERS:
                _answers.clear()
            _answers[key, self.reference] = answer

    def refusals(self, kinds: set[int]) -> list[errors.UnsupportedOpError]:
        """Every node of these kinds refused by itself, and every tensor that is."""
        found: list[errors.UnsupportedOpError] = []
        for subgraph in self.model.subgraphs:
            for number in range(len(subgraph.nodes)):
                kind = self.lowering.kind_of(subgraph.index, number)
                try:
                    if kind in kinds:
                        self.answer(subgraph.index, number, kind, alone=True)
                except errors.UnsupportedOpError as refusal:
                    found.append(refusal)
            if self.lowering.too_many_dimensions:
                deep = (tensor for tensor in subgraph.tensors if len(tensor.shape) > MAX_RANK)
                found += [refusals.too_many_dimensions(subgraph, tensor) for tensor in deep]
        return found

    def answer(self, subgraph: int, number: int, kind: int, *, alone: bool) -> Answer | None:
        """What a node lowers to; None if it has become a constant, as one of a kind of its own may.

        Raises: UnsupportedOpError, InputError.
        """
        node = self.operands.node(subgraph, number)
        row = self.model.subgraphs[subgraph].nodes[number]
        operator = self.operator(row)
        if operator is None and row.custom:
            return self.custom(node, kind)
        if operator is None:
            raise node.refuse("this operator is not supported")
        if operator.custom is not None:
            node = self.operands.decoded(subgraph, number, operator.custom)
        if row.version not in operator.versions:
            versions = operator.versions
            raise node.refuse(f"version {row.version} is not supported, versions {versions[0]} to {versions[-1]} are")
        if operator.folds is None and any(tensor is not None and tensor.sparsity is not None for tensor in node.inputs):
            node = self.operands.densify(node)
        kinds = _kinds(node)
        if why := _refusal(row.op, kinds):
            raise node.refuse(why)
        params, subgraphs = operator.lowered(node)
        source = node.input(0)
        if operator.folds is not None and source is not None and source.data is not None:
            if not alone:
                return widening()
            for index, value in zip(row.outputs, operator.folds(node), strict=True):
                self.operands.fold(subgraph, index, value)
            return None
        info = _find_kernel(operator.kernel_name)
        typed = _typed(info, kinds)
        python = operator.reference is not None and (self.reference or typed < 0)
        if python:
            self.reference_of(row.op, kind)
        keep: list[Any] = []
        packed = pack_params(info, params, keep) if params or info.fields else b""
        return Answer(info.pointer, typed, flags_of(operator, python=python), packed, subgraphs, keep)

    def operator(self, node: Node) -> Operator | None:
        """The row of a node; None where there is none, and for custom operators that are the caller's."""
        row = find_operator(node.op)
        if row is None or (row.custom is not None) != node.custom:
            return None
        return None if node.custom and node.op in self.custom_ops else row

    def reference_of(self, op: str, kind: int) -> None:
        """The nodes of a kind run an operator's numpy reference."""
        operator = find_operator(op)
        if operator is not None and operator.reference is not None:
            self.functions[kind] = Function(operator.reference, writes=operator.writes)

    def custom(self, node: OpNode, kind: int) -> Answer:
        """What a custom operator of the caller's lowers to. Raises: UnsupportedOpError, InputError."""
        function = self.custom_ops.get(node.op)
        if function is None:
            raise node.refuse(refusals.unresolved(node.op, self.custom_ops))
        from minilite.engine.user_kernels import UserKernel

        if isinstance(function, UserKernel):
            return _compiled(node, function)
        shape = getattr(function, "shape", None)
        python_nodes.check_custom(node, function, shape)
        info = _find_kernel("custom")
        params = pack_params(info, {"has_shape": int(shape is not None)}, [])
        self.functions[kind] = Function(function, shape, custom=True)
        return Answer(info.pointer, -1, NODE_PYTHON, params, (), ())


def _compiled(node: OpNode, kernel: UserKernel) -> Answer:
    """A custom operator whose kernel was compiled elsewhere."""
    kinds = _kinds(node)
    typed = _typed(kernel.info, kinds)
    if typed < 0 or ABSENT in kinds[1]:
        raise node.refuse(f"types {spelled(*kinds)} are not what its kernel takes, {kernel.types()}")
    keep: list[Any] = [kernel]
    return Answer(kernel.info.pointer, typed, 0, kernel.params(node, keep), (), keep)


def _kinds(node: OpNode) -> Kinds:
    """The types of a node's operands, by code."""

    def codes(tensors: tuple[Tensor | None, ...]) -> tuple[int, ...]:
        return tuple([ABSENT if tensor is None else int(tensor.type) for tensor in tensors])

    return codes(node.inputs), codes(node.outputs)


def flags_of(operator: Operator, *, python: bool = False) -> int:
    """An ml_node_def's flags."""
    flags = sum(NODE_IN_PLACE << i for i in operator.in_place)
    flags |= NODE_VIEW if operator.view else 0
    flags |= NODE_TFLITE_SHARES if operator.tflite_shares else 0
    flags |= NODE_PYTHON if python else 0
    if python and not operator.view:  # numpy writes outputs after reading all inputs; views must stay skippable
        flags &= ~(0xFF * NODE_IN_PLACE)
    return flags
