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
from minilite._native.planner import FOREVER, MEMORY_ARENA, MEMORY_NONE, MEMORY_PERSISTENT, Arena, Planner
from minilite._native.status import NODE_IN_PLACE, NODE_TFLITE_SHARES, NODE_VIEW
from minilite.errors import InputError, StateError, shown
from minilite.memory.records import UsageRecord
from minilite.numeric import whole

_SHARING: dict[str, dict[str, bool]] = {
    "none": {},
    "tflite": {"share_tflite": True},
    "wide": {"share_wide": True},
}


_MOST_IN_PLACE = 8
"""The number of inputs that a node can name as those that output 0 may overwrite."""


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
        graph = _checked_graph(graph)
        for name, value, known in (("strategy", strategy, strategies()), ("in_place", in_place, tuple(_SHARING))):
            if value not in known:
                message = f"{name} is {shown(value)}, must be one of {', '.join(known)}"
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
        self._places = _places(graph)
        alignment = whole("alignment", alignment, 32)
        self._planner = Planner(self._n, rows, graph.inputs, graph.outputs, strategy, options, alignment)
        self._arenas = {MEMORY_ARENA: Arena(), MEMORY_PERSISTENT: Arena()}
        self._pointers = [0] * self._planner.count
        self.resolved: int = 0
        """The number of pointers resolved so far; only changed ones are."""
        for tensor, size in enumerate(graph.sizes):
            self._planner.set_tensor(tensor, size, self._places[tensor])
        for number, node in enumerate(graph.nodes):
            if node.temporary_bytes:
                self._planner.set_tensor(self._n + number, node.temporary_bytes, MEMORY_ARENA)

    def set_bytes(self, tensor: int, nbytes: int) -> None:
        """Sets a tensor's size in bytes; it gets the memory in the next `execute_allocations` that covers its node.

        Tensors after those of the graph are the scratch memory of its nodes. Raises: InputError, also for a variable
        that has its place and would grow.
        """
        tensor = self._checked(tensor)
        self._planner.set_tensor(tensor, whole(f"tensor {tensor}: the size", nbytes), self._places[tensor])

    def _checked(self, tensor: int) -> int:
        """A tensor's number. Raises: InputError."""
        number = whole("a tensor's number", tensor)
        if not 0 <= number < len(self._places):
            message = (
                f"tensor {number} does not exist: there are tensors 0 to {self._n - 1}, and scratch memory of nodes up to "
                f"{len(self._places) - 1}"
            )
            raise InputError(message)
        return number

    # TFLite's calls ---------------------------------------------------------------------------------------------------

    def plan_allocations(self) -> None:
        """Finds lifetimes, and which tensors share memory; sizes matter only for sharing. Forgets every offset."""
        self._planner.plan_allocations()
        self._pointers = [p if self._places[t] == MEMORY_PERSISTENT else 0 for t, p in enumerate(self._pointers)]

    def execute_allocations(self, first: int, last: int) -> None:
        """Places the tensors that nodes first..last (inclusive) allocate around live ones, takes memory, resolves
        pointers.

        Only tensors that grew are placed again. Raises: InputError for a range that ends before it begins or begins
        after the last node; StateError before `plan_allocations`, and if tensors that share memory no longer have one
        size; ArenaError.
        """
        self._planner.execute_allocations(whole("first", first, 32), whole("last", last, 32))
        self.acquire_non_persistent_memory()

    def reset_allocations(self) -> None:
        """Forgets every offset of the arena; the persistent arena stays."""
        self._planner.reset_allocations()
        self._resolve(everything=False)

    def reset_allocations_after(self, node: int) -> None:
        """Forgets tensors allocated after `node`; tensors live at `node` keep their offsets. Raises:
        InputError unless it is from -1 to the number of nodes."""
        self._planner.reset_allocations_after(whole("node", node, 32))
        self._resolve(everything=False)

    def deallocate_after(self, node: int) -> None:
        """Marks tensors allocated after `node` for `resolve_deallocations`. Raises: InputError."""
        self._planner.deallocate_after(whole("node", node, 32))

    def resolve_deallocations(self) -> None:
        """Drops all marked tensors in one pass over the records."""
        self._planner.resolve_deallocations()
        self._resolve(everything=False)

    def purge_active_allocations(self, node: int) -> None:
        """Drops the records of tensors whose last reader comes before `node` from the list of active records.
        Raises: InputError."""
        self._planner.purge(whole("node", node, 32))

    def release_non_persistent_memory(self) -> None:
        """Gives back the arena's memory; offsets stay."""
        self._arenas[MEMORY_ARENA].release()
        self._resolve(everything=True)

    def acquire_non_persistent_memory(self) -> None:
        """Takes memory for the current plan, and resolves pointers that changed. Raises: ArenaError."""
        moved = False
        for place, arena in self._arenas.items():
            moved |= arena.commit(self._planner.high_water(place), arena.capacity)
        self._resolve(everything=moved)

    @property
    def has_non_persistent_memory(self) -> bool:
        """True if the arena holds memory."""
        return self._arenas[MEMORY_ARENA].base != 0

    def base_pointer(self, *, persistent: bool = False) -> int:
        """The address of an arena's first byte, 0 while it holds no memory."""
        return self._arenas[MEMORY_PERSISTENT if persistent else MEMORY_ARENA].base

    # Results ----------------------------------------------------------------------------------------------------------

    def _resolve(self, *, everything: bool) -> None:
        for tensor, offset in enumerate(self._planner.offsets()):
            nbytes = self._planner.placed_bytes(tensor)
            arena = self._arenas.get(self._places[tensor])
            pointer = arena.base + offset if arena is not None and arena.holds(offset, nbytes) and nbytes > 0 else 0
            if pointer != self._pointers[tensor] or (everything and pointer):
                self._pointers[tensor] = pointer
                self.resolved += pointer != 0

    def pointer(self, tensor: int) -> int:
        """A tensor's address; 0 while it has none, and for tensors without bytes."""
        return self._pointers[self._checked(tensor)]

    def offset(self, tensor: int) -> int | None:
        """A tensor's offset in its arena in bytes, None while it is not placed."""
        offset = self._planner.offsets()[self._checked(tensor)]
        return offset if offset >= 0 else None

    def temporary_offset(self, node: int) -> int | None:
        """The offset of a node's scratch memory, None while it is not placed. Raises: InputError."""
        node = whole("node", node, least=0, most=len(self._places) - self._n - 1)
        return self.offset(self._n + node)

    def root(self, tensor: int) -> int:
        """The tensor whose memory it shares, or itself."""
        return self._planner.roots()[self._checked(tensor)]

    def lifetime(self, tensor: int) -> tuple[int, int | None]:
        """First and last node, both inclusive; (-1, ...) = never allocated, last None = never freed."""
        first, last = self._planner.lifetimes()[self._checked(tensor)]
        return first, None if last == FOREVER else last

    @property
    def arena_bytes(self) -> int:
        """The arena's high-water mark, rounded up to the alignment."""
        return self._planner.high_water(MEMORY_ARENA)

    @property
    def persistent_bytes(self) -> int:
        """The persistent arena's size, rounded up to the alignment."""
        return self._planner.high_water(MEMORY_PERSISTENT)

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
        offset, nbytes = self.offset(tensor), self._planner.bytes_of(tensor)
        arena = self._arenas.get(self._places[tensor])
        if offset is None or arena is None or arena.base == 0:
            message = f"tensor {tensor} has no memory: it is not placed, or memory was released"
            raise StateError(message)
        placed = self._planner.placed_bytes(tensor)
        if nbytes > placed or not arena.holds(offset, nbytes):
            message = f"tensor {tensor} has grown to {nbytes} bytes, its memory has {placed}: execute_allocations first"
            raise StateError(message)
        return arena.buffer(offset, nbytes)


