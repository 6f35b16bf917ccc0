"""Raises KeyboardInterrupt at each line and each instruction of minilite's calls in turn, as Ctrl-C might."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import minilite

PACKAGE = str(pathlib.Path(minilite.__file__).parent)


class Interrupt:
    """Ends an action after so many events: a line or an instruction of code below one of the folders."""

    def __init__(self, after: int, folders: tuple[str, ...], *, opcodes: bool) -> None:
        self.left = after
        self.where: str | None = None
        """The function and the line where it came; None if the action ended before."""
        self._opcodes = opcodes
        self._folders = tuple(f"{PACKAGE}/{folder}" for folder in folders)

    def _trace(self, frame: Any, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self._folders):
            return None if event == "call" else self._trace
        if event == "call":
            frame.f_trace_opcodes = self._opcodes
        elif event in ("line", "opcode") and self.where is None:
            self.left -= 1
            if self.left < 0:
                self.where = f"{frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name}:{frame.f_lineno}"
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._trace

    def during(self, action: Callable[[], object]) -> None:
        """Performs the action, and ends it."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            action()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)


def interrupted(
    action: Callable[[], object], folders: tuple[str, ...] = ("",), *, opcodes: bool = True, step: int = 1
) -> Iterator[str]:
    """Performs the action again and again, each time interrupted one event later, until it ends by itself; gives each
    place where it was interrupted."""
    after = 0
    while True:
        interrupt = Interrupt(after, folders, opcodes=opcodes)
        interrupt.during(action)
        if interrupt.where is None:
            return
        yield interrupt.where
        after += step
