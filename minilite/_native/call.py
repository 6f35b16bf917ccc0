"""Call: what a node that runs in Python gets from C: arrays over its tensors, and a way to set output shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minilite._core import ffi, lib

Array = Any
Shape = tuple[int, ...]


class Call:
    """A running node, as a hook sees it: arrays over its tensors, and a way to set the shapes of its outputs."""

    __slots__ = ("_call", "handler")

    def __init__(self, call: Any) -> None:
        self._call = call
        self.handler: int = lib.ml_call_handler(call)

    def _array(self, operand: Any, dtype: Any, *, writable: bool) -> Array:
        entry = operand.tensor
        shape = tuple(entry.shape.dims[0 : entry.shape.rank])
        if entry.bytes == 0:
            return np.zeros(shape, dtype)
        array = np.frombuffer(ffi.buffer(operand.data, entry.bytes), dtype).reshape(shape)
        array.flags.writeable = writable
        return array

    def input_array(self, position: int, dtype: Any, *, writable: bool = False) -> Array:
        """A view of input `position`, None if it is absent. Only variables may be written."""
        operand = lib.ml_call_operand(self._call, position)
        return self._array(operand, dtype, writable=writable) if operand.tensor else None

    def input_shape(self, position: int) -> Shape | None:
        """The shape of input `position`; None when it is absent."""
        tensor = lib.ml_call_operand(self._call, position).tensor
        return tuple(tensor.shape.dims[0 : tensor.shape.rank]) if tensor else None

    def output_array(self, position: int, dtype: Any) -> Array:
        """A writable view of output `position`."""
        return self._array(lib.ml_call_output(self._call, position), dtype, writable=True)

    def input_bytes(self, position: int) -> bytes:
        """A copy of the raw bytes of input `position`, also of packed elements or strings."""
        operand = lib.ml_call_operand(self._call, position)
        return bytes(ffi.buffer(operand.data, operand.bytes)) if operand.bytes else b""

    def write_bytes(self, position: int, data: bytes, *, sized: bool) -> int:
        """Fills output `position`; if its type has no fixed size (`sized` is false), sets its size first. Returns a
        status."""
        status = 0 if sized else int(lib.ml_call_set_bytes(self._call, position, len(data)))
        if not status and data:
            ffi.memmove(lib.ml_call_output(self._call, position).data, data, len(data))
        return status

    def output_shape(self, position: int) -> Shape | None:
        """The shape of output `position`, None while it is unknown."""
        entry = lib.ml_call_output(self._call, position).tensor
        return tuple(entry.shape.dims[0 : entry.shape.rank]) if entry.shaped else None

    def close(self) -> None:
        """Drops the reference to C's struct, which is valid only during the hook; a traceback may keep this object
        longer."""
        self._call = None

    def set_output_shapes(self, shapes: Sequence[Shape]) -> int:
        """Sets the shapes of all outputs, and gives them places. The caller has to return a status other than 0 at
        once."""
        for position, shape in enumerate(shapes):
            packed = ffi.new("ml_shape *")
            write_shape(packed, shape)
            if status := lib.ml_call_set_output(self._call, position, packed):
                return int(status)
        return int(lib.ml_call_settle(self._call))


def write_shape(target: Any, shape: Shape) -> None:
    """Fills an ml_shape, with at most MAX_RANK dimensions that C can hold."""
    target.rank = len(shape)
    for i, dim in enumerate(shape):
        target.dims[i] = dim
