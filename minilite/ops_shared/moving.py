"""What operators that only move elements check: types alike, and of whole bytes."""

from __future__ import annotations

from minilite.format.dtypes import TensorType, element_bits
from minilite.format.model import Tensor
from minilite.ops_shared.operator import OpNode

_UNSIZED = (TensorType.RESOURCE, TensorType.FLOAT8_E4M3FN, TensorType.FLOAT8_E5M2)
WHOLE_BYTES = frozenset(t for t in TensorType if element_bits(t) >= 8 and t not in _UNSIZED)
INDICES = frozenset({TensorType.INT32, TensorType.INT64})


def moved(node: OpNode, types: frozenset[TensorType] = WHOLE_BYTES) -> Tensor:
    """Input 0, once its type is one of `types` and output 0 has it too."""
    x, y = required(node, 0), node.outputs[0]
    if x.type not in types:
        raise node.refuse(f"type {x.type.name} is not supported")
    if y.type != x.type:
        raise node.refuse(f"output type {y.type.name} does not match input type {x.type.name}")
    return x


def required(node: OpNode, position: int, types: frozenset[TensorType] | None = None, name: str = "") -> Tensor:
    """Input `position`, which must be there and, where `types` are given, have one of them."""
    tensor = node.input(position)
    label = name or f"input {position}"
    if tensor is None:
        raise node.refuse(f"{label} is absent")
    if types is not None and tensor.type not in types:
        expected = " or ".join(sorted(t.name for t in types))
        raise node.refuse(f"{label} has type {tensor.type.name}, expected {expected}")
    return tensor


def arity(node: OpNode, *counts: int) -> None:
    """Refuses any other number of inputs than `counts`, and of outputs than one."""
    if len(node.inputs) not in counts or len(node.outputs) != 1:
        expected = " or ".join(map(str, counts))
        raise node.refuse(f"{len(node.inputs)} inputs and {len(node.outputs)} outputs, expected {expected} and 1")
