"""Hand-made graphs for ArenaPlanner, and a check of its plans."""

from __future__ import annotations

import itertools
from typing import Any

from minilite.memory.arena_planner import ArenaPlanner, PlannerGraph, PlannerNode

Node = PlannerNode


def chain(length: int, size: int = 100, **node: Any) -> PlannerGraph:
    """Tensors 0 -> 1 -> ... -> length, all of `size` bytes, each made by one node from the one before."""
    nodes = [Node([i], [i + 1], **node) for i in range(length)]
    return PlannerGraph([size] * (length + 1), nodes, [0], [length])


def planned(graph: PlannerGraph, **options: Any) -> ArenaPlanner:
    """A planner that has placed the whole graph, checked."""
    planner = ArenaPlanner(graph, **options)
    planner.plan_allocations()
    planner.execute_allocations(0, len(graph.nodes) - 1)
    check(planner)
    return planner


def check(planner: ArenaPlanner) -> None:
    """Offsets are aligned, nothing live at once overlaps, the arena holds everything; O(n * n), by the book."""
    count = len(planner.graph.sizes)
    placed = []
    for record in planner.records():
        offset = (
            planner.offset(record.tensor) if record.tensor < count else planner.temporary_offset(record.tensor - count)
        )
        assert offset is not None
        assert offset % 64 == 0
        assert offset + record.size <= planner.arena_bytes
        placed.append((record, offset))
    for (a, a_offset), (b, b_offset) in itertools.combinations(placed, 2):
        together = a.first_node <= b.last_node and b.first_node <= a.last_node
        apart = a_offset + a.size <= b_offset or b_offset + b.size <= a_offset
        assert apart or not together, (a, a_offset, b, b_offset)
    for tensor in range(count):
        if planner.root(tensor) != tensor:
            assert planner.offset(tensor) == planner.offset(planner.root(tensor))
