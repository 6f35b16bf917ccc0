"""Owning an ml_graph: the loading description packed into the structs of api.h."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from minilite._core import ffi, lib
from minilite._native.status import MAX_RANK, Names, exception_of, fresh_error, fresh_errors, raise_error
from minilite.errors import ArenaError, MiniliteError

Array = Any
Shape = tuple[int, ...]


def include_folder() -> str:
    """The folder of the headers that came with the core."""
    from pathlib import Path  # it takes long to import

    from minilite import _core

    return str(Path(_core.__file__).parent / "include")


class KernelInfo(NamedTuple):
    """A kernel's row: where it lies, its parameters' names and their struct layout."""

    pointer: Any
    address: int
    name: str
    fields: tuple[tuple[str, str], ...]
    layout: struct.Struct


_LAYOUT = {"i": "i", "q": "q", "f": "f", "d": "d", "a": "Pq"}


def _describe(pointer: Any) -> KernelInfo:
    info, error = ffi.new("ml_kernel_info *"), fresh_error()
    if lib.ml_kernel_describe(pointer, info, error):
        raise_error(error, None)
    fields = tuple(
        (ffi.string(info.fields[i].name).decode(), info.fields[i].kind.decode()) for i in range(info.n_fields)
    )
    layout = struct.Struct("@" + "".join(_LAYOUT[kind] for _, kind in fields))
    return KernelInfo(pointer, int(ffi.cast("uintptr_t", pointer)), ffi.string(info.name).decode(), fields, layout)


def find_kernel(name: str) -> KernelInfo | None:
    """The kernel of that name, or None."""
    pointer = lib.ml_kernel_find(name.encode())
    return _describe(pointer) if pointer else None


def kernel_at(address: int) -> KernelInfo:
    """A kernel compiled elsewhere, by the address of its row. Raises: ModelFormatError if it was made for another contract."""
    return _describe(ffi.cast("const ml_kernel *", address))


def kernel_names() -> tuple[str, ...]:
    """Every kernel that is built in."""
    names: list[str] = []
    while pointer := lib.ml_kernel_at(len(names)):
        names.append(_describe(pointer).name)
    return tuple(names)


def kernel_types(kernel: KernelInfo) -> tuple[tuple[str, bool], ...]:
    """The operand types of every row of a kernel's table, and whether it runs in C."""
    rows: list[tuple[str, bool]] = []
    has_eval = ffi.new("int32_t *")
    while types := lib.ml_kernel_types(kernel.pointer, len(rows), has_eval):
        rows.append((ffi.string(types).decode(), bool(has_eval[0])))
    return tuple(rows)


