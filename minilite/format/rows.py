"""Views of a verified file's rows as the values of a Model; each value is made when it is first looked at, and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from minilite.errors import shortened
from minilite.format.dtypes import TensorType, element_bits, numpy_type
from minilite.format.metadata import Metadata
from minilite.format.model import Model, Node, Signature, Subgraph, Tensor
from minilite.format.quantization import NOT_QUANTIZED, Quantization
from minilite.late import Later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minilite._native.file import File, SubgraphRows
    from minilite.format import associated, tables
    from minilite.format.model import Array

else:
    associated = Later("minilite.format.associated")
    tables = Later("minilite.format.tables")

_T = TypeVar("_T")
_Argument = tuple[str, int]
"""An input or output of a signature: its name, its tensor."""
_TYPES = tuple(TensorType)
_BYTES = np.dtype(np.uint8)


def _dtype(kind: TensorType) -> np.dtype[Any] | None:
    """The numpy dtype of a type; None for types that numpy does not have, whose constants are raw bytes."""
    dtype, bits = np.dtype(numpy_type(kind)), element_bits(kind)
    return dtype if bits and bits == 8 * dtype.itemsize else None


_DTYPES = tuple(map(_dtype, _TYPES))


class Rows(Sequence[_T]):
    """A sequence whose elements are made from rows when they are looked at. It equals any sequence of equal
    elements."""

    __slots__ = ("_made",)

    _made: list[_T | None]
    """The elements made so far; None for the others."""

    def _make(self, number: int) -> _T:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[_T, ...]: ...
    def __getitem__(self, index: int | slice) -> _T | tuple[_T, ...]:
        made = self._made[index]
        if isinstance(index, slice):
            return tuple([self[number] for number in range(*index.indices(len(self._made)))])
        if made is None:
            made = self._made[index] = self._make(index if index >= 0 else index + len(self._made))
        return made  # type: ignore[return-value]  # what is no slice gives one element

    def __iter__(self) -> Iterator[_T]:
        for number, made in enumerate(self._made):
            yield self[number] if made is None else made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | list | Rows):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{len(self)} {type(self).__name__.lower()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


class TablesOf:
    """A file's Tables, made when they are first needed; most models run without them."""

    __slots__ = ("_file", "_made")

    def __init__(self, file: File) -> None:
        self._file = file
        self._made: tables.Tables | None = None

    def __call__(self) -> tables.Tables:
        """The Tables, the same ones each time."""
        if self._made is None:
            self._made = tables.Tables(self._file)
        return self._made


class Tensors(Rows[Tensor]):
    """The tensors of a subgraph."""

    __slots__ = ("_rows", "_tables")

    def __init__(self, rows: SubgraphRows, tables_of: TablesOf) -> None:
        self._made = [None] * rows.n_tensors
        self._rows = rows
        self._tables = tables_of

    def _make(self, number: int) -> Tensor:
        (name, code, shape, signature, data, at, size, quantization, variable, sparsity_at, has_rank) = (
            self._rows.tensor(number)
        )
        array: Array | None = None
        if data is not None:
            dtype = _DTYPES[code]
            raw = dtype is None or sparsity_at
            array = _array((size,) if raw else shape, _BYTES if dtype is None or raw else dtype, data, at)
        values = (
            number,
            name,
            _TYPES[code],
            shape,
            signature,
            array,
            NOT_QUANTIZED if quantization is None else Quantization(*quantization),
            variable,
            self._tables().table("SparsityParameters", sparsity_at) if sparsity_at else None,
            has_rank,
        )
        return Tensor._make(values)


def _array(shape: tuple[int, ...], dtype: np.dtype[Any], data: Array | bytes, start: int) -> Array:
    """A read-only array on read-only bytes."""
    if 0 in shape:  # numpy refuses an empty array at the end of its buffer
        array: Array = np.empty(shape, dtype)
        array.flags.writeable = False
        return array
    return np.ndarray(shape, dtype, data, start)


class Nodes(Rows[Node]):
    """The nodes of a subgraph."""

    __slots__ = ("_rows", "_tables")

    def __init__(self, rows: SubgraphRows, tables_of: TablesOf) -> None:
        self._made = [None] * rows.n_nodes
        self._rows = rows
        self._tables = tables_of

    def _make(self, number: int) -> Node:
        code, name, version, inputs, outputs, values, custom, payload, intermediates = self._rows.node(number)
        op = name if custom else tables.operator_name(code)
        table = None if custom else tables.options_table(op)
        options = self._tables().options(table.table, values) if table is not None else {}
        return Node._make((number, op, version, inputs, outputs, options, custom, payload, intermediates))


class Subgraphs(Rows[Subgraph]):
    """The subgraphs of a file."""

    __slots__ = ("_tables", "file")

    def __init__(self, file: File) -> None:
        self._made = [None] * file.n_subgraphs
        self.file: File = file
        self._tables = TablesOf(file)

    def _make(self, number: int) -> Subgraph:
        rows = self.file.subgraph(number)
        tensors, nodes = Tensors(rows, self._tables), Nodes(rows, self._tables)
        return Subgraph._make((number, rows.name, tensors, rows.inputs, rows.outputs, nodes))


class Signatures(Rows[Signature]):
    """The signatures of a file."""

    __slots__ = ("_file",)

    def __init__(self, file: File) -> None:
        self._made = [None] * file.n_signatures
        self._file = file

    def _make(self, number: int) -> Signature:
        key, inputs, outputs, subgraph = self._file.signature(number)
        broken = self._fault(inputs, outputs, subgraph)
        where = f"signature {number} ('{shortened(key)}'): "
        return Signature(key, dict(inputs), dict(outputs), subgraph, f"{where}{broken}" if broken else "")

    def _fault(self, inputs: Sequence[_Argument], outputs: Sequence[_Argument], subgraph: int) -> str:
        """The reason why a signature cannot be used; empty if it can."""
        if subgraph >= self._file.n_subgraphs:
            return f"SignatureDef.subgraph_index is {subgraph}, the model has {self._file.n_subgraphs} subgraphs"
        tensors = self._file.subgraph(subgraph).n_tensors
        for what, arguments in (("inputs", inputs), ("outputs", outputs)):
            seen = set[str]()
            for name, tensor in arguments:
                if tensor >= tensors:
                    return (
                        f"TensorMap.tensor_index of '{shortened(name)}' is {tensor}, the subgraph has {tensors} tensors"
                    )
                if name in seen:
                    return f"it has several {what} called '{shortened(name)}'"
                seen.add(name)
        return ""


class FileMetadata(Metadata):
    """A file's metadata, copied when it is first looked at; and associated files, unpacked when they are."""

    __slots__ = ("_file",)

    def __init__(self, file: File) -> None:
        self._file = file
        self._entries = self._files = self._about = None

    def _all(self) -> Mapping[str, bytes]:
        if self._entries is None:
            self._entries = dict(self._file.metadata())
        return self._entries

    def __contains__(self, name: object) -> bool:
        """True if there is metadata of that name; copies nothing."""
        if self._entries is None and isinstance(name, str):
            return self._file.has_metadata(name)
        return name in self._all()

    @property
    def associated_files(self) -> Mapping[str, bytes]:
        """The files stored with the model, by name. Raises: ModelFormatError."""
        if self._files is None:
            self._files = associated.read_associated_files(self._file.data)
        return self._files


def model_of(file: File) -> Model:
    """The Model in a file."""
    found = file.version, file.description, Subgraphs(file), Signatures(file), FileMetadata(file)
    return Model._make(found)
