"""Python without its global lock, which it may be built without since 3.13: what has to be made before there are
threads."""

from __future__ import annotations

import contextlib

from minilite._core import ffi, lib


def make_everything() -> None:
    """Makes the functions and types that cffi otherwise makes when they are first used: two threads could make the
    same one at once, and cffi on Python 3.13 does not survive that."""
    for name in dir(lib):
        getattr(lib, name)
    for name in ffi.list_types()[0]:
        with contextlib.suppress(TypeError):  # C keeps what is in some types to itself
            ffi.new(f"{name} *")
