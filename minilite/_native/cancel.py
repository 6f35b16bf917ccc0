"""Cancel: a token that ends runs."""

from __future__ import annotations

from typing import Any

from minilite._core import lib
from minilite._native import owned
from minilite._native.status import fresh_error, raise_error


class Cancel:
    """A token that ends every run it is given to: ``interpreter.invoke(cancel=token)``.

    A run that begins after `cancel` was called ends before its first node; a run in progress ends at its next node or
    block of work. Either raises KernelError. A token stays set, and may be given to any number of runs, also at the
    same time. Any thread, and any signal handler, may call `cancel`.

    Raises: ArenaError if memory is short.
    """

    def __init__(self) -> None:
        cell = owned.empty("ml_cancel **", lib.ml_cancel_end)
        error = fresh_error()
        if lib.ml_cancel_new(cell, error):
            raise_error(error, None)
        self._cell = cell
        self.pointer: Any = cell[0]

    def cancel(self) -> None:
        """Ends the runs that have this token, now and from now on."""
        lib.ml_cancel_set(self.pointer)

    @property
    def cancelled(self) -> bool:
        """True if `cancel` was called."""
        return bool(lib.ml_cancel_is_set(self.pointer))

    def __repr__(self) -> str:
        return f"<minilite.Cancel, {'cancelled' if self.cancelled else 'not cancelled'}>"
