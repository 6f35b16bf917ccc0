"""ArenaPlanner: TFLite's planner with its own two arenas, over any graph of tensors and nodes.

The engine uses the same planner in C; this class is for tests and for study. Calls are made in TFLite's order::

    planner = ArenaPlanner(graph)
    planner.plan_allocations()            # lifetimes and sharing
    planner.execute_allocations(0, 3)     # places what nodes 0..3 allocate, commits memory, resolves pointers
    planner.reset_allocations_after(1)    # forgets what nodes 2.. allocate
    planner.set_bytes(5, 4096)
    planner.execute_allocations(2, 3)

Source: TFLite arena_planner.cc, simple_memory_arena.cc; A. Kelly, "Simpleperf case study: Fast initialization of
TFLite's Memory Arena" (2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from minilite._native.memory import strategies
from minilite._native.planner import FOREVER, PLACE_ARENA, PLACE_NONE, PLACE_PERSISTENT, Arena, Planner
from minilite._native.status import NODE_IN_PLACE, NODE_TFLITE_SHARES, NODE_VIEW
from minilite.errors import InputError, StateError
from minilite.memory.records import UsageRecord

_SHARING: dict[str, dict[str, bool]] = {
    "none": {},
    "tflite": {"share_tflite": True},
    "wide": {"share_wide": True},
}


class PlannerNode(NamedTuple):
    """A node: tensor numbers (-1 = an absent input), and which inputs output 0 may overwrite."""

    inputs: Sequence[int]
    outputs: Sequence[int]
    in_place: Sequence[int] = ()
    view: bool = False
    """Output 0 has the bytes of input 0 with another shape."""
    tflite_shares: bool = True
    """TFLite's planner shares in place for this operator; "wide" sharing always does."""
    temporary_bytes: int = 0
    """Bytes of scratch memory that the node needs while it runs."""


class PlannerGraph(NamedTuple):
    """The graph that an ArenaPlanner plans: sizes in bytes by tensor, nodes in execution order."""

    sizes: Sequence[int]
    nodes: Sequence[PlannerNode]
    inputs: Sequence[int]
    outputs: Sequence[int]
    variables: Sequence[int] = ()
    """Tensors in the persistent arena."""
    constants: Sequence[int] = ()
    """Tensors that take no memory here: constants, and dynamic tensors in TFLite's sense."""


