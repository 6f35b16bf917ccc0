"""Lowering and Graph: own what is made once per model, an ml_lowering and an ml_graph."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite import errors
from minilite._core import ffi, lib
from minilite._native import owned, raised
from minilite._native.status import MAX_RANK, fresh_error, fresh_errors, raise_error

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from minilite._native.file import File, Store
    from minilite._native.kernels import KernelInfo
    from minilite._native.raised import Names

Array = Any
Shape = tuple[int, ...]


_NONE = ffi.NULL


def choose_level(mask: str | None) -> Any:
    """The level named by `mask`, or the highest one. Raises: InputError for a level that this machine does not have."""
    out, error = ffi.new("const ml_simd **"), fresh_error()
    if lib.ml_simd_choose(ffi.NULL if mask is None else mask.encode(), out, error):
        raise_error(error, None)
    return out[0]


def _flagged(file: File, callers: Container[str]) -> Any:
    """A byte per operator code of the file: 1 for custom operators with these names."""
    rows = file.rows
    if not callers:
        return ffi.NULL
    names = [
        file.text(code.name) if code.custom else "" for code in (rows.operators[i] for i in range(rows.n_operators))
    ]
    return ffi.new("uint8_t[]", [name in callers for name in names] or 1)


class Lowering:
    """Owns an ml_lowering. Its tensors may be changed until a graph is made of it."""

    def __init__(
        self,
        file: File,
        level: Any,
        callers: Container[str] = (),
        *,
        reference: bool = False,
        most_dense: int = sys.maxsize,
    ) -> None:
        """`callers` are the names of custom operators that the caller runs, even if there are rows for them;
        `most_dense` limits the bytes that dense forms of sparse constants may take, all together."""
        self._cell, error = owned.empty("ml_lowering **", lib.ml_lowering_end), fresh_error()
        if lib.ml_lowering_new(
            file.rows, file.store.pointer, level, _flagged(file, callers), reference, self._cell, error
        ):
            raise_error(error, None)
        self.pointer: Any = self._cell[0]
        self.pointer.dense_left = most_dense
        self.file = file
        self._kept: list[Any] = []
        self._starts: list[tuple[int, int]] | None = None

    def run(self) -> bool:
        """Lowers nodes until one needs the caller, or all are done. Returns whether something is left to do or to
        report."""
        error = fresh_error()
        low = self.pointer
        if lib.ml_lowering_run(low, error):
            raise_error(error, None)
        return bool(low.need or low.n_refused or low.n_deep)

    @property
    def need(self) -> int:
        """The need of the node at which lowering stopped: NEEDS_NODE, NEEDS_DENSE, NEEDS_VALUES; 0: nothing."""
        return int(self.pointer.need)

    @property
    def place(self) -> tuple[int, int]:
        """Subgraph and number of the node at which lowering stopped."""
        return self.pointer.subgraph, self.pointer.node

    def put(
        self,
        kernel: KernelInfo,
        typed: int,
        flags: int,
        params: bytes,
        subgraphs: Sequence[int],
        keep: Iterable[Any],
    ) -> None:
        """Gives the result for the node at which lowering stopped; `keep` holds what its parameters point to."""
        self._kept += keep
        numbers, error = ffi.new("int32_t[]", list(subgraphs) or 1), fresh_error()
        bytes_of = ffi.from_buffer(params) if params else ffi.NULL
        if lib.ml_lowering_put(self.pointer, kernel.pointer, typed, flags, bytes_of, numbers, len(subgraphs), error):
            raise_error(error, None)

    def skip(self) -> None:
        """Leaves out the node at which lowering stopped."""
        lib.ml_lowering_skip(self.pointer)

    def refused(self) -> Iterator[tuple[int, int, str]]:
        """Subgraph, number and reason of each node that C refused; the reason is empty if the number or the types of
        operands are wrong."""
        for i in range(self.pointer.n_refused):
            error = self.pointer.refused[i]
            yield error.subgraph, error.node, ffi.string(error.text).decode(errors="replace")

    @property
    def dense_left(self) -> int:
        """Bytes that dense forms of sparse constants may still take."""
        return int(self.pointer.dense_left)

    @dense_left.setter
    def dense_left(self, count: int) -> None:
        self.pointer.dense_left = count

    @property
    def resources(self) -> int:
        """The number of resources (variables and tables) that C has found."""
        return int(self.pointer.description.n_resources)

    @functools.cached_property
    def resource_keys(self) -> tuple[tuple[str, tuple[bytes, ...], int], ...]:
        """The keys of the model's resources, by number: the operator that makes a handle, and the names or the number
        in it."""
        found = []
        for number in range(self.resources):
            row = lib.ml_lowering_resource(self.pointer, number)
            names = tuple(bytes(ffi.buffer(each.data, each.bytes)) for each in row.names)
            found.append((ffi.string(row.op).decode(), names, int(row.number)))
        return tuple(found)

    @functools.cached_property
    def resource_names(self) -> tuple[str, ...]:
        """The names of the model's resources, by number: ``VAR_HANDLE name``, with its container if it has one."""
        return tuple(
            f"{op} {'/'.join(name.decode(errors='replace') for name in names if name) or number}"
            for op, names, number in self.resource_keys
        )

    def keeping(self, subgraph: int) -> set[int]:
        """The numbers of a subgraph's nodes whose outputs may depend on earlier runs: they, or nodes of subgraphs that
        they call, have memory, variables or resources."""
        callers: dict[int, list[tuple[int, int]]] = {}
        waiting: list[tuple[int, int]] = []
        for number in range(self.pointer.description.n_subgraphs):
            first = self._start(number)[0]
            for node in self.nodes(number):
                place = number, node.index
                for called in self.called(node):
                    callers.setdefault(called, []).append(place)
                if lib.ml_lowering_keeps(self.pointer, first, ffi.addressof(node)):
                    waiting.append(place)
        found = set()
        while waiting:
            number, index = waiting.pop()
            waiting += callers.pop(number, [])
            if number == subgraph:
                found.add(index)
        return found

    def called(self, node: Any) -> list[int]:
        """The subgraphs that an ml_node_def runs; they may run others."""
        start = node.io_start + node.n_inputs + node.n_outputs
        return list(self.pointer.description.io[start : start + node.n_subgraphs])

    @property
    def too_many_dimensions(self) -> bool:
        """True if some tensor has more dimensions than MAX_RANK."""
        return bool(self.pointer.n_deep)

    def _start(self, subgraph: int) -> tuple[int, int]:
        """The numbers of a subgraph's first tensor and first node, numbered on through all subgraphs."""
        if self._starts is None:
            starts, tensors, nodes = [], 0, 0
            for number in range(self.pointer.description.n_subgraphs):
                rows = self.file.rows.subgraphs[number]
                starts.append((tensors, nodes))
                tensors, nodes = tensors + rows.n_tensors, nodes + rows.n_nodes
            self._starts = starts
        return self._starts[subgraph]

    def place_of(self, handler: int) -> tuple[int, int]:
        """Subgraph and number of the node that has this number in C."""
        self._start(0)
        assert self._starts is not None
        subgraph = max(g for g, (_, first) in enumerate(self._starts) if first <= handler)
        return subgraph, handler - self._starts[subgraph][1]

    def tensor(self, subgraph: int, number: int) -> Any:
        """A tensor's ml_tensor_def."""
        return self.pointer.tensors[self._start(subgraph)[0] + number]

    def made(self, subgraph: int, number: int, dtype: Any) -> Array:
        """The values of a constant that C has made of another one, read-only; they keep the lowering alive."""
        tensor = self.tensor(subgraph, number)
        shape = tuple(tensor.shape.dims[0 : tensor.shape.rank])
        if not tensor.bytes:
            return np.zeros(shape, dtype)
        address = int(ffi.cast("uintptr_t", tensor.data))
        flat = np.frombuffer(memoryview(owned.buffer(self, address, tensor.bytes)).toreadonly(), dtype)
        return flat.reshape(shape)

    def set_constant(self, subgraph: int, number: int, value: Array) -> None:
        """Makes a tensor a constant with the shape and the bytes of the array, which is kept alive."""
        if value.ndim > MAX_RANK:  # its tensor's shape is refused too
            return
        self._kept.append(value)
        tensor = self.tensor(subgraph, number)
        tensor.data = ffi.cast("void *", value.__array_interface__["data"][0])
        tensor.bytes = value.nbytes
        tensor.shape.rank = value.ndim
        tensor.shape.dims[0 : value.ndim] = value.shape
        tensor.flags &= ~(lib.ML_TENSOR_OF_FILE | lib.ML_TENSOR_SPARSE)

    def nodes(self, subgraph: int) -> list[Any]:
        """The ml_node_def of every node that is left in a subgraph."""
        description = self.pointer.description
        first = sum(description.subgraphs[number].n_nodes for number in range(subgraph))
        return [description.nodes[first + i] for i in range(description.subgraphs[subgraph].n_nodes)]

    def reordered(self, subgraph: int, order: Sequence[int]) -> Any:
        """A copy of all ml_node_defs, those of one subgraph in another order."""
        description = self.pointer.description
        counts = [description.subgraphs[number].n_nodes for number in range(description.n_subgraphs)]
        first, copy = sum(counts[:subgraph]), ffi.new("ml_node_def[]", sum(counts) or 1)
        ffi.memmove(copy, description.nodes, sum(counts) * ffi.sizeof("ml_node_def"))
        for position, number in enumerate(order):
            copy[first + position] = description.nodes[first + number]
        return copy

    def operands(self, node: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The tensor numbers of an ml_node_def's inputs and outputs."""
        io, middle = self.pointer.description.io, node.io_start + node.n_inputs
        return tuple(io[node.io_start : middle]), tuple(io[middle : middle + node.n_outputs])


def _refusals(description: Any, names: Names) -> list[errors.MiniliteError]:
    """The errors of all nodes that C has refused."""
    nodes = sum(description.subgraphs[number].n_nodes for number in range(description.n_subgraphs))
    errors = fresh_errors(max(nodes, 1))
    lib.ml_graph_new(description, owned.empty("ml_graph **", lib.ml_graph_end), errors, len(errors))
    return [raised.exception_of(error, names) for error in errors if error.status]


class Memory(NamedTuple):
    """Bytes that a kernel keeps from run to run, in a snapshot's row of all of them."""

    node: int
    """The number, in the file, of the main subgraph's node that has it, or runs the subgraph of the node that has."""
    start: int
    bytes: int


class Graph:
    """Owns an ml_graph and the ml_family of its sizes, and keeps alive what the graph was made from, which holds its
    constants."""

    def __init__(
        self,
        lowering: Lowering,
        root: int,
        resources: int,
        names: Names,
        store: Store,
        level: Any,
        order: Sequence[int] | None = None,
        *,
        fuses: bool = False,
        larger_bytes: int = 0,
        fast_convolutions: bool = False,
    ) -> None:
        """The graph whose main subgraph is `root`; `order` has the positions of its nodes in the order of execution.

        `fuses` allows fusing nodes, which hides the tensors between them; `larger_bytes` is what weights may take in
        larger forms, which are faster; `fast_convolutions` lets those of floats round more.
        """
        description = ffi.new("ml_graph_def *", lowering.pointer.description)
        description.store, description.simd = store.pointer, level
        description.n_resources, description.root, description.fuses = resources, root, fuses
        description.larger_bytes, description.fast_convolutions = larger_bytes, fast_convolutions
        nodes = None if order is None else lowering.reordered(root, order)
        if nodes is not None:
            description.nodes = nodes
        self._cell, error = owned.empty("ml_graph **", lib.ml_graph_end), fresh_error()
        if lib.ml_graph_new(description, self._cell, error, 1):
            if error.status == lib.ML_UNSUPPORTED:
                raise names.gathered(_refusals(description, names))
            raise_error(error, names)
        self._family = owned.empty("ml_family **", lib.ml_family_end)
        if lib.ml_family_new(self._cell[0], self._family, error):
            raise_error(error, names)
        self.pointer: Any = self._cell[0]
        self.family: Any = self._family[0]
        self.names = names
        self.n_tensors: int = description.subgraphs[root].n_tensors
        self._keep = lowering

    def memories(self) -> list[Memory]:
        """The bytes that kernels keep from run to run, in their order in a snapshot."""
        room = lib.ml_graph_memories(self.pointer, ffi.NULL, 0)
        rows = ffi.new("ml_memory_row[]", max(room, 1))
        lib.ml_graph_memories(self.pointer, rows, room)
        return [Memory(row.node, row.start, row.bytes) for row in rows[0:room]]

    def params(self, position: int) -> Any:
        """The bytes of the parameters of a node of the main frame, in the layout of its kernel."""
        count = ffi.new("int32_t *")
        address = lib.ml_graph_params(self.pointer, position, count)
        return ffi.buffer(ffi.cast("char *", address), count[0]) if count[0] else b""

    def count_tensors(self, subgraph: int) -> int:
        """The number of tensors of a subgraph."""
        return int(self._keep.pointer.description.subgraphs[subgraph].n_tensors)

    def count_nodes(self, subgraph: int) -> int:
        """The number of nodes of a subgraph after lowering."""
        return int(self._keep.pointer.description.subgraphs[subgraph].n_nodes)
