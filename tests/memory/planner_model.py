"""A judge of ArenaPlanner: computes lifetimes independently, makes calls in any order with any numbers, and runs the
graph in the planner's memory."""

from __future__ import annotations

import itertools
import random
from typing import Any

from minilite.errors import ArenaError, InputError, MiniliteError, StateError
from minilite.memory import ArenaPlanner, PlannerGraph, PlannerNode, strategies

HOSTILE: tuple[Any, ...] = (
    -(10**9),
    -2,
    10**6,
    2**31,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63) - 1,
    True,
    1.5,
    "x",
    None,
)
SIZES = (0, 1, 4, 64, 65, 100, 128, 300)


def random_graph(r: random.Random) -> PlannerGraph:
    """Returns a graph of nodes in a row, each of which reads earlier tensors."""
    n_nodes, inputs = r.randrange(7), r.randrange(1, 3)
    there, nodes = [*range(inputs + 1)], []  # the last of them is a variable
    for _ in range(n_nodes):
        reads = [r.choice((*there, -1)) for _ in range(r.randrange(1, 4))]
        makes = [len(there) + i for i in range(r.randrange(1, 3))]
        view = r.random() < 0.15 and reads[0] >= 0
        in_place = [i for i in range(len(reads)) if r.random() < 0.5]
        nodes.append(PlannerNode(reads, makes, in_place, view, temporary_bytes=r.choice((0, 0, *SIZES))))
        there += makes
    sizes = [r.choice((64, 100, 100, *SIZES)) for _ in there]
    for node in nodes:
        if node.view:
            sizes[node.outputs[0]] = sizes[node.inputs[0]]
    outputs = [r.choice(there) for _ in range(r.randrange(1, 3))]
    return PlannerGraph(sizes, nodes, [*range(inputs)], outputs, variables=[inputs])


