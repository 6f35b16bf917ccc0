"""Calls from C into Python: nodes that run in numpy, shape functions, signals."""

from __future__ import annotations

from _thread import get_ident  # threading takes long to import
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite._core import ffi, lib
from minilite._native.status import MAX_RANK
from minilite.light import Later

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from minilite import errors

    Array = Any
    Shape = tuple[int, ...]

    class Hooks(Protocol):
        """What C asks of Python during prepare and run; a hook that returns non-zero has failed inside C."""

        exceptions: dict[int, BaseException]
        """What hooks raised, by thread: a call takes out its own."""

        def eval(self, call: Call) -> int:
            """Computes a node."""

        def shape(self, call: Call) -> Sequence[Shape]:
            """The output shapes of a custom node."""

        def label(self, handler: int) -> str:
            """The coordinates of a node, for error lines."""
else:
    errors = Later("minilite.errors")


class Call:
    """A node under way, as a hook sees it: arrays over its tensors, and a way to give outputs their shapes."""

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
        """A view of input `position`, None when it is absent. Only variables may be written."""
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
        """A copy of the bytes of input `position`, packed or strings as they may be."""
        operand = lib.ml_call_operand(self._call, position)
        return bytes(ffi.buffer(operand.data, operand.bytes)) if operand.bytes else b""

    def write_bytes(self, position: int, data: bytes, *, sized: bool) -> int:
        """Fills output `position`, which takes as many bytes where it has no fixed size (`sized` is false); returns a status."""
        status = 0 if sized else int(lib.ml_call_set_bytes(self._call, position, len(data)))
        if not status and data:
            ffi.memmove(lib.ml_call_output(self._call, position).data, data, len(data))
        return status

    def output_shape(self, position: int) -> Shape | None:
        """The shape of output `position`, None while it is not known."""
        entry = lib.ml_call_output(self._call, position).tensor
        return tuple(entry.shape.dims[0 : entry.shape.rank]) if entry.shaped else None

    def close(self) -> None:
        """Lets go of C's struct, which ends with the hook; a traceback may keep this object longer."""
        self._call = None

    def set_output_shapes(self, shapes: Sequence[Shape]) -> int:
        """Gives every output its shape and settles their places; a status other than 0 is to be returned at once."""
        for position, shape in enumerate(shapes):
            packed = ffi.new("ml_shape *")
            write_shape(packed, shape)
            if status := lib.ml_call_set_output(self._call, position, packed):
                return int(status)
        return int(lib.ml_call_settle(self._call))


def write_shape(target: Any, shape: Shape) -> None:
    """Fills an ml_shape."""
    if len(shape) > MAX_RANK:
        message = f"shape {shape} has {len(shape)} dimensions: at most {MAX_RANK}"
        raise errors.ShapeError(message)
    target.rank = len(shape)
    for i, dim in enumerate(shape):
        target.dims[i] = dim


def _keep_exception(exception: BaseException | None, traceback: Any) -> None:
    """cffi calls this with what a hook raised; the traceback begins in the hook's frame."""
    if exception is None:
        return
    frame = traceback.tb_frame.f_locals
    hooks: Hooks = ffi.from_handle(frame["owner"])
    if "handed" in frame and not isinstance(exception, errors.MiniliteError):
        _note(exception, hooks.label(frame["handed"].handler))
    hooks.exceptions[get_ident()] = exception.with_traceback(traceback)


def _note(exception: BaseException, text: str) -> None:
    """Says in which node it was raised, once; before Python 3.11 exceptions take no notes."""
    if hasattr(exception, "add_note") and text not in getattr(exception, "__notes__", ()):
        exception.add_note(text)


@ffi.def_extern(error=lib.ML_PYTHON_ERROR, onerror=lambda _t, value, tb: _keep_exception(value, tb))  # type: ignore[untyped-decorator]
def ml_hook_eval(owner: Any, call: Any) -> int:
    handed = Call(call)
    try:
        return int(ffi.from_handle(owner).eval(handed))
    finally:
        handed.close()


@ffi.def_extern(error=lib.ML_PYTHON_ERROR, onerror=lambda _t, value, tb: _keep_exception(value, tb))  # type: ignore[untyped-decorator]
def ml_hook_shape(owner: Any, call: Any, outputs: Any) -> int:
    handed = Call(call)
    try:
        for position, shape in enumerate(ffi.from_handle(owner).shape(handed)):
            write_shape(outputs[position], tuple(shape))
    finally:
        handed.close()
    return 0


@ffi.def_extern(error=lib.ML_PYTHON_ERROR, onerror=lambda _t, value, tb: _keep_exception(value, tb))  # type: ignore[untyped-decorator]
def ml_hook_poll(owner: Any) -> int:
    # Entering Python is all it takes: a pending signal's handler runs here, and what it raises stops the run.
    return 0 if owner else 1
