"""Memory planning: finds the offset of each tensor.

>>> from minilite.memory import UsageRecord, plan
>>> made = plan([UsageRecord(0, 100, 0, 1), UsageRecord(1, 50, 1, 2), UsageRecord(2, 100, 2, 3)])
>>> made.arena_bytes, made.lower_bound, made.offsets
(192, 192, (0, 128, 0))
"""

from minilite._native.memory import strategies
from minilite.memory.arena_planner import ArenaPlanner, PlannerGraph, PlannerNode
from minilite.memory.arrays import ArrayPlan, MemoryUse, check_arrays, lower_bound_arrays, plan_arrays
from minilite.memory.checker import Fault, check
from minilite.memory.csv_file import CsvColumns, read_csv, read_csv_arrays, write_csv
from minilite.memory.lower_bound import lower_bound, positional_maxima, sections, shared_objects_bound
from minilite.memory.memories import MemoriesPlan, Memory, plan_memories
from minilite.memory.plan import MemoryPlan, plan
from minilite.memory.records import FOREVER, UsageRecord

__all__ = [
    "FOREVER",
    "ArenaPlanner",
    "ArrayPlan",
    "CsvColumns",
    "Fault",
    "MemoriesPlan",
    "Memory",
    "MemoryPlan",
    "MemoryUse",
    "PlannerGraph",
    "PlannerNode",
    "UsageRecord",
    "check",
    "check_arrays",
    "lower_bound",
    "lower_bound_arrays",
    "plan",
    "plan_arrays",
    "plan_memories",
    "positional_maxima",
    "read_csv",
    "read_csv_arrays",
    "sections",
    "shared_objects_bound",
    "strategies",
    "write_csv",
]
