"""Workspace: memory that several interpreters use in turn."""

from __future__ import annotations

from typing import Any, Literal

from minilite import errors
from minilite._core import lib
from minilite._native import owned
from minilite._native.status import fresh_error, raise_error


class Workspace:
    """Memory for the arenas of several interpreters that run one after the other, such as a detector and the models
    that read what it found: ``Interpreter(path, workspace=workspace)``.

    It takes as many bytes as the largest of their arenas. It has the values of the interpreter that ran last; inputs
    and variables of each lie elsewhere, and stay. Outputs and intermediate tensors that another interpreter has
    overwritten are refused with a StateError until their interpreter runs again.

    `at_once` says what happens to an interpreter that is called while another one runs, or while a view of another
    one's tensors is held: "refuse" raises a StateError; with "own" it takes memory of its own and keeps it, and so does
    one that is called by another thread than the first. Use as a context manager, or `close`, gives the memory back.

    Raises: InputError; ArenaError if memory is short.
    """

    def __init__(self, *, at_once: Literal["refuse", "own"] = "refuse") -> None:
        if at_once not in ("refuse", "own"):
            message = f"at_once is {errors.shown(at_once)}, must be 'refuse' or 'own'"
            raise errors.InputError(message)
        cell = owned.empty("ml_workspace **", lib.ml_workspace_end)
        error = fresh_error()
        if lib.ml_workspace_new(at_once == "own", cell, error):
            raise_error(error, None)
        self._cell = cell
        self.at_once: str = at_once
        self.pointer: Any = cell[0]

    @property
    def nbytes(self) -> int:
        """The bytes that it holds now."""
        return int(lib.ml_workspace_bytes(self.pointer))

    @property
    def closed(self) -> bool:
        """True if `close` was called."""
        return bool(lib.ml_workspace_has_ended(self.pointer))

    def trim(self) -> None:
        """Gives the memory back until the next run, and with it the last outputs. Raises: StateError during a run, or
        while a view is held."""
        self._trim(ends=False)

    def close(self) -> None:
        """Gives the memory back; from now on runs in it are refused. Raises: as `trim`."""
        self._trim(ends=True)

    def _trim(self, *, ends: bool) -> None:
        error = fresh_error()
        if lib.ml_workspace_trim(self.pointer, ends, error):
            raise_error(error, None)

    def __enter__(self) -> Workspace:  # noqa: PYI034 - typing.Self is younger than Python 3.10
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<minilite.Workspace, {'closed' if self.closed else f'{self.nbytes} bytes'}>"