def _places(graph: PlannerGraph) -> list[int]:
    """The offsets by tensor, then of the scratch memory of each node."""
    places = [MEMORY_ARENA] * (len(graph.sizes) + len(graph.nodes))
    for tensors, place in ((graph.constants, MEMORY_NONE), (graph.variables, MEMORY_PERSISTENT)):
        for tensor in tensors:
            places[tensor] = place
    return places


def _flags(node: PlannerNode) -> int:
    in_place = (0,) if node.view else node.in_place
    flags = sum(NODE_IN_PLACE << i for i in set(in_place))
    flags |= NODE_VIEW if node.view else 0
    return flags | (NODE_TFLITE_SHARES if node.tflite_shares else 0)


def _checked_graph(graph: PlannerGraph) -> PlannerGraph:
    """The graph in Python's own integers, which do not overflow, and which fit C; C checks the rest. Raises:
    InputError."""
    sizes = tuple(whole(f"tensor {tensor}: the size", size) for tensor, size in enumerate(graph.sizes))
    last = len(sizes) - 1
    variables, constants = (
        tuple(whole(f"the graph's {kind}: a tensor's number", each, least=0, most=last) for each in tensors)
        for kind, tensors in (("variables", graph.variables), ("constants", graph.constants))
    )
    inputs, outputs = (
        tuple(whole("the graph: a tensor's number", each, 32) for each in tensors)
        for tensors in (graph.inputs, graph.outputs)
    )
    nodes = tuple(_checked_node(f"node {number}", node) for number, node in enumerate(graph.nodes))
    return PlannerGraph(sizes, nodes, inputs, outputs, variables, constants)


def _checked_node(where: str, node: PlannerNode) -> PlannerNode:
    inputs, outputs = (
        tuple(whole(f"{where}: a tensor's number", each, 32) for each in tensors)
        for tensors in (node.inputs, node.outputs)
    )
    in_place = tuple(whole(f"{where}: in_place", each, least=0, most=_MOST_IN_PLACE - 1) for each in node.in_place)
    return node._replace(
        inputs=inputs,
        outputs=outputs,
        in_place=in_place,
        temporary_bytes=whole(f"{where}: temporary_bytes", node.temporary_bytes),
    )
