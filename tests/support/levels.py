"""The levels of instructions that this machine has."""

from __future__ import annotations

from minilite._core import ffi, lib


def levels() -> list[str]:
    """Their names, ascending; the first is scalar."""
    found: list[str] = []
    while simd := lib.ml_simd_at(len(found)):
        found.append(ffi.string(simd.level).decode())
    return found
