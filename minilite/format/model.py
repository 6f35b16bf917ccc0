"""The Model: what a file says, checked and frozen; bulk constants are views on the file's bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization

Array = NDArray[Any]


class Tensor(NamedTuple):
    """One tensor of a subgraph as the file states it; `index` is its number there."""

    index: int  # type: ignore[assignment]  # a field, not tuple.index
    name: str
    type: TensorType
    shape: tuple[int, ...]
    shape_signature: tuple[int, ...] | None = None
    """The shape with -1 for unknown dimensions; None when the file gives none."""
    data: Array | None = None
    """A constant's read-only values in `shape` and numpy type (raw uint8 bytes for strings, packed and sparse
    types); None for tensors computed at run time."""
    quantization: Quantization = NOT_QUANTIZED
    is_variable: bool = False
    sparsity: Mapping[str, Any] | None = None
    has_rank: bool = False


class Node(NamedTuple):
    """One occurrence of an operator: tensor numbers of the same subgraph, -1 for an absent optional input."""

    index: int  # type: ignore[assignment]  # a field, not tuple.index
    op: str
    """The operator's name, CONV_2D for instance; a custom operator's own name when `custom`."""
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any]
    """The options table by field name, defaults filled in, enums as their names ("SAME", "RELU6")."""
    custom: bool = False
    custom_options: bytes = b""
    intermediates: tuple[int, ...] = ()


class Subgraph(NamedTuple):
    """Tensors, and nodes in execution order."""

    index: int  # type: ignore[assignment]  # a field, not tuple.index
    name: str
    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    nodes: tuple[Node, ...]


class Signature(NamedTuple):
    """A named entry point: argument name -> tensor number of its subgraph."""

    key: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    subgraph: int


class Model(NamedTuple):
    """All of a file; subgraph 0 is the main one. Holds the file's bytes alive through its constants."""

    version: int
    description: str
    subgraphs: tuple[Subgraph, ...]
    signatures: tuple[Signature, ...] = ()
    metadata: Mapping[str, bytes] = {}
