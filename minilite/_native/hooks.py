"""Calls from C into Python: nodes that run in numpy, shape functions, signals."""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any

from minilite import errors
from minilite._core import ffi, lib
from minilite._native import call as calls

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from minilite._native.call import Call

    Shape = tuple[int, ...]

    class Hooks(Protocol):
        """Functions that C calls during prepare and run. A hook returns non-zero if a call into C has failed."""

        exceptions: dict[int, BaseException]
        """Exceptions raised by hooks, by thread; each call takes its own out."""

        def eval(self, call: Call) -> int:
            """Computes a node."""

        def shape(self, call: Call) -> Sequence[Shape]:
            """The output shapes of a custom node."""

        def label(self, handler: int) -> str:
            """The coordinates of a node, for error lines."""


def _keep_exception(exception: BaseException | None, traceback: Any) -> None:
    """cffi calls this with the exception of a hook; the traceback begins in the hook's frame."""
    if exception is None:
        return
    hooks: Hooks = ffi.from_handle(traceback.tb_frame.f_locals["owner"])
    hooks.exceptions[get_ident()] = exception.with_traceback(traceback)


def _note(exception: BaseException, hooks: Hooks, handed: calls.Call) -> None:
    """Adds a note that names the node, once; exceptions have notes since Python 3.11, those of minilite name it."""
    if isinstance(exception, errors.MiniliteError) or not hasattr(exception, "add_note"):
        return
    text = hooks.label(handed.handler)
    if text not in getattr(exception, "__notes__", ()):
        exception.add_note(text)


@ffi.def_extern(error=lib.ML_PYTHON_ERROR, onerror=lambda _t, value, tb: _keep_exception(value, tb))  # type: ignore[untyped-decorator]
def ml_hook_eval(owner: Any, call: Any) -> int:
    hooks, handed = ffi.from_handle(owner), calls.Call(call)
    try:
        return int(hooks.eval(handed))
    except BaseException as exception:
        _note(exception, hooks, handed)
        raise
    finally:
        handed.close()


@ffi.def_extern(error=lib.ML_PYTHON_ERROR, onerror=lambda _t, value, tb: _keep_exception(value, tb))  # type: ignore[untyped-decorator]
def ml_hook_shape(owner: Any, call: Any, outputs: Any) -> int:
    hooks, handed = ffi.from_handle(owner), calls.Call(call)
    try:
        for position, shape in enumerate(hooks.shape(handed)):
            calls.write_shape(outputs[position], tuple(shape))
    except BaseException as exception:
        _note(exception, hooks, handed)
        raise
    finally:
        handed.close()
    return 0


@ffi.def_extern(error=lib.ML_PYTHON_ERROR, onerror=lambda _t, value, tb: _keep_exception(value, tb))  # type: ignore[untyped-decorator]
def ml_hook_poll(owner: Any) -> int:
    # Nothing to do: Python runs the handlers of pending signals here, and an exception of theirs stops the run.
    return 0 if owner else 1


HOOKS: Any = ffi.new("ml_hooks *", {"eval": lib.ml_hook_eval, "shape": lib.ml_hook_shape, "poll": lib.ml_hook_poll})[0]
"""The functions above, for ml_states."""
