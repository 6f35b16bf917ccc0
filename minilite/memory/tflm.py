"""Plans memory like TensorFlow Lite Micro: its lifetimes, its greedy planner, and offline plans for it.

TFLM counts scopes: one at the start, one more for each operator and for each subgraph an operator calls. Graph inputs
live from the first scope to their last reader, graph outputs to the end, everything else from its operator to its last
reader; nothing is shared in place. Tensors that no node of a subgraph that runs mentions get memory, too: they all live
before the first scope, here called scope 0. Sizes are rounded up to 16. Kernels request scratch while they are
prepared (tflm_kernels.py).

Source: tflite-micro, micro_allocation_info.cc, memory_planner/greedy_memory_planner.cc (2026).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from minilite.format.model import Model, Node
from minilite.memory.plan import MemoryPlan, plan
from minilite.memory.records import UsageRecord
from minilite.memory.tflm_kernels import Build, byte_size, call_of, scratch_of, up

ALIGNMENT = 16
HOST = Build(pointer=8, compression=True, recording=True)
"""The package tflite-micro on x86-64."""
_UNKNOWN = tuple(16 << shift for shift in range(0, 20, 2))
"""The sizes tried for scratch of which none is known."""
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


class Scratch(NamedTuple):
    """The scratch of one node's kernel."""

    subgraph: int
    node: int
    first: int
    """The first scope; 0 if the node never runs."""
    last: int
    sizes: tuple[int, ...] | None
    """None if they are not known."""


class Lifetimes:
    """The scopes of a model's tensors and scratch; tensors are numbered on through all subgraphs."""

    def __init__(self, model: Model) -> None:
        self.model: Model = model
        self.base: list[int] = [sum(len(s.tensors) for s in model.subgraphs[:i]) for i in range(len(model.subgraphs))]
        count = sum(len(subgraph.tensors) for subgraph in model.subgraphs)
        self.first: list[int] = [0] * count
        self.last: list[int] = [0] * count
        self.nodes: dict[tuple[int, int], tuple[int, int]] = {}
        self.scope: int = 1
        self.entered: list[int] = []
        self._enter(0)

    def _create(self, tensor: int) -> None:
        self.first[tensor] = self.first[tensor] or self.scope

    def _enter(self, index: int) -> None:
        if index in self.entered:  # the engine refuses recursion
            return
        self.entered.append(index)
        subgraph, base = self.model.subgraphs[index], self.base[index]
        for tensor in subgraph.inputs:
            self._create(base + tensor)
            self.last[base + tensor] = self.scope
        for node in subgraph.nodes:
            self._run(index, node, base)
        for tensor in subgraph.outputs:
            self._create(base + tensor)
            self.last[base + tensor] = self.scope
        self.entered.pop()

    def _run(self, index: int, node: Node, base: int) -> None:
        self.scope += 1
        start = self.scope
        outputs = [base + tensor for tensor in node.outputs if tensor >= 0]
        for tensor in outputs:
            self._create(tensor)
        for field in _CALLS:
            called = node.options.get(field, -1)
            if isinstance(called, int) and 0 <= called < len(self.model.subgraphs):
                self.scope += 1
                self._enter(called)
        for tensor in (*(base + tensor for tensor in node.inputs if tensor >= 0), *outputs):
            self.last[tensor] = self.scope
        began, _ = self.nodes.get((index, node.index), (start, 0))
        self.nodes[index, node.index] = began, self.scope

    def scratch(self, build: Build = HOST) -> list[Scratch]:
        """The scratch of all kernels that request some or may do so, in the order of the requests."""
        found = []
        for subgraph in self.model.subgraphs:
            for node in subgraph.nodes:
                sizes = scratch_of(call_of(self.model, subgraph.index, node, build))
                span = self.nodes.get((subgraph.index, node.index), (0, 0))
                if sizes is None or sizes:
                    found.append(Scratch(subgraph.index, node.index, *span, None if sizes is None else tuple(sizes)))
        return found

    def records(self) -> list[UsageRecord]:
        """The usage records of tensors; variables and resources have none."""
        tensors = [tensor for subgraph in self.model.subgraphs for tensor in subgraph.tensors]
        handles = {
            base + number
            for base, subgraph in zip(self.base, self.model.subgraphs, strict=True)
            for node in subgraph.nodes
            if node.op == "VAR_HANDLE"
            for number in node.outputs
        }
        return [
            UsageRecord(number, up(byte_size(tensor), ALIGNMENT), self.first[number], self.last[number])
            for number, tensor in enumerate(tensors)
            if tensor.data is None and not tensor.is_variable and number not in handles
            if min(tensor.shape, default=1) > 0
        ]


