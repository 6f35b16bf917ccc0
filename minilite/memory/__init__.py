"""Memory planning: finds the offset of each tensor.

>>> from minilite.memory import UsageRecord, plan
>>> made = plan([UsageRecord(0, 100, 0, 1), UsageRecord(1, 50, 1, 2), UsageRecord(2, 100, 2, 3)])
>>> made.arena_bytes, made.lower_bound, made.offsets
(192, 192, (0, 128, 0))
"""

from minilite._native.memory import strategies
from minilite.memory.arena_planner import ArenaPlanner, PlannerGraph, PlannerNode
from minilite.memory.checker import Fault, check
from minilite.memory.lower_bound import lower_bound, positional_maxima, sections, shared_objects_bound
from minilite.memory.memories import MemoriesPlan, Memory, plan_memories
from minilite.memory.plan import MemoryPlan, plan
from minilite.memory.records import FOREVER, UsageRecord, read_csv, write_csv

__all__ = [
    "FOREVER",
    "ArenaPlanner",
    "Fault",
    "MemoriesPlan",
    "Memory",
    "MemoryPlan",
    "PlannerGraph",
    "PlannerNode",
    "UsageRecord",
    "check",
    "lower_bound",
    "plan",
    "plan_memories",
    "positional_maxima",
    "read_csv",
    "sections",
    "shared_objects_bound",
    "strategies",
    "write_csv",
]
