"""File: owns an ml_file, the verified rows of a .tflite file, and the bytes of the file that rows point to."""

from __future__ import annotations

import io
import os
import stat
from typing import Any, NamedTuple

from minilite import errors
from minilite._core import ffi, lib
from minilite._native import owned, raised
from minilite._native.status import fields_of, fresh_error, raise_error

Array = Any
Ints = tuple[int, ...]

_VARIABLE: int = lib.ML_ROW_VARIABLE
_HAS_RANK: int = lib.ML_ROW_HAS_RANK
_BLOCKWISE: int = lib.ML_ROW_BLOCKWISE
VALUE_BYTES: int = ffi.sizeof("ml_slot_value")
"""Bytes of the value of a slot: 8 for a number or position, 8 for the count of elements."""
_FILE = fields_of("ml_file", "description.at description.bytes n_operators n_subgraphs n_signatures n_metadata version")
_OPERATOR = fields_of("ml_operator_row", "op version table custom")
_SUBGRAPH = fields_of("ml_subgraph_row", "name.at name.bytes n_tensors n_nodes n_inputs n_outputs")
_TENSOR = fields_of(
    "ml_tensor_row",
    "bytes data_at name.at name.bytes quantization.n_scales quantization.n_zero_points quantization.dimension "
    "quantization.block_size sparsity_at type rank signature_rank scales_tensor zero_points_tensor flags",
)
_NODE = fields_of(
    "ml_node_row",
    "custom_options.at custom_options.bytes code op version n_inputs n_outputs n_intermediates n_options",
)
# Tuples, not classes, because one is made for every tensor and node that is looked at.
TensorRow = tuple[str, int, Ints, "Ints | None", Any, int, int, "tuple[Any, ...] | None", bool, int, bool]
"""Name, type, shape, signature; data, the offset of the values in it, and their bytes; quantization; whether it is a
variable; position of the SparsityParameters (0: dense); whether the rank is known. The data are those of the file or a
copy, None if computed; the quantization is scales, zero points, dimension, block size, tensor of scales, tensor of zero
points, or None."""
NodeRow = tuple[int, str, int, Ints, Ints, bytes, bool, bytes, Ints]
"""Operator code, name of a custom operator, version, inputs, outputs; options, VALUE_BYTES per slot; whether custom,
custom options, intermediates."""


IDENTIFIER = b"TFL3"
"""Bytes 4 to 7 of a file, the same as in _schema.py."""
MOST_READ = 4 << 30
"""The largest file, in bytes, that is read; larger ones have to be mapped."""
_SMALL = 1 << 16
"""Up to this many bytes, reading a file takes less time than mapping it, touching its pages and unmapping it."""
_PIECE = 1 << 20
"""Bytes that are read at once: signals are handled between two pieces."""


class Origin(NamedTuple):
    """The file on disk that a model was read from, as it was when it was opened."""

    path: str
    bytes: int
    modified: int
    """Its time of modification, in nanoseconds."""
    mapped: bool
    """True if the model's bytes are a mapping of it; False if they were read, or unpacked."""


Opened = tuple["memoryview | bytes", "Origin | None"]
"""The bytes of a file, and where they are from; None for a pipe and the like."""


def map_file(path: str | os.PathLike[str], *, any_kind: bool = False) -> Opened:
    """A file's bytes, read-only. The mapping ends with the last view of it; no descriptor stays open.

    Small files, and files that cannot be mapped, such as pipes, are read, as by `read_file`; with `any_kind` as a
    whole, whatever they begin like. Raises: OSError, ValueError for a path with a null byte, ModelFormatError.
    """
    with io.FileIO(path) as file:
        descriptor = file.fileno()
        about = os.fstat(descriptor)
        mapped = _mapped(descriptor, about.st_size)
        origin = _origin(path, about, mapped is not None)
        return _read(descriptor, about.st_size, any_kind) if mapped is None else mapped, origin


def read_file(path: str | os.PathLike[str]) -> Opened:
    """A copy of a file's bytes. If the file does not begin like a model, only its beginning is read, or it is mapped.

    Raises: OSError, ValueError for a path with a null byte, ModelFormatError for more than MOST_READ bytes.
    """
    with io.FileIO(path) as file:
        about = os.fstat(file.fileno())
        return _read(file.fileno(), about.st_size), _origin(path, about, mapped=False)


def _origin(path: str | os.PathLike[str], about: os.stat_result, mapped: bool) -> Origin | None:
    return Origin(os.fspath(path), about.st_size, about.st_mtime_ns, mapped) if stat.S_ISREG(about.st_mode) else None


def _mapped(descriptor: int, size: int) -> memoryview | None:
    """A mapping of the file; None for small files, and for files that cannot be mapped."""
    mapping = owned.empty("ml_mapping *", lib.ml_os_unmap_file)
    if size <= _SMALL or not lib.ml_os_map_file(mapping, descriptor, size):
        return None
    return memoryview(owned.buffer(mapping, int(ffi.cast("uintptr_t", mapping.data)), size)).toreadonly()


