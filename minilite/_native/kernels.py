"""Kernels and their parameters, and the answers that Python gives to kinds of nodes: few models need them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite._core import ffi, lib
from minilite._native.status import fresh_error, raise_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


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
FOLDS: int = lib.ML_TRAIT_FOLDS
FOLLOWS: int = lib.ML_TRAIT_FOLLOWS
TRAITS: dict[str, int] = {
    "node": 0,
    "kind": lib.ML_TRAIT_KIND,
    "model": lib.ML_TRAIT_KIND,
    "ratio": lib.ML_TRAIT_KIND | lib.ML_TRAIT_RATIO,
    "scales": lib.ML_TRAIT_KIND | lib.ML_TRAIT_SCALES,
}
"""What lowering an operator's nodes hangs on, by the words of operators' rows."""


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
    """A kernel compiled elsewhere, by the address of its row. Raises: ModelFormatError if it was made for another
    contract."""
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


class Answer:
    """What the nodes of a kind lower to. It never changes, and belongs to no model."""

    __slots__ = ("_kept", "pointer", "python")

    def __init__(
        self, kernel: Any, typed: int, flags: int, params: bytes, subgraphs: Sequence[int], keep: Iterable[Any]
    ) -> None:
        values, numbers = ffi.new("char[]", params), ffi.new("int32_t[]", list(subgraphs) or 1)
        self._kept: tuple[Any, ...] = (values, numbers, *keep)
        self.python: bool = bool(flags & lib.ML_NODE_PYTHON)
        """Its nodes run in Python."""
        fields = (kernel, values, numbers, len(params), len(subgraphs), typed, flags)
        self.pointer: Any = ffi.new("ml_answer *", fields)


def widening() -> Answer:
    """The answer of nodes that make constant halves constant floats: C does it."""
    return Answer(ffi.NULL, -1, lib.ML_ANSWER_WIDENS, b"", (), ())
