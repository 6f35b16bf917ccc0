"""Owning an ml_graph; the kernels that its nodes run, and their parameters."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite._core import ffi, lib
from minilite._native.status import exception_of, fresh_error, fresh_errors, raise_error
from minilite.errors import ArenaError, MiniliteError
from minilite.light import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minilite._native.lowering import Lowering
    from minilite._native.status import Names

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
        self.pointer: Any = ffi.gc(pointer, lib.ml_store_free)

    @property
    def bytes(self) -> int:
        """Bytes of all packed weights."""
        return int(lib.ml_store_bytes(self.pointer))


def _refusals(description: Any, names: Names) -> list[MiniliteError]:
    """The errors of all nodes that C refuses."""
    nodes = sum(description.subgraphs[number].n_nodes for number in range(description.n_subgraphs))
    errors = fresh_errors(max(nodes, 1))
    lib.ml_graph_new(description, ffi.new("ml_graph **"), errors, len(errors))
    return [exception_of(error, names) for error in errors if error.status]


class Graph:
    """Owns an ml_graph, and what it was made of: its constants lie there."""

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
    ) -> None:
        """The graph whose main subgraph is `root`; `order` gives the positions of its nodes as they are to run.

        `fuses` lets nodes become part of others, which hides the tensors between them.
        """
        description = ffi.new("ml_graph_def *", lowering.pointer.description)
        description.store, description.simd = store.pointer, level
        description.n_resources, description.root, description.fuses = resources, root, fuses
        nodes = None if order is None else lowering.reordered(root, order)
        if nodes is not None:
            description.nodes = nodes
        out = ffi.new("ml_graph **")
        error = fresh_error()
        if lib.ml_graph_new(description, out, error, 1):
            if error.status == lib.ML_UNSUPPORTED:
                raise names.gathered(_refusals(description, names))
            raise_error(error, names)
        self.pointer: Any = ffi.gc(out[0], lib.ml_graph_free)
        self.names = names
        self.n_tensors: int = description.subgraphs[root].n_tensors
        self._keep = lowering
