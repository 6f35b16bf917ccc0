"""Owning an ml_graph: the loading description packed into the structs of api.h."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from minilite._core import ffi, lib
from minilite._native.status import MAX_RANK, Names, fresh_error, raise_error

Array = Any
Shape = tuple[int, ...]


class KernelInfo(NamedTuple):
    """What packing needs of a C kernel: its number, its parameters' names and their struct layout."""

    number: int
    fields: tuple[tuple[str, str], ...]
    layout: struct.Struct
    has_eval: bool


_LAYOUT = {"i": "i", "q": "q", "f": "f", "d": "d", "a": "Pq"}


def find_kernel(name: str) -> KernelInfo | None:
    """The C kernel of that name, or None."""
    number = lib.ml_kernel_find(name.encode())
    if number < 0:
        return None
    info = lib.ml_kernel_get_info(number)
    fields = tuple(
        (ffi.string(info.fields[i].name).decode(), info.fields[i].kind.decode()) for i in range(info.n_fields)
    )
    # "0P" pads to the alignment of the largest member, as C does.
    layout = struct.Struct("@" + "".join(_LAYOUT[kind] for _, kind in fields))
    return KernelInfo(number, fields, layout, bool(info.has_eval))


def pack_params(kernel: KernelInfo, name: str, params: Mapping[str, Any], keep: list[Any]) -> bytes:
    """The bytes of a kernel's parameter struct; arrays are appended to `keep`, which must outlive the graph."""
    if len(params) != len(kernel.fields):
        expected = ", ".join(field for field, _ in kernel.fields)
        message = f"kernel {name} takes the parameters ({expected}), got ({', '.join(params)})"
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


class TensorDef(NamedTuple):
    """A tensor as ml_graph takes it."""

    data: Array | None
    type: int
    shape: Shape
    variable: bool
    offline_offset: int = -1
    """Where the file's own memory plan puts it; -1 = nowhere."""


class NodeDef(NamedTuple):
    """A node as ml_graph takes it."""

    kernel: int
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
_NODE = struct.Struct("@iiiiiiiiiiq")
_SUBGRAPH = struct.Struct("@6i")
_PAD = [(0,) * n for n in range(MAX_RANK + 1)]


class Graph:
    """Owns an ml_graph and whatever its constants and packed weights lie in."""

    def __init__(
        self, subgraphs: Sequence[SubgraphDef], resources: int, root: int, keep: Iterable[Any], names: Names
    ) -> None:
        tensors, nodes, heads = bytearray(), bytearray(), bytearray()
        io: list[int] = []
        params = bytearray()
        for subgraph in subgraphs:
            inputs_start = len(io)
            io += subgraph.inputs
            outputs_start = len(io)
            io += subgraph.outputs
            heads += _SUBGRAPH.pack(
                len(subgraph.tensors), len(subgraph.nodes),
                inputs_start, len(subgraph.inputs), outputs_start, len(subgraph.outputs),
            )  # fmt: skip
            for data, kind, shape, variable, offline in subgraph.tensors:
                address, size = (data.__array_interface__["data"][0], data.nbytes) if data is not None else (0, 0)
                rank = len(shape)
                tensors += _TENSOR.pack(address, size, kind, variable, rank, *shape, *_PAD[MAX_RANK - rank], 0, offline)
            for node in subgraph.nodes:
                called = (*node.subgraphs, -1, -1)[:2]
                nodes += _NODE.pack(
                    node.kernel, node.flags, node.index, node.handler,
                    len(io), len(node.inputs), len(node.outputs), *called, 0, len(params),
                )  # fmt: skip
                io += node.inputs
                io += node.outputs
                params += node.params
                params += bytes(-len(params) % 16)
        assert _TENSOR.size == ffi.sizeof("ml_tensor_def")
        assert _NODE.size == ffi.sizeof("ml_node_def")
        io_array = ffi.new("int32_t[]", io or 1)
        definition = ffi.new(
            "ml_graph_def *",
            {
                "subgraphs": ffi.cast("ml_subgraph_def *", ffi.from_buffer(heads)),
                "tensors": ffi.cast("ml_tensor_def *", ffi.from_buffer(tensors)),
                "nodes": ffi.cast("ml_node_def *", ffi.from_buffer(nodes)),
                "io": io_array,
                "params": ffi.cast("uint8_t *", ffi.from_buffer(params)),
                "params_bytes": len(params),
                "n_io": len(io),
                "n_subgraphs": len(subgraphs),
                "n_resources": resources,
                "root": root,
            },
        )
        out = ffi.new("ml_graph **")
        error = fresh_error()
        if lib.ml_graph_new(definition, out, error):
            raise_error(error, names)
        self.pointer = ffi.gc(out[0], lib.ml_graph_free)
        self.names = names
        self.n_tensors = len(subgraphs[root].tensors)
        self._keep = [keep, subgraphs]