class ArenaPlanner:
    """Plans a graph's tensors in an arena and a persistent arena, and resolves their addresses.

    `strategy` names the planning strategy; "tflite" is TFLite's own greedy by size. Raises: InputError.
    """

    def __init__(
        self,
        graph: PlannerGraph,
        *,
        strategy: str = "tflite",
        in_place: str = "tflite",
        preserve_inputs: bool = True,
        preserve_all_tensors: bool = False,
        free_unread: bool = False,
        alignment: int = 64,
    ) -> None:
        _check_graph(graph)
        if strategy not in strategies():
            message = f"strategy is {strategy!r}, must be one of {', '.join(strategies())}"
            raise InputError(message)
        self.graph = graph
        options = {
            **_SHARING[in_place],
            "keep_inputs": preserve_inputs,
            "keep_all": preserve_all_tensors,
            "free_unread": free_unread,
        }
        rows = [(node.inputs, node.outputs, _flags(node)) for node in graph.nodes]
        self._n = len(graph.sizes)
        self._planner = Planner(self._n, rows, graph.inputs, graph.outputs, strategy, options, alignment)
        self._arenas = {PLACE_ARENA: Arena(), PLACE_PERSISTENT: Arena()}
        self._pointers = [0] * self._planner.count
        self._planned = False
        self.resolved: int = 0
        """How many pointers were resolved so far; only changed ones are."""
        for tensor, size in enumerate(graph.sizes):
            self._planner.set_tensor(tensor, size, self._place(tensor))
        for number, node in enumerate(graph.nodes):
            if node.temporary_bytes:
                self._planner.set_tensor(self._n + number, node.temporary_bytes, PLACE_ARENA)

    def _place(self, tensor: int) -> int:
        if tensor in self.graph.variables:
            return PLACE_PERSISTENT
        return PLACE_NONE if tensor in self.graph.constants else PLACE_ARENA

    def set_bytes(self, tensor: int, nbytes: int) -> None:
        """Sets a tensor's size in bytes; it gets the memory in the next `execute_allocations` that covers its node."""
        if nbytes < 0:
            message = f"tensor {tensor}: {nbytes} bytes, must be 0 or more"
            raise InputError(message)
        self._planner.set_tensor(tensor, nbytes, self._place(tensor))

    # TFLite's calls ---------------------------------------------------------------------------------------------------

    def plan_allocations(self) -> None:
        """Finds lifetimes, and which tensors share memory; sizes matter only for sharing. Forgets every offset."""
        self._planner.plan_allocations()
        self._planned = True
        self._pointers = [
            p if self._planner.place_of(t) == PLACE_PERSISTENT else 0 for t, p in enumerate(self._pointers)
        ]

    def execute_allocations(self, first: int, last: int) -> None:
        """Places the tensors that nodes first..last (inclusive) allocate around live ones, takes memory, resolves
        pointers.

        Only tensors that grew are placed again. Raises: ArenaError, StateError.
        """
        if not self._planned:
            message = "execute_allocations before plan_allocations: lifetimes are not known"
            raise StateError(message)
        self._planner.execute_allocations(first, last)
        self.acquire_non_persistent_memory()

    def reset_allocations(self) -> None:
        """Forgets every offset of the arena; the persistent arena stays."""
        self._planner.reset_allocations()
        self._resolve(everything=False)

    def reset_allocations_after(self, node: int) -> None:
        """Forgets tensors allocated after `node`; tensors live at `node` keep their offsets."""
        self._planner.reset_allocations_after(node)
        self._resolve(everything=False)

    def deallocate_after(self, node: int) -> None:
        """Marks tensors allocated after `node` for `resolve_deallocations`."""
        self._planner.deallocate_after(node)

    def resolve_deallocations(self) -> None:
        """Drops all marked tensors in one pass over the records."""
        self._planner.resolve_deallocations()
        self._resolve(everything=False)

    def purge_active_allocations(self, node: int) -> None:
        """Drops the records of tensors whose last reader comes before `node` from the list of active records."""
        self._planner.purge(node)

    def release_non_persistent_memory(self) -> None:
        """Gives back the arena's memory; offsets stay."""
        self._arenas[PLACE_ARENA].release()
        self._resolve(everything=True)

    def acquire_non_persistent_memory(self) -> None:
        """Takes memory for the current plan, and resolves pointers that changed. Raises: ArenaError."""
        moved = False
        for place, arena in self._arenas.items():
            moved |= arena.commit(self._planner.high_water(place), arena.capacity)
        self._resolve(everything=moved)

    @property
    def has_non_persistent_memory(self) -> bool:
        """Whether the arena holds memory."""
        return self._arenas[PLACE_ARENA].base != 0

    def base_pointer(self, *, persistent: bool = False) -> int:
        """The address of an arena's first byte, 0 while it holds no memory."""
        return self._arenas[PLACE_PERSISTENT if persistent else PLACE_ARENA].base

    # Results ----------------------------------------------------------------------------------------------------------

    def _resolve(self, *, everything: bool) -> None:
        for tensor, offset in enumerate(self._planner.offsets()):
            base = self._arenas.get(self._planner.place_of(tensor))
            placed = base is not None and base.base != 0 and offset >= 0 and self._planner.bytes_of(tensor) > 0
            pointer = base.base + offset if placed and base is not None else 0
            if pointer != self._pointers[tensor] or (everything and pointer):
                self._pointers[tensor] = pointer
                self.resolved += pointer != 0

    def pointer(self, tensor: int) -> int:
        """A tensor's address; 0 while it has none, and for tensors without bytes."""
        return self._pointers[tensor]

    def offset(self, tensor: int) -> int | None:
        """A tensor's offset in its arena in bytes, None while it is not placed."""
        offset = self._planner.offsets()[tensor]
        return offset if offset >= 0 else None

    def temporary_offset(self, node: int) -> int | None:
        """The offset of a node's scratch memory, None while it is not placed."""
        return self.offset(self._n + node)

    def root(self, tensor: int) -> int:
        """The tensor whose memory it shares, or itself."""
        return self._planner.roots()[tensor]

    def lifetime(self, tensor: int) -> tuple[int, int | None]:
        """First and last node, both inclusive; (-1, ...) = never allocated, last None = never freed."""
        first, last = self._planner.lifetimes()[tensor]
        return first, None if last == FOREVER else last

    @property
    def arena_bytes(self) -> int:
        """The arena's high-water mark, rounded up to the alignment."""
        return self._planner.high_water(PLACE_ARENA)

    @property
    def persistent_bytes(self) -> int:
        """The persistent arena's size, rounded up to the alignment."""
        return self._planner.high_water(PLACE_PERSISTENT)

    @property
    def lower_bound(self) -> int:
        """The largest sum of bytes live at once."""
        return self._planner.lower_bound

    @property
    def active_records(self) -> int:
        """The number of records that placing looks at."""
        return self._planner.active

    def records(self) -> list[UsageRecord]:
        """The usage records of all tensors in the arena that do not share another's memory."""
        return [UsageRecord(tensor, size, first, last) for tensor, size, first, last, _ in self._planner.records()]

    def buffer(self, tensor: int) -> Any:
        """A writable buffer over a tensor's bytes, valid until memory moves. Raises: StateError."""
        offset = self.offset(tensor)
        arena = self._arenas.get(self._planner.place_of(tensor))
        if offset is None or arena is None or arena.base == 0:
            message = f"tensor {tensor} has no memory: it is not placed, or memory was released"
            raise StateError(message)
        return arena.buffer(offset, self._planner.bytes_of(tensor))


def _flags(node: PlannerNode) -> int:
    in_place = (0,) if node.view else node.in_place
    flags = sum(NODE_IN_PLACE << i for i in set(in_place))
    flags |= NODE_VIEW if node.view else 0
    return flags | (NODE_TFLITE_SHARES if node.tflite_shares else 0)


def _check_graph(graph: PlannerGraph) -> None:
    count = len(graph.sizes)
    numbers = [(f"node {n}", t) for n, node in enumerate(graph.nodes) for t in (*node.inputs, *node.outputs)]
    numbers += [("the graph", t) for t in (*graph.inputs, *graph.outputs, *graph.variables, *graph.constants)]
    for where, tensor in numbers:
        if not -1 <= tensor < count:
            message = f"{where} names tensor {tensor}: the graph has tensors 0 to {count - 1}"
            raise InputError(message)
    for tensor, size in enumerate(graph.sizes):
        if size < 0:
            message = f"tensor {tensor}: {size} bytes, must be 0 or more"
            raise InputError(message)