def scratch_records(scratch: Sequence[Scratch], unknown: int = 0) -> list[UsageRecord]:
    """The usage records of scratch, numbered down from -1; a kernel whose requests are not known has one of `unknown`
    bytes."""
    sizes = [(size, s.first, s.last) for s in scratch for size in (s.sizes if s.sizes is not None else (unknown,))]
    return [UsageRecord(-1 - i, up(size, ALIGNMENT), first, last) for i, (size, first, last) in enumerate(sizes)]


def usage_records(model: Model) -> list[UsageRecord]:
    """TFLM's records, with scopes for nodes; tensors are numbered on through all subgraphs. Variables have none."""
    return Lifetimes(model).records()


def greedy(records: Sequence[UsageRecord], offsets: Mapping[int, int]) -> int:
    """The arena bytes of TFLM's own planner, with some tensors at given offsets."""
    held = [record._replace(offset=offsets.get(record.tensor)) for record in records]
    unused: dict[int | None, UsageRecord] = {}  # on top of each other: only the largest at an offset counts
    for record in held:
        if record.last_node == 0 and record.offset is not None:
            unused[record.offset] = max(record, unused.get(record.offset, record), key=lambda each: each.size)
    kept = [record for record in held if record.last_node or record.offset is None]
    return plan([*unused.values(), *kept], "tflm", ALIGNMENT).arena_bytes


def _fixable(model: Model, scratch: Sequence[Scratch], records: Sequence[UsageRecord]) -> set[int]:
    """Tensors that may be fixed: those of the main subgraph that are not live while a kernel has scratch.

    TFLM reads entry i of the list for tensor i of *every* subgraph, so entries that mean two tensors are left out.
    """
    main = len(model.subgraphs[0].tensors)
    shared = max((len(subgraph.tensors) for subgraph in model.subgraphs[1:]), default=0)
    return {
        r.tensor
        for r in records
        if shared <= r.tensor < main and not any(r.first_node <= s.last and r.last_node >= s.first for s in scratch)
    }


def _never_larger(records: list[UsageRecord], scratch: Sequence[Scratch], offsets: Mapping[int, int]) -> bool:
    """True if TFLM, which plans the rest, needs no more than without the plan, whatever scratch kernels request."""
    sizes = (0,) if all(s.sizes is not None for s in scratch) else _UNKNOWN
    for size in sizes:
        every = [*records, *scratch_records(scratch, size)]
        if greedy(every, offsets) > greedy(every, {}):
            return False
    return True


def plan_for_tflm(
    model: Model, strategy: str = "exact", *, max_seconds: float | None = 10.0, capacity: int | None = None
) -> OfflinePlan:
    """Plans a model for TFLM, alignment 16.

    Tensors that are live while a kernel has scratch are placed at run time. If TFLM could still need more with the plan
    than without, so are tensors that are live together with those, and finally all. Tensors that no node mentions are
    put at offset 0, on top of others: nothing ever writes them. Raises: InputError, ArenaError.
    """
    lifetimes = Lifetimes(model)
    every, scratch = lifetimes.records(), lifetimes.scratch()
    fixable = _fixable(model, scratch, every)
    records = [r._replace(size=0) if r.last_node == 0 and r.tensor in fixable else r for r in every]
    tensors = [tensor for subgraph in model.subgraphs for tensor in subgraph.tensors]
    names = {record.tensor: tensors[record.tensor].name for record in records}
    made = plan(records, strategy, ALIGNMENT, capacity=capacity, max_seconds=max_seconds, names=names)
    left = [record for record in records if record.tensor not in fixable]
    apart = {
        r.tensor for r in records if not any(r.first_node <= o.last_node and r.last_node >= o.first_node for o in left)
    }
    ends = [made.arena_bytes - at - r.size if r.size else 0 for at, r in zip(made.offsets, records, strict=True)]
    for chosen in (fixable, fixable & apart):
        for version in (made, replace(made, offsets=tuple(ends))):  # upside down, the rest finds other gaps
            offsets = {r.tensor: at for r, at in zip(records, version.offsets, strict=True) if r.tensor in chosen}
            if _never_larger(every, scratch, offsets):
                return OfflinePlan(version, offsets)
    return OfflinePlan(made, {})
