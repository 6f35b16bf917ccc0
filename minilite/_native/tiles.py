"""Patches of a node's output, and the search for tiles: ranges of nodes that run patch by patch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from minilite._core import ffi, lib
from minilite._native.status import fresh_error, raise_error

if TYPE_CHECKING:
    from collections.abc import Collection

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
    if not lib.ml_plan_window(plan._pointer, position, whole, needs, inputs, params):
        return None
    return Patch(_rectangle(whole), tuple(_rectangle(needs[i]) for i in range(inputs)), ffi.buffer(params, size)[:])


class TileGroup(NamedTuple):
    """A range of nodes, by position, that runs patch by patch; its outputs are cut into rows x columns parts."""

    first: int
    last: int
    rows: int
    columns: int
    live: int
    """The most bytes that are live while it runs."""
    more: float
    """Work beyond that of the whole nodes."""


class Tiling(NamedTuple):
    """The groups that a search has found. Work is counted in multiply-adds; operators without products count one per
    element of the output."""

    groups: tuple[TileGroup, ...]
    untiled: int
    """The lower bound of the arena without tiles."""
    bound: int
    """The lower bound with these groups."""
    smallest: int
    """The lowest bound that tiles reach, by any work, if that is above the limit."""
    work: float
    more: float


def _group(of: Any) -> TileGroup:
    return TileGroup(of.first, of.last, of.rows, of.columns, int(of.live), of.more)


def planned_tiles(plan: Any) -> tuple[TileGroup, ...]:
    """The groups that run patch by patch in an ml_plan."""
    groups = ffi.new("ml_tile_group[]", lib.ML_MOST_TILE_GROUPS)
    count = lib.ml_plan_tiles(plan, groups, len(groups))
    return tuple(_group(group) for group in groups[0:count])


def find_tiles(plan: Plan, limit: int, most: float = -1.0, whole: Collection[int] = ()) -> Tiling:
    """The groups of least work that bring the arena's lower bound within `limit` bytes; else, or if the work beyond
    that of the whole nodes is above `most` of it (below 0: any), those of the lowest bound within `most`. Nodes at the
    positions in `whole` are in none. Raises: ArenaError."""
    error, found = fresh_error(), ffi.new("ml_tiling *")
    marks = bytes(position in whole for position in range(plan._owner.count_nodes(plan.frames()[0][0])))
    if lib.ml_plan_tile(plan._pointer, marks, limit, most, found, error):
        raise_error(error, None)
    groups = tuple(_group(group) for group in found.groups[0 : found.n_groups])
    return Tiling(groups, int(found.untiled), int(found.bound), int(found.smallest), found.work, found.more)
