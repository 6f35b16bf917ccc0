"""The exception that an ml_error stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

from minilite import errors
from minilite._core import ffi, lib


class Names(Protocol):
    """Who can name nodes and tensors for an error line."""

    def node_label(self, subgraph: int, node: int) -> tuple[str, str]:
        """The operator and the name of the first output of a node."""

    def tensor_name(self, subgraph: int, tensor: int) -> str:
        """The name of a tensor."""

    def gathered(self, refusals: Sequence[errors.MiniliteError]) -> errors.MiniliteError:
        """One error for the refusals of several nodes."""


_CLASSES: dict[int, type[errors.MiniliteError]] = {
    lib.ML_SHAPE_ERROR: errors.ShapeError,
    lib.ML_ARENA_ERROR: errors.ArenaError,
    lib.ML_KERNEL_ERROR: errors.KernelError,
    lib.ML_CANCELLED: errors.KernelError,
    lib.ML_PYTHON_ERROR: errors.KernelError,
    lib.ML_BUSY: errors.StateError,
    lib.ML_VIEW_HELD: errors.StateError,
    lib.ML_NOT_READY: errors.StateError,
    lib.ML_GRAPH_ERROR: errors.ModelFormatError,
    lib.ML_BINDING_ERROR: errors.InputError,
    lib.ML_UNSUPPORTED: errors.UnsupportedOpError,
}


def _name_tensors(text: str, error: Any, names: Names) -> tuple[str, list[str]]:
    """Puts names behind the numbers of the tensors an error is about."""
    if error.subgraph < 0 or error.tensor < 0:
        return text, []
    found = {t: names.tensor_name(error.subgraph, t) for t in (error.tensor, error.other) if t >= 0}

    def named(match: re.Match[str]) -> str:
        number = int(match[1])
        return f"tensor {number} ('{errors.shortened(found[number])}')" if number in found else match[0]

    return re.sub(r"\btensor (\d+)\b", named, text), list(found.values())


def exception_of(error: Any, names: Names | None) -> errors.MiniliteError:
    """The exception an ml_error stands for."""
    kind = _CLASSES.get(error.status, errors.MiniliteError)
    text = ffi.string(error.text).decode(errors="replace")
    if names is None:
        return kind(text)
    text, tensors = _name_tensors(text, error, names)
    if error.node < 0:
        return kind(text, tensors=tensors)
    op, name = names.node_label(error.subgraph, error.node)
    line = f"{errors.coordinates(error.subgraph, error.node, op, name)}: {text}"
    place = {"subgraph": error.subgraph, "node": error.node, "op": op, "tensors": tensors or ([name] if name else [])}
    if kind is errors.UnsupportedOpError:
        found = errors.UnsupportedOperator(op, text, ((error.subgraph, error.node),))
        return errors.UnsupportedOpError(line, operators=[found], **place)
    return kind(line, **place)


def exception_of_file(status: int, error: Any, size: int) -> Exception:
    """The exception that an ml_file_error stands for."""
    text = ffi.string(error.text).decode(errors="replace")
    if status != lib.ML_GRAPH_ERROR:
        return errors.ArenaError(text)
    if error.reach > size:
        text += f"; the file ends at byte {size}, its tables reach to byte {error.reach}: truncated?"
    subgraph, node, tensor = error.subgraph, error.node, error.tensor
    if subgraph < 0:
        return errors.ModelFormatError(text)
    if node >= 0:
        op = " ".join(ffi.string(error.op).decode(errors="replace").split())[:80]
        return errors.ModelFormatError(
            f"{errors.coordinates(subgraph, node, op)}: {text}", subgraph=subgraph, node=node, op=op
        )
    where = f"subgraph {subgraph}, tensor {tensor}" if tensor >= 0 else f"subgraph {subgraph}"
    return errors.ModelFormatError(f"{where}: {text}", subgraph=subgraph)
