"""Patches of a node's output, and the search for tiles: ranges of nodes that run patch by patch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from minilite._core import ffi, lib

if TYPE_CHECKING:
    from minilite._native.plan import Plan

Rectangle = tuple[tuple[int, int], tuple[int, int]]
"""((row, end), (column, end)): a part of a tensor."""


class Patch(NamedTuple):
    """A patch of a node's output, and the needs of computing it."""

    out: Rectangle
    inputs: tuple[Rectangle, ...]
    params: bytes
    """The kernel's parameters in place of the node's."""


def _rectangle(of: Any) -> Rectangle:
    return (of.side[0].first, of.side[0].end), (of.side[1].first, of.side[1].end)


def patch_of(plan: Plan, position: int, out: Rectangle, inputs: int) -> Patch | None:
    """The needs of a node with so many inputs for a rectangle of its output, which may be enlarged; None if it cannot
    be cut there."""
    size = len(plan._owner.params(position))
    params = ffi.new("char[]", max(size, 1))
    whole, needs = ffi.new("ml_rectangle *"), ffi.new("ml_rectangle[]", max(inputs, 1))
    for side, (first, end) in zip(whole.side, out, strict=True):
        side.first, side.end = first, end
    if not lib.ml_plan_window(plan._pointer, position, whole, needs, params):
        return None
    return Patch(_rectangle(whole), tuple(_rectangle(needs[i]) for i in range(inputs)), ffi.buffer(params, size)[:])
