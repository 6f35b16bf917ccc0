"""What an operator is: how it lowers to a kernel, its numpy reference, and what its output may overwrite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from minilite.errors import UnsupportedOperator, UnsupportedOpError, coordinates
from minilite.format.model import Array, Tensor


class OpNode(NamedTuple):
    """One node with its tensors at hand: what `lower` and `reference` work on."""

    subgraph: int
    index: int  # type: ignore[assignment]  # a field, not tuple.index
    op: str
    version: int
    inputs: tuple[Tensor | None, ...]
    """None stands for an absent optional input; trailing ones may be missing altogether."""
    outputs: tuple[Tensor, ...]
    options: Mapping[str, Any]
    custom_options: bytes = b""
    resources: dict[tuple[str, str], int] | None = None
    """The numbers of the model's resource variables by (container, shared name); VAR_HANDLE adds to it."""

    def input(self, position: int) -> Tensor | None:
        """Input `position`, or None when it is absent or missing."""
        return self.inputs[position] if position < len(self.inputs) else None

    def refuse(self, why: str) -> UnsupportedOpError:
        """The error to raise when this node's types, options or quantization are not supported."""
        name = self.outputs[0].name if self.outputs else ""
        return UnsupportedOpError(
            f"{coordinates(self.subgraph, self.index, self.op, name)}: {why}",
            subgraph=self.subgraph,
            node=self.index,
            op=self.op,
            tensors=[t.name for t in self.inputs if t is not None],
            shapes=[t.shape for t in self.inputs if t is not None],
            operators=[UnsupportedOperator(self.op, why, ((self.subgraph, self.index),))],
        )


class Kernel:
    """A C kernel by name, and its parameters by the names its C file declares (numbers, or arrays kept alive)."""

    __slots__ = ("name", "params", "subgraphs")

    def __init__(self, name: str, /, subgraphs: tuple[int, ...] = (), **params: Any) -> None:
        self.name = name
        self.params = params
        self.subgraphs = subgraphs


class Constants(NamedTuple):
    """What a node lowers to when its outputs' values are known from the file alone: one array an output."""

    values: tuple[Array, ...]


Lower = Callable[[OpNode], "Kernel | Constants"]
Reference = Callable[..., "Array | tuple[Array, ...]"]


class Operator(NamedTuple):
    """A row of the operator table."""

    name: str
    versions: range
    lower: Lower
    """Checks types, options and quantization, derives what does not hang on shapes, packs weights.

    Raises: UnsupportedOpError, by ``raise node.refuse("...")``."""
    reference: Reference | None
    """``reference(node, *inputs)``: the operator in numpy, the specification of its kernel. Inputs are read-only arrays
    (None when absent). None for operators that only the engine can run (WHILE, variables)."""
    in_place: tuple[int, ...] = ()
    """Inputs that output 0 may overwrite when they die here and have as many bytes."""
    view: bool = False
    """Output 0 holds input 0's bytes unchanged, under another shape."""
    output_follows: int | None = None
    """Output 0 takes the type of this input, whatever the file says of it, as TFLite's Prepare has it."""
    tflite_shares: bool = False
    """TFLite's own planner shares memory in place for this operator."""
