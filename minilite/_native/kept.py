"""Keeper: packs what an interpreter and its states keep from run to run into bytes, and puts it back, by one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from minilite._core import ffi, lib
from minilite._native.status import BUSY, fresh_error, raise_error
from minilite.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from minilite._native.state import Shared, State

    Shape = tuple[int, ...]

Packed = Any
"""A snapshot in memory that C reads: of cffi, because that need not be filled before C writes to it. The bytes begin at
the first multiple of _STEP, so there are as many more than the snapshot has."""
_BYTES = ffi.typeof("char[]")
_new = ffi.new_allocator(should_clear_after_alloc=False)
_STEP = int(lib.ML_KEPT_STEP)
_ROW_BYTES = int(ffi.sizeof("ml_kept_row"))
_BUSY = int(lib.ML_BUSY)
RESOURCE, CALLED = int(lib.ML_KEPT_RESOURCE), int(lib.ML_KEPT_CALLED)
VARIABLES, NODES = int(lib.ML_KEPT_VARIABLES), int(lib.ML_KEPT_NODES)


class Keeper:
    """Takes snapshots of an interpreter and of some of its states, and puts them into use."""

    __slots__ = ("_count", "_errors", "_pointer", "_room", "_states", "_values")

    def __init__(self, shared: Shared, states: Sequence[State]) -> None:
        """Every state has a plan in use."""
        self._values = shared, states  # what C points at lives as long as this
        self._pointer = shared.pointer
        self._states = ffi.new("ml_state *[]", [state.pointer for state in states])
        self._count = len(states)
        self._errors: list[Any] = []  # one that nothing was written to, for the next call
        self._room = 0  # bytes of the last snapshot, which the next one probably has, too

    def kept(self) -> Packed:
        """A snapshot. Raises: StateError."""
        pack = lib.ml_kept_pack
        while True:
            room = self._room
            data = _new(_BYTES, room + _STEP)
            found = pack(self._pointer, self._states, self._count, data, room)
            if found == room:
                return data
            if found < 0:
                raise StateError(BUSY)
            self._room = found

    def keep(self, data: Packed) -> None:
        """Restores a snapshot; state that it does not have is reset. A refused one changes nothing.

        Raises: StateError while busy, ArenaError, InputError for bytes that are of another model or damaged."""
        errors = self._errors
        error = errors.pop() if errors else fresh_error()
        status = lib.ml_kept_unpack(self._pointer, self._states, self._count, data, len(data) - _STEP, error)
        if status == _BUSY:
            raise StateError(BUSY)
        if status:
            raise_error(error, None)
        errors.append(error)


class Row(NamedTuple):
    """One row of a snapshot: a resource (its number, type, shape and bytes), the subgraphs that CALL_ONCE has run, or
    what a state keeps."""

    what: int
    number: int
    type: int
    shape: Shape
    data: bytes
    state: int = -1
    """Its place among the states; -1: of the interpreter."""


def empty() -> Packed:
    """The snapshot of an interpreter that has not begun."""
    return _new(_BYTES, _STEP)


def size(data: Packed) -> int:
    """Bytes of a snapshot."""
    return len(data) - _STEP


def _begin(data: Packed) -> Any:
    return data + -int(ffi.cast("uintptr_t", data)) % _STEP


def as_bytes(data: Packed) -> bytes:
    """A copy of a snapshot that can be pickled."""
    return bytes(ffi.buffer(_begin(data), size(data)))


def from_bytes(data: bytes) -> Packed:
    """The reverse of `as_bytes`. Raises: InputError for bytes that are damaged."""
    made = _new(_BYTES, len(data) + _STEP)
    ffi.memmove(_begin(made), data, len(data))
    error = fresh_error()
    if lib.ml_kept_check(made, len(data), error):
        raise_error(error, None)
    return made


def same(one: Packed, other: Packed) -> bool:
    """True if two snapshots have the same bytes."""
    return bool(ffi.buffer(_begin(one), size(one)) == ffi.buffer(_begin(other), size(other)))


def rows_of(data: Packed) -> Iterator[Row]:
    """The rows of a snapshot, first those that are the interpreter's."""
    at, begin = 0, _begin(data)
    while at < size(data):
        row = ffi.cast("ml_kept_row *", begin + at)
        at += _ROW_BYTES
        shape = tuple(row.shape.dims[0 : row.shape.rank])
        yield Row(row.what, row.number, row.type, shape, bytes(ffi.buffer(begin + at, row.bytes)), row.state)
        at += -row.bytes % _STEP + row.bytes


def packed(rows: Sequence[Row]) -> Packed:
    """A snapshot of these rows, in their order."""
    made = bytearray()
    for row in rows:
        shape = {"rank": len(row.shape), "dims": row.shape}
        value = {"bytes": len(row.data), "state": row.state, "what": row.what, "number": row.number, "type": row.type}
        made += ffi.buffer(ffi.new("ml_kept_row *", {**value, "shape": shape}))
        made += row.data + bytes(-len(row.data) % _STEP)
    return from_bytes(bytes(made))


def value_bytes(data: Packed) -> int:
    """The bytes of all values in a snapshot."""
    at, found, begin = 0, 0, _begin(data)
    while at < size(data):
        row = ffi.cast("ml_kept_row *", begin + at)
        found += row.bytes if row.what != CALLED else 0
        at += _ROW_BYTES + row.bytes + -row.bytes % _STEP
    return found


def has_values(data: Packed) -> bool:
    """True if a snapshot has a value, or a subgraph that CALL_ONCE has run."""
    return value_bytes(data) > 0 or any(row.what == RESOURCE or any(row.data) for row in rows_of(data))
