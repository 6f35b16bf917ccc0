"""Model: the content of a file, checked and immutable; large constants are views on the file's bytes.

It consists of plain values, and may also be made by hand. In a Model that was read, tensors and nodes are made when
they are looked at: see rows.py.
"""

import reprlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.metadata import Metadata
from minilite.format.quantization import NOT_QUANTIZED, Quantization

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from minilite._native.file import File

    Array: TypeAlias = NDArray[Any]
else:
    Array = np.ndarray

_SHORT = reprlib.Repr()
_SHORT.maxtuple, _SHORT.maxdict, _SHORT.maxstring, _SHORT.maxother = 8, 12, 60, 200


def _described(self: Any, fields: Mapping[str, Any]) -> str:
    """A repr of the fields, on one line."""
    text = ", ".join(f"{name}={_SHORT.repr(value)}" for name, value in fields.items())
    return f"{type(self).__name__}({text})"


def _same_array(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return isinstance(b, np.ndarray) and (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


class Tensor(NamedTuple):
    """One tensor of a subgraph, as in the file; `index` is its number there."""

    index: int  # type: ignore[assignment]  # a field, not tuple.index
    name: str
    type: TensorType
    shape: tuple[int, ...]
    shape_signature: tuple[int, ...] | None = None
    """The shape with -1 for unknown dimensions; None if the file has no signature."""
    data: Array | None = None
    """A constant's read-only values, with `shape` and the numpy type (raw uint8 bytes for strings, packed and sparse
    types); None for tensors computed at run time."""
    quantization: Quantization = NOT_QUANTIZED
    is_variable: bool = False
    sparsity: Mapping[str, Any] | None = None
    has_rank: bool = False

    def __eq__(self, other: object) -> bool:
        """Compares like tuples; constants by type, shape and bytes."""
        if not isinstance(other, tuple) or len(other) != len(self):
            return NotImplemented
        return self[:5] == other[:5] and self[6:] == other[6:] and _same_array(self.data, other[5])

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return tuple.__hash__(self)

    def __repr__(self) -> str:
        shown: dict[str, Any] = self._asdict() | {"type": _Text(self.type.name)}
        for name, default in self._field_defaults.items():
            if shown[name] is default:
                del shown[name]
        if self.data is not None:
            shown["data"] = _Text(f"{self.data.dtype} {self.data.shape}")
        return _described(self, shown)


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

    def __repr__(self) -> str:
        shown = dict(zip(self._fields[:6], self, strict=False))
        if self.custom:
            shown.update(custom=True, custom_options=_Text(f"{len(self.custom_options)} bytes"))
        if self.intermediates:
            shown["intermediates"] = self.intermediates
        return _described(self, shown)


class Subgraph(NamedTuple):
    """Tensors, and nodes in execution order."""

    index: int  # type: ignore[assignment]  # a field, not tuple.index
    name: str
    tensors: Sequence[Tensor]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    nodes: Sequence[Node]

    def __repr__(self) -> str:
        counts = {"tensors": _Text(f"<{len(self.tensors)}>"), "nodes": _Text(f"<{len(self.nodes)}>")}
        return _described(self, self._asdict() | counts)


class Signature(NamedTuple):
    """A named entry point: argument name -> tensor number of its subgraph."""

    key: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    subgraph: int
    broken: str = ""
    """The reason why it cannot be used, with its place in the file; empty if it can."""


class Model(NamedTuple):
    """The whole content of a file; subgraph 0 is the main one. Its constants keep the file's bytes alive."""

    version: int
    description: str
    subgraphs: Sequence[Subgraph]
    signatures: Sequence[Signature] = ()
    metadata: Metadata = Metadata()

    @property
    def file(self) -> "File | None":
        """The verified rows that the subgraphs are views of; None if the model was made by hand."""
        return getattr(self.subgraphs, "file", None)

    @property
    def associated_files(self) -> Mapping[str, bytes]:
        """The files stored with the model, by name: labels, vocabularies; at most 1000 files of 64 MiB together.

        Raises: ModelFormatError.
        """
        return self.metadata.associated_files

    def __repr__(self) -> str:
        """A line, and a table of inputs and outputs."""
        from minilite.format.described import model_text  # which prints models

        return model_text(self)

    def _repr_html_(self) -> str:
        """HTML for notebooks: inputs, outputs, operators, associated files."""
        from minilite.format.described import model_html

        return model_html(self)


class _Text(str):
    """Text that a repr shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