def match_kernel(kernel: KernelInfo, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """The row of the kernel's table that takes these types (-1 = absent), -1 if none does."""
    types = ffi.new("int32_t[]", [*inputs, *outputs] or 1)
    return int(lib.ml_kernel_match(kernel.pointer, types, len(inputs), len(outputs)))


def pack_params(kernel: KernelInfo, params: Mapping[str, Any], keep: list[Any]) -> bytes:
    """The bytes of a kernel's parameter struct; arrays are appended to `keep`, which must outlive the graph."""
    if len(params) != len(kernel.fields):
        expected = ", ".join(field for field, _ in kernel.fields)
        message = f"kernel {kernel.name} takes the parameters ({expected}), got ({', '.join(params)})"
        raise TypeError(message)
    values: list[Any] = []
    for field, kind in kernel.fields:
        value = params[field]
        if kind == "a":
            array = np.ascontiguousarray(value) if value is not None else None
            keep.append(array)
            values += (array.ctypes.data, array.nbytes) if array is not None and array.size else (0, 0)
        else:
            values.append(value)
    return kernel.layout.pack(*values)


class QuantizationDef(NamedTuple):
    """How a tensor's integers stand for reals, as ml_graph takes it; the arrays are kept by the graph."""

    scales: Array
    """float32"""
    zero_points: Array
    """int64"""
    dimension: int
    block_size: int = 0


class TensorDef(NamedTuple):
    """A tensor as ml_graph takes it."""

    data: Array | None
    type: int
    shape: Shape
    flags: int
    """TENSOR_VARIABLE, TENSOR_OF_FILE"""
    quantization: QuantizationDef | None = None
    offline_offset: int = -1
    """Where the file's own memory plan puts it; -1 = nowhere."""


class NodeDef(NamedTuple):
    """A node as ml_graph takes it."""

    kernel: int
    """Address of its row."""
    typed: int
    """Row of the kernel's table; -1 = it runs in Python."""
    flags: int
    index: int  # type: ignore[assignment]  # a field, not tuple.index
    handler: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    subgraphs: tuple[int, ...]
    params: bytes


class SubgraphDef(NamedTuple):
    """A subgraph as ml_graph takes it."""

    tensors: Sequence[TensorDef]
    nodes: Sequence[NodeDef]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


_TENSOR = struct.Struct("@Pqii" + "i" * (1 + lib.ML_MAX_RANK) + "iq")
_NODE = struct.Struct("@P8iq")
_QUANTIZATION = struct.Struct("@PPiiii")
_SUBGRAPH = struct.Struct("@6i")
_PAD = [(0,) * n for n in range(MAX_RANK + 1)]


def _pack_quantization(q: QuantizationDef) -> bytes:
    return _QUANTIZATION.pack(
        q.scales.ctypes.data, q.zero_points.ctypes.data, len(q.scales), len(q.zero_points), q.dimension, q.block_size
    )


def level_names() -> tuple[str, ...]:
    """The levels of instructions that this machine has in this build, ascending."""
    names: list[str] = []
    while simd := lib.ml_simd_at(len(names)):
        names.append(ffi.string(simd.level).decode())
    return tuple(names)


def choose_level(mask: str | None) -> Any:
    """The level named by `mask`, or the best there is. Raises: InputError for names of none that is there."""
    out, error = ffi.new("const ml_simd **"), fresh_error()
    if lib.ml_simd_choose(ffi.NULL if mask is None else mask.encode(), out, error):
        raise_error(error, None)
    return out[0]


class Store:
    """Owns an ml_store: weights packed for the inner loops, shared by all graphs of a Model."""

    def __init__(self) -> None:
        pointer = lib.ml_store_new()
        if not pointer:
            message = "no memory for a store of packed weights"
            raise ArenaError(message)
        self.pointer = ffi.gc(pointer, lib.ml_store_free)

    @property
    def bytes(self) -> int:
        """Bytes of all packed weights."""
        return int(lib.ml_store_bytes(self.pointer))


class _Packer:
    """The loading description as the arrays of structs that C copies."""

    def __init__(self) -> None:
        self.tensors, self.nodes, self.heads = bytearray(), bytearray(), bytearray()
        self.quantizations, self.params = bytearray(), bytearray()
        self.io: list[int] = []

    def subgraph(self, subgraph: SubgraphDef) -> None:
        starts = len(self.io), len(self.io) + len(subgraph.inputs)
        self.io += (*subgraph.inputs, *subgraph.outputs)
        self.heads += _SUBGRAPH.pack(
            len(subgraph.tensors), len(subgraph.nodes),
            starts[0], len(subgraph.inputs), starts[1], len(subgraph.outputs),
        )  # fmt: skip
        for tensor in subgraph.tensors:
            self.tensor(tensor)
        for node in subgraph.nodes:
            self.node(node)

    def tensor(self, tensor: TensorDef) -> None:
        data, kind, shape, flags, quantization, offline = tensor
        address, size = (data.__array_interface__["data"][0], data.nbytes) if data is not None else (0, 0)
        rank, number = len(shape), -1
        if quantization is not None:
            number = len(self.quantizations) // _QUANTIZATION.size
            self.quantizations += _pack_quantization(quantization)
        self.tensors += _TENSOR.pack(address, size, kind, flags, rank, *shape, *_PAD[MAX_RANK - rank], number, offline)

    def node(self, node: NodeDef) -> None:
        self.nodes += _NODE.pack(
            node.kernel, node.typed, node.flags, node.index, node.handler,
            len(self.io), len(node.inputs), len(node.outputs), len(node.subgraphs), len(self.params),
        )  # fmt: skip
        self.io += (*node.inputs, *node.outputs, *node.subgraphs)
        self.params += node.params
        self.params += bytes(-len(self.params) % 16)

    def definition(self, resources: int, root: int, store: Store, level: Any) -> tuple[Any, Any]:
        """The ml_graph_def, and what has to live as long as it is read."""
        assert _TENSOR.size == ffi.sizeof("ml_tensor_def")
        assert _NODE.size == ffi.sizeof("ml_node_def")
        assert _QUANTIZATION.size == ffi.sizeof("ml_quantization")
        io = ffi.new("int32_t[]", self.io or 1)
        rows = {
            "subgraphs": ffi.cast("ml_subgraph_def *", ffi.from_buffer(self.heads)),
            "tensors": ffi.cast("ml_tensor_def *", ffi.from_buffer(self.tensors)),
            "nodes": ffi.cast("ml_node_def *", ffi.from_buffer(self.nodes)),
            "quantizations": ffi.cast("ml_quantization *", ffi.from_buffer(self.quantizations)),
            "params": ffi.cast("uint8_t *", ffi.from_buffer(self.params)),
        }
        counts = {
            "params_bytes": len(self.params),
            "n_io": len(self.io),
            "n_subgraphs": len(self.heads) // _SUBGRAPH.size,
            "n_quantizations": len(self.quantizations) // _QUANTIZATION.size,
        }
        fields = {
            **rows,
            **counts,
            "io": io,
            "store": store.pointer,
            "simd": level,
            "n_resources": resources,
            "root": root,
        }
        return ffi.new("ml_graph_def *", fields), io


def _refusals(definition: Any, nodes: int, names: Names) -> list[MiniliteError]:
    """The errors of all nodes that C refuses."""
    errors = fresh_errors(max(nodes, 1))
    lib.ml_graph_new(definition, ffi.new("ml_graph **"), errors, len(errors))
    return [exception_of(error, names) for error in errors if error.status]


class Graph:
    """Owns an ml_graph and whatever its constants and packed weights lie in."""

    def __init__(
        self,
        subgraphs: Sequence[SubgraphDef],
        resources: int,
        root: int,
        keep: Iterable[Any],
        names: Names,
        store: Store,
        level: Any,
    ) -> None:
        packer = _Packer()
        for subgraph in subgraphs:
            packer.subgraph(subgraph)
        definition, _io = packer.definition(resources, root, store, level)
        out = ffi.new("ml_graph **")
        error = fresh_error()
        if lib.ml_graph_new(definition, out, error, 1):
            if error.status == lib.ML_UNSUPPORTED:
                raise names.gathered(_refusals(definition, sum(len(s.nodes) for s in subgraphs), names))
            raise_error(error, names)
        self.pointer = ffi.gc(out[0], lib.ml_graph_free)
        self.names = names
        self.n_tensors = len(subgraphs[root].tensors)
        self._keep = [keep, subgraphs]
