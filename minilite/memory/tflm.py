"""Plans memory like TensorFlow Lite Micro: its lifetimes, its greedy planner, and offline plans for it.

TFLM counts scopes: 0 at the start, one more for each operator and for each subgraph an operator calls. Graph inputs
live from scope 0 to their last reader, graph outputs to the end, everything else from its operator to its last reader;
nothing is shared in place. Sizes are rounded up to 16. Kernels request scratch while they are prepared, of sizes that
are not in the file.

Source: tflite-micro, micro_allocation_info.cc, memory_planner/greedy_memory_planner.cc (2026).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Model, Node, Tensor
from minilite.memory.lower_bound import rounded
from minilite.memory.plan import MemoryPlan, plan
from minilite.memory.records import UsageRecord

ALIGNMENT = 16
SCRATCH_OPS = frozenset(
    {
        "BATCH_MATMUL",
        "MEAN",
        "REDUCE_MAX",
        "REDUCE_MIN",
        "SUM",
        "SVDF",
        "TRANSPOSE_CONV",
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
    }
)
"""Builtin operators whose kernels request scratch; kernels of custom operators may, too."""
_SCRATCH_SIZES = tuple(16 << shift for shift in range(0, 20, 2))
_CALLS = (
    "then_subgraph_index",
    "else_subgraph_index",
    "init_subgraph_index",
    "cond_subgraph_index",
    "body_subgraph_index",
)


class OfflinePlan(NamedTuple):
    """A plan for TFLM."""

    plan: MemoryPlan
    """The offset of every tensor, without the scratch of kernels."""
    offsets: dict[int, int]
    """The offsets of fixed tensors of the main subgraph, by number; the others are placed at run time."""


class _Walk:
    """Counts scopes over a model, like TFLM."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.base = [sum(len(s.tensors) for s in model.subgraphs[:i]) for i in range(len(model.subgraphs))]
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.scratch: list[tuple[int, int]] = []
        self.scope = 0
        self.entered: list[int] = []
        self.enter(0)

    def create(self, tensor: int) -> None:
        self.first[tensor] = self.last[tensor] = self.scope

    def enter(self, index: int) -> None:
        if index in self.entered:  # the engine refuses recursion
            return
        self.entered.append(index)
        subgraph, base = self.model.subgraphs[index], self.base[index]
        for tensor in (*subgraph.inputs, *subgraph.outputs):
            self.create(base + tensor)
        for node in subgraph.nodes:
            self.node(node, base)
        for tensor in subgraph.outputs:
            self.last[base + tensor] = self.scope
        self.entered.pop()

    def node(self, node: Node, base: int) -> None:
        self.scope += 1
        start = self.scope
        outputs = [base + tensor for tensor in node.outputs if tensor >= 0]
        for tensor in outputs:
            self.create(tensor)
        for field in _CALLS:
            called = node.options.get(field, -1)
            if isinstance(called, int) and 0 <= called < len(self.model.subgraphs):
                self.scope += 1
                self.enter(called)
        for tensor in (*(base + tensor for tensor in node.inputs if tensor >= 0), *outputs):
            self.last[tensor] = self.scope
        if node.custom or node.op in SCRATCH_OPS:
            self.scratch.append((start, self.scope))


def _size(tensor: Tensor) -> int:
    return math.prod(tensor.shape) * np.dtype(numpy_type(tensor.type)).itemsize


def _records(model: Model, walk: _Walk) -> list[UsageRecord]:
    tensors = [tensor for subgraph in model.subgraphs for tensor in subgraph.tensors]
    return [
        UsageRecord(number, rounded(_size(tensor), ALIGNMENT), walk.first[number], walk.last[number])
        for number, tensor in enumerate(tensors)
        if number in walk.first and tensor.data is None and not tensor.is_variable and min(tensor.shape, default=1) > 0
    ]


def usage_records(model: Model) -> list[UsageRecord]:
    """TFLM's records, with scopes for nodes; tensors are numbered on through all subgraphs. Variables have none."""
    return _records(model, _Walk(model))


def greedy(records: Sequence[UsageRecord], offsets: Mapping[int, int]) -> int:
    """The arena bytes of TFLM's own planner, with some tensors at given offsets."""
    held = [record._replace(offset=offsets.get(record.tensor)) for record in records]
    return plan(held, "tflm", ALIGNMENT).arena_bytes


def _fixable(model: Model, walk: _Walk, records: Sequence[UsageRecord]) -> set[int]:
    """Tensors that may be fixed: those of the main subgraph that are not live while a kernel has scratch.

    TFLM reads entry i of the list for tensor i of *every* subgraph, so entries that mean two tensors are left out.
    """
    main = len(model.subgraphs[0].tensors)
    shared = max((len(subgraph.tensors) for subgraph in model.subgraphs[1:]), default=0)
    return {
        r.tensor
        for r in records
        if shared <= r.tensor < main and not any(r.first_node <= end and r.last_node >= at for at, end in walk.scratch)
    }


def _never_larger(records: list[UsageRecord], walk: _Walk, offsets: Mapping[int, int]) -> bool:
    """True if TFLM, which plans the rest, needs no more than without the plan, whatever scratch kernels request."""
    sizes = _SCRATCH_SIZES if walk.scratch else (0,)
    for size in sizes:
        scratch = [UsageRecord(-1 - i, size, *span) for i, span in enumerate(walk.scratch)]
        if greedy([*records, *scratch], offsets) > greedy([*records, *scratch], {}):
            return False
    return True


def plan_for_tflm(
    model: Model, strategy: str = "exact", *, max_seconds: float | None = 10.0, capacity: int | None = None
) -> OfflinePlan:
    """Plans a model for TFLM, alignment 16.

    Tensors that are live while a kernel has scratch are placed at run time. If TFLM could still need more with the plan
    than without, so are tensors that are live together with those, and finally all. Raises: InputError, ArenaError.
    """
    walk = _Walk(model)
    records = _records(model, walk)
    tensors = [tensor for subgraph in model.subgraphs for tensor in subgraph.tensors]
    names = {record.tensor: tensors[record.tensor].name for record in records}
    made = plan(records, strategy, ALIGNMENT, capacity=capacity, max_seconds=max_seconds, names=names)
    fixable = _fixable(model, walk, records)
    left = [record for record in records if record.tensor not in fixable]
    apart = {
        r.tensor for r in records if not any(r.first_node <= o.last_node and r.last_node >= o.first_node for o in left)
    }
    ends = [made.arena_bytes - at - record.size for at, record in zip(made.offsets, records, strict=True)]
    for chosen in (fixable, fixable & apart):
        for version in (made, replace(made, offsets=tuple(ends))):  # upside down, the rest finds other gaps
            offsets = {r.tensor: at for r, at in zip(records, version.offsets, strict=True) if r.tensor in chosen}
            if _never_larger(records, walk, offsets):
                return OfflinePlan(version, offsets)
    return OfflinePlan(made, {})
