"""What a state keeps from run to run, as bytes: variable tensors, and what kernels remember; strings are not in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minilite._core import ffi, lib
from minilite._native.status import BUSY
from minilite.errors import InputError, StateError

if TYPE_CHECKING:
    from minilite._native.state import State


def kept_bytes(state: State) -> int:
    """How many bytes there are. Raises: StateError."""
    count = ffi.new("int64_t *")
    if lib.ml_state_kept(state.pointer, ffi.NULL, -1, count) == lib.ML_BUSY:
        raise StateError(BUSY)
    return int(count[0])


def kept(state: State, expected: int) -> bytes:
    """The bytes; it takes one call into C where there are as many as expected. Raises: StateError."""
    data, count = bytearray(expected), ffi.new("int64_t *")
    if lib.ml_state_kept(state.pointer, ffi.from_buffer(data), expected, count) == lib.ML_BUSY:
        raise StateError(BUSY)
    return bytes(data) if count[0] == expected else kept(state, int(count[0]))


def keep(state: State, data: bytes) -> None:
    """Puts them back. Raises: StateError while busy, InputError for another number of bytes."""
    status = lib.ml_state_keep(state.pointer, data, len(data))
    if status == lib.ML_BUSY:
        raise StateError(BUSY)
    if status:
        message = f"the snapshot has {len(data)} bytes, the model keeps {kept_bytes(state)}"
        raise InputError(message)
