"""Owned: gives objects of Python the memory of C that they refer to, for as long as they live.

An interrupt (Ctrl-C, no memory) may come between any two lines. So an owner is made before C takes anything, and is
empty; one call into C takes something and notes it there; and the destructor is a function in C, which has no effect on
an empty owner. A destructor in Python could be interrupted itself, and what it was to give back would stay for ever.
"""

from __future__ import annotations

from functools import partial
from operator import is_
from typing import Any

from minilite._core import ffi

_new, _gc = ffi.new, ffi.gc  # in names of their own: looking up a method of cffi takes as long as half of the call


def empty(row: str, end: Any) -> Any:
    """An empty struct or cell of C ("ml_pin *", "ml_state **"), for a call to fill; `end` is the function in C that
    gives back what it holds. The pointer in a cell does not keep the cell alive: who has the one keeps the other."""
    return _gc(_new(row), end)


def buffer(owner: Any, address: int, size: int) -> Any:
    """Memory of C as a buffer, which keeps its owner alive."""
    # cffi calls is_(owner, pointer) at the end: a function in C without effect, which held the owner until then.
    return ffi.buffer(ffi.gc(ffi.cast("char *", address), partial(is_, owner)), size)