class Judge:
    """One planner, and what must be true of it after every call."""

    def __init__(self, seed: int) -> None:
        r = self.random = random.Random(seed)
        self.graph = random_graph(r)
        self.alignment, self.keeps = r.choice((1, 16, 64, 256)), r.random() < 0.5
        self.planner = ArenaPlanner(
            self.graph, strategy=r.choice(strategies()), in_place=r.choice(("none", "tflite", "wide")),
            preserve_inputs=self.keeps, alignment=self.alignment, free_unread=r.random() < 0.5,
        )  # fmt: skip
        self.nodes, self.tensors = len(self.graph.nodes), len(self.graph.sizes)
        self.count = self.tensors + self.nodes
        self.size = [*self.graph.sizes, *(node.temporary_bytes for node in self.graph.nodes)]
        self.planned, self.runs, self.calls, self.refused = False, 0, 0, 0
        self.lives = [self._life(tensor) for tensor in range(self.count)]

    def _life(self, tensor: int) -> tuple[float, float]:
        """The first and the last node at which its bytes matter."""
        if tensor >= self.tensors:
            return tensor - self.tensors, tensor - self.tensors
        graph, end = self.graph, float("inf")
        makes = [n for n, node in enumerate(graph.nodes) if tensor in node.outputs]
        reads = [n for n, node in enumerate(graph.nodes) if tensor in node.inputs]
        first = 0 if tensor in graph.inputs else min(makes, default=end)
        kept = tensor in graph.outputs or (self.keeps and tensor in graph.inputs)
        return first, end if kept else max([first, *reads])

    def state(self) -> list[Any]:
        """Everything that a refused call must leave as it was."""
        p = self.planner
        places = [
            (p.offset(t), p.pointer(t), p._planner.placed_bytes(t), p._planner.bytes_of(t)) for t in range(self.count)
        ]
        return [*places, p.arena_bytes, p.persistent_bytes, p.has_non_persistent_memory]

    def call(self) -> None:
        """One more call, of which every fifth has a number that does not fit."""
        r, p = self.random, self.planner
        node = [r.randrange(-1, self.nodes + 1)]
        first = r.randrange(-1, max(self.nodes, 1))
        makes: tuple[tuple[Any, list[Any]], ...] = (
            (p.plan_allocations, []), (p.set_bytes, [r.randrange(self.count), r.choice(SIZES)]),
            (p.execute_allocations, [first, r.randrange(first, self.nodes + 2)]),
            (p.execute_allocations, [0, self.nodes - 1]), (p.reset_allocations, []), (p.reset_allocations_after, node),
            (p.deallocate_after, node), (p.resolve_deallocations, []), (p.purge_active_allocations, node),
            (p.release_non_persistent_memory, []), (p.acquire_non_persistent_memory, []),
            (p.pointer, [r.randrange(self.count)]), (p.offset, [r.randrange(self.count)]),
            (p.root, [r.randrange(self.count)]), (p.lifetime, [r.randrange(self.count)]),
        )  # fmt: skip
        make, numbers = r.choices(makes, (3, 4, 4, 4, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1))[0]
        hostile = bool(numbers) and r.random() < 0.2
        if hostile:
            numbers = [*numbers]
            numbers[r.randrange(len(numbers))] = r.choice(HOSTILE)
        before, kind = self.state(), make.__name__
        self.calls += 1
        try:
            make(*numbers)
        except InputError:
            self.refused += 1
            grows = kind == "set_bytes" and numbers[0] == self.graph.variables[0]
            assert hostile or grows, (kind, numbers)
            assert self.state() == before, (kind, numbers)
            return
        except (StateError, ArenaError) as error:
            self.refused += 1
            assert kind in ("execute_allocations", "acquire_non_persistent_memory"), (kind, numbers)
            unfit = not self.planned or "shares the place" in str(error)
            assert unfit or isinstance(error, ArenaError), (kind, numbers)  # noqa: PT017
        self.planned |= kind == "plan_allocations"
        if kind == "set_bytes":
            self.size[numbers[0]] = int(numbers[1])
        self.check()

    def check(self) -> None:
        """Nothing live at once overlaps; all of it lies in the arena, at multiples of the alignment."""
        p, placed = self.planner, []
        for t in range(self.count):
            offset, nbytes = p.offset(t), p._planner.placed_bytes(t)
            if offset is None or nbytes == 0:
                assert p.pointer(t) == 0
                continue
            variable = t in self.graph.variables
            assert offset % self.alignment == 0
            assert offset + nbytes <= (p.persistent_bytes if variable else p.arena_bytes)
            base = p.base_pointer(persistent=variable)
            assert p.pointer(t) in ((base + offset, 0) if base else (0,))
            if self.planned and not variable:
                placed.append((t, p.root(t), offset, offset + nbytes, *self.lives[t]))
        for a, b in itertools.combinations(placed, 2):
            apart = a[3] <= b[2] or b[3] <= a[2] or a[5] < b[4] or b[5] < a[4]
            assert apart or a[1] == b[1], (a, b)
        assert p.lower_bound >= 0

    def run(self) -> None:
        """Writes and reads the bytes of every tensor as the graph would, if all have memory of their size."""
        if max(self.size) > max(SIZES):
            return
        try:
            memory = {
                t: self.planner.buffer(t) for t in range(self.tensors) if self.size[t] > 0 and self.lives[t][0] < 99
            }
        except StateError:
            return
        self.runs += 1
        stamps: dict[int, int] = {}

        def write(tensor: int, stamp: int) -> None:
            if tensor in memory:
                stamps[tensor] = stamp
                memory[tensor][:] = bytes([stamp]) * self.size[tensor]

        def read(tensor: int) -> None:
            if tensor in stamps:
                assert set(bytes(memory[tensor])) == {stamps[tensor]}, tensor

        for tensor in (*self.graph.inputs, *self.graph.variables):
            write(tensor, 1 + tensor)
        for node in self.graph.nodes:
            for tensor in node.inputs:
                read(tensor)
            for tensor in node.outputs:
                same = node.view and tensor == node.outputs[0]
                write(tensor, stamps.get(node.inputs[0], 1 + tensor) if same else 1 + tensor)
        for tensor in (*self.graph.outputs, *self.graph.variables, *(self.graph.inputs if self.keeps else ())):
            read(tensor)


def judged(seed: int) -> Judge:
    """A sequence of calls, judged after each. Raises: AssertionError with the seed."""
    judge = Judge(seed)
    try:
        for _ in range(judge.random.randrange(4, 16)):
            judge.call()
            judge.run()
    except (AssertionError, MiniliteError) as error:
        message = f"seed {seed}: {error!r}"
        raise AssertionError(message) from error
    return judge