def _read(descriptor: int, size: int, any_kind: bool = False) -> memoryview | bytes:
    """The bytes of a file whose reported size is `size` (0 if unknown)."""
    found = os.read(descriptor, min(size, _SMALL) + 1)
    if len(found) == size != 0:
        return found
    data = bytearray(found)  # the file is larger, has changed meanwhile, or does not report its size
    while len(data) < 8 and (piece := os.read(descriptor, _SMALL)):
        data += piece
    if data[4:8] != IDENTIFIER and not any_kind:
        return _mapped(descriptor, size) or bytes(data)  # for the error, which describes the content
    while size <= MOST_READ and (piece := os.read(descriptor, _PIECE)):
        data += piece
        size = max(size, len(data))
    if size > MOST_READ:
        message = f"more than {MOST_READ} bytes are not read: a larger model has to be a file, opened with load='map'"
        raise errors.ModelFormatError(message)
    return memoryview(data).toreadonly()


class Store:
    """Owns an ml_store: weights packed for the inner loops, shared by all graphs of a Model."""

    def __init__(self) -> None:
        self._cell = owned.empty("ml_store **", lib.ml_store_end)
        error = fresh_error()
        if lib.ml_store_new(self._cell, error):
            raise_error(error, None)
        self.pointer: Any = self._cell[0]
        self.cache: Any = None
        """The PackedCache that keeps them in a file; None: they are not kept."""

    @property
    def bytes(self) -> int:
        """Bytes of all packed weights."""
        return int(lib.ml_store_bytes(self.pointer))


class File:
    """A verified file. `data` are its bytes; `rows` is the ml_file, for code that reads rows without making objects.

    Everything reached from `rows` (``rows.subgraphs[0].tensors[7].shape``, say) is valid as long as the File lives, and
    does not keep it alive.
    """

    __slots__ = (
        "_cell",
        "_description",
        "_pointer",
        "_store",
        "_view",
        "data",
        "n_metadata",
        "n_operators",
        "n_signatures",
        "n_subgraphs",
        "origin",
        "rows",
        "version",
    )

    def __init__(self, data: Array, origin: Origin | None = None) -> None:
        """Verifies `data`, a uint8 array. Raises: ModelFormatError, ArenaError."""
        self.data: Array = data
        self.origin: Origin | None = origin
        """The file that the bytes are from; None: they were given."""
        self._store: Store | None = None
        self._view = memoryview(data)
        self._pointer = ffi.from_buffer("uint8_t[]", data)
        self._cell, error = owned.empty("ml_file **", lib.ml_file_end), ffi.new("ml_file_error *")
        if status := lib.ml_file_new(self._pointer, len(data), self._cell, error):
            raise raised.exception_of_file(status, error, len(data))
        self.rows: Any = self._cell[0]
        at, size, *counts = _FILE.unpack(ffi.buffer(self.rows))
        self._description = at, size
        self.n_operators: int
        self.n_subgraphs: int
        self.n_signatures: int
        self.n_metadata: int
        self.version: int
        self.n_operators, self.n_subgraphs, self.n_signatures, self.n_metadata, self.version = counts

    @property
    def store(self) -> Store:
        """The store of weights packed from this file's constants, shared by all that run it."""
        if self._store is None:
            store = Store()
            if self.origin is not None and self.origin.mapped:
                lib.ml_store_map(store.pointer, self._pointer, len(self.data))
            self._store = store
        return self._store

    @property
    def description(self) -> str:
        """The model's description."""
        return self.text_at(*self._description)

    def text(self, span: Any) -> str:
        """A string of the file; bytes that are not UTF-8 read as replacement characters."""
        return self.text_at(span.at, span.bytes)

    def text_at(self, at: int, size: int) -> str:
        """The same, by position and length."""
        return str(self._view[at : at + size], "utf-8", "replace") if size else ""

    def operators(self) -> list[tuple[int, int, int, int]]:
        """Builtin operator, version, number of its options' table and whether custom, of every operator code."""
        count = self.n_operators
        if not count:
            return []
        return list(_OPERATOR.iter_unpack(ffi.buffer(self.rows.operators, count * _OPERATOR.size)))

    def span(self, at: int, size: int) -> bytes:
        """A copy of some bytes of the file."""
        return bytes(self._view[at : at + size])

    def signature(self, number: int) -> tuple[str, list[tuple[str, int]], list[tuple[str, int]], int]:
        """A signature's key, its inputs and outputs by name, its subgraph."""
        row = self.rows.signatures[number]
        inputs, outputs = (
            [(self.text(rows[i].name), rows[i].tensor) for i in range(count)]
            for rows, count in ((row.inputs, row.n_inputs), (row.outputs, row.n_outputs))
        )
        return self.text(row.key), inputs, outputs, row.subgraph

    def has_metadata(self, name: str) -> bool:
        """True if the file has metadata of that name."""
        return self.n_metadata > 0 and bool(lib.ml_file_has_metadata(self.rows, name.encode()))

    def metadata(self) -> list[tuple[str, bytes]]:
        """All entries of the metadata."""
        rows = (self.rows.metadata[i] for i in range(self.n_metadata))
        return [(self.text(row.name), self.span(row.data.at, row.data.bytes)) for row in rows]

    def subgraph(self, number: int) -> SubgraphRows:
        """The rows of a subgraph."""
        return SubgraphRows(self, self.rows.subgraphs + number)

    def read_table(self, table: int, slots: int, at: int) -> bytes:
        """The values of a table's slots, 16 bytes each. Raises: ModelFormatError."""
        values, error = ffi.new("ml_slot_value[]", slots), ffi.new("ml_file_error *")
        if status := lib.ml_file_read_table(self._pointer, len(self.data), table, at, values, error):
            raise raised.exception_of_file(status, error, len(self.data))
        return bytes(ffi.buffer(values))


