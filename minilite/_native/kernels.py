"""Kernels: reads their rows, packs their parameters."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite._core import ffi, lib
from minilite._native.status import MAX_RANK, fresh_error, raise_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def include_folder() -> str:
    """The folder of the headers that are installed with the core."""
    from pathlib import Path  # it takes long to import

    from minilite import _core

    return str(Path(_core.__file__).parent / "include")


class KernelInfo(NamedTuple):
    """A kernel's row: its address, and the names and struct layout of its parameters."""

    pointer: Any
    address: int
    name: str
    fields: tuple[tuple[str, str], ...]
    layout: struct.Struct


Shape = tuple[int, ...]
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


class OperatorRow(NamedTuple):
    """The operands and types that an operator takes, from its row in C."""

    op: str
    custom: bool
    versions: range
    takes: str
    """The operands by name: "x axis? -> y"."""
    types: tuple[str, ...]
    """Every combination of operand types that runs, in the notation of csrc/kernel.h."""
    kernel: str
    family: str
    """The stem of its files."""
    in_place: tuple[int, ...]
    """Inputs that output 0 may overwrite."""
    view: bool
    """Output 0 holds input 0's bytes unchanged."""
    follows: int | None
    """The input whose type output 0 takes."""
    tflite_shares: bool
    folds: bool
    """If input 0 is constant, the outputs become constants."""
    writes: tuple[int, ...]
    """Inputs that are variable tensors and are written."""
    has_reference: bool
    """The operator has a numpy reference."""
    has_window: bool
    """Nodes can be computed patch by patch."""


def _inputs_of(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(64) if mask >> i & 1)


def written_inputs(pointer: Any) -> tuple[int, ...]:
    """The inputs that a kernel writes: variable tensors."""
    info, error = ffi.new("ml_kernel_info *"), fresh_error()
    if lib.ml_kernel_describe(pointer, info, error):
        raise_error(error, None)
    return _inputs_of(info.writes)


def _text(pointer: Any) -> str:
    text: str = ffi.string(pointer).decode()
    return text


def _row(pointer: Any) -> OperatorRow | None:
    """The operator's row of a kernel; None for kernels that do not belong to an operator."""
    info, error = ffi.new("ml_kernel_info *"), fresh_error()
    if lib.ml_kernel_describe(pointer, info, error):
        raise_error(error, None)
    if not info.op:
        return None
    follows = _inputs_of(info.follows)
    return OperatorRow(
        _text(info.op),
        bool(info.custom),
        range(info.first_version, info.last_version + 1),
        _text(info.takes),
        tuple(types for types, _ in _types(pointer)),
        _text(info.name),
        _text(lib.ml_kernel_family(pointer)),
        _inputs_of(info.in_place),
        bool(info.is_view),
        follows[0] if follows else None,
        bool(info.tflite_shares),
        bool(info.folds),
        _inputs_of(info.writes),
        bool(info.has_reference),
        bool(info.has_window),
    )


def _latest(op: str, custom: bool) -> Any:
    name = op.encode()
    return lib.ml_kernel_of(name, len(name), custom, (1 << 31) - 1)


def find_row(op: str) -> OperatorRow | None:
    """The row of an operator, builtin or custom; None if there is none. If there are several, the one for the latest
    versions."""
    for custom in (False, True):
        if pointer := _latest(op, custom):
            return _row(pointer)
    return None


def multiplies(op: str, *, custom: bool) -> bool:
    """True if the operator consists of products, which are counted."""
    return multiply_adds(op, [()], [()], custom=custom) is not None


def multiply_adds(op: str, inputs: Sequence[Shape], outputs: Sequence[Shape], *, custom: bool) -> int | None:
    """Counts the multiply-adds of a node, by its operator's row; absent operands have the shape (). None if the
    operator does not consist of products."""
    kernel, operands = _latest(op, custom), (*inputs, *(outputs or [()]))
    if not kernel or max(map(len, operands)) > MAX_RANK:
        return None
    shapes = ffi.new("ml_shape[]", [{"rank": len(dims), "dims": dims} for dims in operands])
    found = int(lib.ml_kernel_multiply_adds(kernel, shapes, len(inputs)))
    return found if found >= 0 else None


def operator_rows() -> tuple[OperatorRow, ...]:
    """The rows of all operators, builtin and custom."""
    rows: list[OperatorRow] = []
    number = 0
    while pointer := lib.ml_kernel_at(number):
        number += 1
        row = _row(pointer)
        if row is not None:
            rows.append(row)
    return tuple(rows)


def find_kernel(name: str) -> KernelInfo | None:
    """The kernel of that name, or None."""
    pointer = lib.ml_kernel_find(name.encode())
    return _describe(pointer) if pointer else None


def kernel_at(address: int) -> KernelInfo:
    """A kernel compiled elsewhere, by the address of its row. Raises: ModelFormatError if it was made for another
    contract."""
    return _describe(ffi.cast("const ml_kernel *", address))


def kernel_names() -> tuple[str, ...]:
    """The names of all built-in kernels."""
    names: list[str] = []
    while pointer := lib.ml_kernel_at(len(names)):
        names.append(_describe(pointer).name)
    return tuple(names)


def kernel_types(kernel: KernelInfo) -> tuple[tuple[str, bool], ...]:
    """The operand types of every row of a kernel's table, and whether it runs in C."""
    return _types(kernel.pointer)


def _types(pointer: Any) -> tuple[tuple[str, bool], ...]:
    rows: list[tuple[str, bool]] = []
    has_eval = ffi.new("int32_t *")
    while types := lib.ml_kernel_types(pointer, len(rows), has_eval):
        rows.append((ffi.string(types).decode(), bool(has_eval[0])))
    return tuple(rows)


def match_kernel(kernel: KernelInfo, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """The index of the row in the kernel's table that takes these types (-1 = absent); -1 if none does."""
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
    """The levels of this build that this machine can run, ascending."""
    names: list[str] = []
    while simd := lib.ml_simd_at(len(names)):
        names.append(ffi.string(simd.level).decode())
    return tuple(names)
