"""Statuses and options of the C core; the exception an ml_error stands for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from minilite._core import ffi, lib
from minilite.errors import (
    ArenaError,
    InputError,
    KernelError,
    MiniliteError,
    ModelFormatError,
    ShapeError,
    StateError,
    UnsupportedOperator,
    UnsupportedOpError,
    coordinates,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class Names(Protocol):
        """Who can name nodes and tensors for an error line."""

        def node_label(self, subgraph: int, node: int) -> tuple[str, str]:
            """The operator and the name of the first output of a node."""

        def tensor_name(self, subgraph: int, tensor: int) -> str:
            """The name of a tensor."""

        def gathered(self, refusals: Sequence[MiniliteError]) -> MiniliteError:
            """One error for the refusals of several nodes."""


_CLASSES: dict[int, type[MiniliteError]] = {
    lib.ML_SHAPE_ERROR: ShapeError,
    lib.ML_ARENA_ERROR: ArenaError,
    lib.ML_KERNEL_ERROR: KernelError,
    lib.ML_CANCELLED: KernelError,
    lib.ML_PYTHON_ERROR: KernelError,
    lib.ML_BUSY: StateError,
    lib.ML_VIEW_HELD: StateError,
    lib.ML_NOT_READY: StateError,
    lib.ML_GRAPH_ERROR: ModelFormatError,
    lib.ML_BINDING_ERROR: InputError,
    lib.ML_UNSUPPORTED: UnsupportedOpError,
}
MAX_RANK: int = lib.ML_MAX_RANK
OPTIONS: dict[str, int] = {
    "keep_inputs": lib.ML_KEEP_INPUTS,
    "keep_all": lib.ML_KEEP_ALL,
    "share_tflite": lib.ML_SHARE_TFLITE,
    "share_wide": lib.ML_SHARE_WIDE,
    "free_unread": lib.ML_FREE_UNREAD,
    "keep_smaller": lib.ML_KEEP_SMALLER,
}
TENSOR_VARIABLE: int = lib.ML_TENSOR_VARIABLE
TENSOR_SPARSE: int = lib.ML_TENSOR_SPARSE
TENSOR_OF_FILE: int = lib.ML_TENSOR_OF_FILE
NODE_PYTHON: int = lib.ML_NODE_PYTHON
NODE_VIEW: int = lib.ML_NODE_VIEW
NODE_TFLITE_SHARES: int = lib.ML_NODE_TFLITE_SHARES
NODE_IN_PLACE: int = lib.ML_NODE_IN_PLACE
STORAGES = ("none", "constant", "folded", "arena", "persistent", "bound", "slot", "heap")
BUSY = "the interpreter is running in another call: one call at a time"
NODE_STATUSES = ("waits", "runs", "folded", "view", "fused")


def _name_tensors(text: str, error: Any, names: Names) -> tuple[str, list[str]]:
    """Puts names behind the numbers of the tensors an error is about."""
    if error.subgraph < 0 or error.tensor < 0:
        return text, []
    found = {t: names.tensor_name(error.subgraph, t) for t in (error.tensor, error.other) if t >= 0}

    def named(match: re.Match[str]) -> str:
        number = int(match[1])
        return f"tensor {number} ('{shortened(found[number])}')" if number in found else match[0]

    return re.sub(r"\btensor (\d+)\b", named, text), list(found.values())


def raise_error(error: Any, names: Names | None) -> None:
    """Raises the exception an ml_error stands for."""
    raise exception_of(error, names)


def exception_of(error: Any, names: Names | None) -> MiniliteError:
    """The exception an ml_error stands for."""
    kind = _CLASSES.get(error.status, MiniliteError)
    text = ffi.string(error.text).decode(errors="replace")
    if names is None:
        return kind(text)
    text, tensors = _name_tensors(text, error, names)
    if error.node < 0:
        return kind(text, tensors=tensors)
    op, name = names.node_label(error.subgraph, error.node)
    line = f"{coordinates(error.subgraph, error.node, op, name)}: {text}"
    place = {"subgraph": error.subgraph, "node": error.node, "op": op, "tensors": tensors or ([name] if name else [])}
    if kind is UnsupportedOpError:
        found = UnsupportedOperator(op, text, ((error.subgraph, error.node),))
        return UnsupportedOpError(line, operators=[found], **place)
    return kind(line, **place)


_FRESH = ffi.new("ml_error *", {"node": -1, "subgraph": -1, "tensor": -1, "other": -1})[0]


def fresh_error() -> Any:
    """An ml_error that names no node yet."""
    return ffi.new("ml_error *", _FRESH)


def fresh_errors(count: int) -> Any:
    """So many of them."""
    return ffi.new("ml_error[]", [_FRESH] * count)
