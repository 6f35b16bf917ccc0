"""Turns an ml_error into a Python exception."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minilite import errors
from minilite._core import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class Names(Protocol):
        """An object that can name nodes and tensors for error messages."""

        def node_label(self, subgraph: int, node: int) -> tuple[str, str]:
            """The operator and the name of the first output of a node."""

        def tensor_name(self, subgraph: int, tensor: int) -> str:
            """The name of a tensor."""

        def gathered(self, raised: Sequence[errors.MiniliteError]) -> errors.MiniliteError:
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
    lib.ML_LENT: errors.StateError,
    lib.ML_SHARED: errors.StateError,
}


_MARKS = ("\x01", "\x02")
"""Placeholders, in texts from C, for the names of the first and the second tensor of the error."""


def exception_of(error: Any, names: Names | None) -> errors.MiniliteError:
    """The exception for an ml_error."""
    kind = _CLASSES.get(error.status, errors.MiniliteError)
    text = ffi.string(error.text).decode(errors="replace")
    subgraph, node, numbers = error.subgraph, error.node, error.tensors[0 : error.n_tensors]
    tensors = [names.tensor_name(subgraph, number) for number in numbers] if names and subgraph >= 0 else []
    for position, (mark, number) in enumerate(zip(_MARKS, numbers, strict=False)):
        name = f" ('{errors.shortened(tensors[position])}')" if tensors else ""
        text = text.replace(mark, f"tensor {number}{name}")
    text = errors.visible(text)
    shapes = [tuple(shape.dims[0 : shape.rank]) for shape in error.shapes[0 : len(numbers)] if shape.rank >= 0]
    if names is None or node < 0:
        return kind(text, subgraph=subgraph if subgraph >= 0 else None, tensors=tensors, shapes=shapes)
    op, output = names.node_label(subgraph, node)
    line = f"{errors.coordinates(subgraph, node, op, output)}: {text}"
    place = {"subgraph": subgraph, "node": node, "op": op, "tensors": tensors, "shapes": shapes}
    if kind is errors.UnsupportedOpError:
        found = errors.UnsupportedOperator(op, text, ((subgraph, node),))
        return errors.UnsupportedOpError(line, operators=[found], **place)
    return kind(line, **place)


def exception_of_file(status: int, error: Any, size: int) -> Exception:
    """The exception for an ml_file_error."""
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
