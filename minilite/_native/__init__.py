"""The seam: the only package that touches ffi and lib. Statuses become exceptions, lifetimes are tied together here."""

from minilite._native.graph import Graph, KernelInfo, NodeDef, SubgraphDef, TensorDef, find_kernel, pack_params
from minilite._native.hooks import Call
from minilite._native.memory import (
    MAX_BYTES,
    UNPLACED,
    Placement,
    Refused,
    memory_lower_bound,
    plan_memory,
    strategies,
)
from minilite._native.planner import FOREVER, PLACE_ARENA, PLACE_NONE, PLACE_PERSISTENT, Arena, Planner
from minilite._native.state import Plan, State, TensorState
from minilite._native.status import (
    BUSY,
    MAX_RANK,
    NODE_IN_PLACE,
    NODE_PYTHON,
    NODE_TFLITE_SHARES,
    NODE_VIEW,
    OPTIONS,
)

__all__ = [
    "BUSY",
    "FOREVER",
    "MAX_BYTES",
    "MAX_RANK",
    "NODE_IN_PLACE",
    "NODE_PYTHON",
    "NODE_TFLITE_SHARES",
    "NODE_VIEW",
    "OPTIONS",
    "PLACE_ARENA",
    "PLACE_NONE",
    "PLACE_PERSISTENT",
    "UNPLACED",
    "Arena",
    "Call",
    "Graph",
    "KernelInfo",
    "NodeDef",
    "Placement",
    "Plan",
    "Planner",
    "Refused",
    "State",
    "SubgraphDef",
    "TensorDef",
    "TensorState",
    "find_kernel",
    "memory_lower_bound",
    "pack_params",
    "plan_memory",
    "strategies",
]