class SubgraphRows:
    """The rows of a subgraph, read one by one as plain values."""

    __slots__ = (
        "_file",
        "_n_inputs",
        "_n_outputs",
        "_name",
        "_nodes",
        "_nodes_view",
        "_tensors",
        "_tensors_view",
        "n_nodes",
        "n_tensors",
        "rows",
    )

    def __init__(self, file: File, rows: Any) -> None:
        self.rows: Any = rows
        at, size, *counts = _SUBGRAPH.unpack(ffi.buffer(rows))
        self._name = at, size
        self.n_tensors: int
        self.n_nodes: int
        self.n_tensors, self.n_nodes, self._n_inputs, self._n_outputs = counts
        self._file = file
        self._tensors = rows.tensors
        self._nodes = rows.nodes
        self._tensors_view: Any = None  # made when a tensor is looked at
        self._nodes_view: Any = None

    def tensor(self, number: int) -> TensorRow:
        """A tensor's row."""
        if self._tensors_view is None:
            self._tensors_view = ffi.buffer(self._tensors, self.n_tensors * _TENSOR.size)
        (
            size, at, name_at, name_bytes, n_scales, n_zeros, dimension, block, sparsity_at, kind, rank, signature_rank,
            scales_tensor, zeros_tensor, flags,
        ) = _TENSOR.unpack_from(self._tensors_view, number * _TENSOR.size)  # fmt: skip
        row, file = self._tensors[number], self._file
        data: Any = None
        if at >= 0:
            data = file.data
        elif row.data:
            data, at = bytes(ffi.buffer(row.data, size)), 0
        quantization: Any = None
        if n_scales:
            held = row.quantization
            zeros = tuple(ffi.unpack(held.zero_points, n_zeros))
            zeros = zeros if n_zeros == n_scales else zeros * n_scales
            quantization = tuple(ffi.unpack(held.scales, n_scales)), zeros, dimension, 0, -1, -1
        elif flags & _BLOCKWISE:
            quantization = (), (), dimension, block, scales_tensor, zeros_tensor
        return (
            str(file._view[name_at : name_at + name_bytes], "utf-8", "replace"),
            kind,
            tuple(ffi.unpack(row.shape, rank)) if rank else (),
            None if signature_rank < 0 else tuple(ffi.unpack(row.signature, signature_rank)),
            data,
            at,
            size,
            quantization,
            flags & _VARIABLE != 0,
            sparsity_at,
            flags & _HAS_RANK != 0,
        )

    def node(self, number: int) -> NodeRow:
        """A node's row."""
        if self._nodes_view is None:
            self._nodes_view = ffi.buffer(self._nodes, self.n_nodes * _NODE.size)
        at, size, code, op, version, n_inputs, n_outputs, n_intermediates, n_options = _NODE.unpack_from(
            self._nodes_view, number * _NODE.size
        )
        row, file = self._nodes[number], self._file
        operator = file.rows.operators[code]
        custom = operator.custom
        return (
            op,
            file.text(operator.name) if custom else "",
            version,
            tuple(ffi.unpack(row.inputs, n_inputs)) if n_inputs else (),
            tuple(ffi.unpack(row.outputs, n_outputs)) if n_outputs else (),
            bytes(ffi.buffer(row.options, n_options * VALUE_BYTES)) if n_options else b"",
            custom != 0,
            file.span(at, size) if size else b"",
            tuple(ffi.unpack(row.intermediates, n_intermediates)) if n_intermediates else (),
        )

    @property
    def name(self) -> str:
        """The subgraph's name."""
        return self._file.text_at(*self._name)

    @property
    def inputs(self) -> Ints:
        """The subgraph's inputs."""
        return tuple(ffi.unpack(self.rows.inputs, self._n_inputs)) if self._n_inputs else ()

    @property
    def outputs(self) -> Ints:
        """The subgraph's outputs."""
        return tuple(ffi.unpack(self.rows.outputs, self._n_outputs)) if self._n_outputs else ()
