"""A slow search for tiles, patch by patch and set by set, to compare csrc/plan/tiles.c with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from minilite import Interpreter
from minilite._native.kernels import find_row, multiply_adds
from minilite._native.tiles import Rectangle, patch_of

GRIDS = ((2, 1), (4, 1), (8, 1), (2, 2), (3, 3), (4, 4), (6, 6))
FOREVER = 2**31 - 1


class Group(NamedTuple):
    """Nodes first to last, by a grid: the most live bytes, and the work beyond that of the whole nodes."""

    first: int
    last: int
    rows: int
    columns: int
    live: int
    more: float


def rounded(size: int) -> int:
    return -(-size // 64) * 64


def hull(a: Rectangle, b: Rectangle) -> Rectangle:
    (r, c), (s, d) = a, b
    return (min(r[0], s[0]), max(r[1], s[1])), (min(c[0], d[0]), max(c[1], d[1]))


class Slow:
    """The facts of a model of float tensors whose nodes are not fused, each with one output."""

    def __init__(self, interpreter: Interpreter) -> None:
        plan = interpreter.plan
        assert plan is not None
        self.plan = plan
        self.sub = interpreter.model.subgraphs[0]
        self.nodes = self.sub.nodes
        self.scratch = {r[0] - len(self.sub.tensors): rounded(r[1]) for r in plan.records()}
        self.live = [
            sum(rounded(size) for _, size, first, last, _ in plan.records() if first <= n <= last)
            for n in range(len(self.nodes))
        ]
        self.made = {node.outputs[0]: n for n, node in enumerate(self.nodes)}
        self.last: dict[int, int] = {}
        for n, node in enumerate(self.nodes):
            self.last |= dict.fromkeys((x for x in node.inputs if x >= 0), n)
        self.last |= dict.fromkeys((*self.sub.inputs, *self.sub.outputs), FOREVER)
        self.work = sum(self.work_of(n, self.shapes(n), self.shape(self.nodes[n].outputs[0])) for n in self.every())

    def every(self) -> range:
        return range(len(self.nodes))

    def in_arena(self, tensor: int) -> bool:
        return tensor >= 0 and self.plan.tensor(tensor).storage == "arena"

    def is_cut(self, tensor: int) -> bool:
        """Inputs of runs may lie elsewhere, but their parts are copied all the same."""
        return tensor >= 0 and self.sub.tensors[tensor].data is None

    def shape(self, tensor: int) -> tuple[int, ...]:
        return tuple(self.plan.shape(tensor) or ())

    def shapes(self, n: int) -> list[tuple[int, ...]]:
        return [self.shape(x) if x >= 0 else () for x in self.nodes[n].inputs]

    def whole(self, tensor: int) -> Rectangle:
        shape = self.shape(tensor)
        return (0, shape[1]), (0, shape[2])

    def bytes(self, tensor: int, part: Rectangle | None = None) -> int:
        shape = list(self.shape(tensor))
        if part is not None:
            shape[1:3] = [end - first for first, end in part]
        return rounded(4 * math.prod(shape))

    def work_of(self, n: int, inputs: list[tuple[int, ...]], output: tuple[int, ...]) -> int:
        found = multiply_adds(self.nodes[n].op, inputs, [output], custom=False)
        return math.prod(output) if found is None else found

    def across(self, first: int) -> int:
        """The bytes of records that a range beginning there finds and that it or later nodes read."""
        roots = {
            self.plan.tensor(t).root
            for t in self.last
            if self.in_arena(t) and self.made.get(t, -1) < first <= self.last[t]
        }
        return sum(self.bytes(root) for root in roots)

    def group(self, first: int, last: int, grid: tuple[int, int]) -> Group | None:
        """None if a node of the range cannot run patch by patch."""
        outputs = [y for y, n in self.made.items() if first <= n <= last < self.last[y]]
        divided = {y: self.divided(y, grid) for y in outputs}
        if not all(divided.values()):
            return None
        patches = []
        for at in itertools.product(range(grid[0]), range(grid[1])):
            patches.append(self.patch(first, last, {y: divided[y][at] for y in outputs}))
            if patches[-1] is None:
                return None
        live = self.across(first) + sum(map(self.bytes, outputs)) + self.most(first, last, outputs, patches)
        done = sum(work for _, work in patches)
        whole = sum(
            self.work_of(n, self.shapes(n), self.shape(self.nodes[n].outputs[0])) for n in range(first, last + 1)
        )
        return Group(first, last, *grid, live, max(0, done - whole))  # rows that nobody reads are left out

    def divided(self, y: int, grid: tuple[int, int]) -> dict[tuple[int, int], Rectangle]:
        """The parts of an output by row and column of the grid; none if it is too small."""
        n = self.made[y]
        sides: list[list[tuple[int, int]]] = []
        for size, parts in zip(self.shape(y)[1:3], grid, strict=True):
            if size < parts:
                return {}
            sides.append([(k * size // parts, (k + 1) * size // parts) for k in range(parts)])
        found: dict[tuple[int, int], Rectangle] = {}
        for r, c in itertools.product(range(grid[0]), range(grid[1])):
            patch = patch_of(self.plan, n, (sides[0][r], sides[1][c]), len(self.nodes[n].inputs))
            if patch is None:
                return {}
            found[r, c] = patch.out
        for r, c in found:  # up to where the next begins
            bottom = found[r + 1, c][0][0] if r + 1 < grid[0] else self.shape(y)[1]
            right = found[r, c + 1][1][0] if c + 1 < grid[1] else self.shape(y)[2]
            found[r, c] = (found[r, c][0][0], bottom), (found[r, c][1][0], right)
        return found

    def patch(self, first: int, last: int, parts: dict[int, Rectangle]) -> Any:
        """(the part of each tensor, and of each operand by node and position), and the work of one patch; None if
        there is none."""
        needs, operands, work = dict(parts), {}, 0
        for n in range(last, first - 1, -1):
            y, inputs = self.nodes[n].outputs[0], self.nodes[n].inputs
            found = patch_of(self.plan, n, needs[y], len(inputs)) if y in needs else None
            if found is None:
                return None
            needs[y] = found.out
            shapes = self.shapes(n)
            for i, (x, part) in enumerate(zip(inputs, found.inputs, strict=True)):
                if not self.is_cut(x):
                    continue
                operands[n, i] = part
                needs[x] = hull(needs[x], part) if x in needs else part
                shapes[i] = (shapes[i][0], part[0][1] - part[0][0], part[1][1] - part[1][0], shapes[i][3])
            (top, bottom), (left, right) = needs[y]
            shape = self.shape(y)
            work += self.work_of(n, shapes, (shape[0], bottom - top, right - left, shape[3]))
        return (needs, operands), work

    def most(self, first: int, last: int, outputs: list[int], patches: list[Any]) -> int:
        """The most bytes of patches and scratch that are live at once: each patch has room for the largest."""
        sizes: dict[int, int] = {}
        readers: dict[int, list[int]] = {}
        lives: list[tuple[int, int, int]] = []  # bytes, first, last
        records: dict[int, int] = {}  # of a tensor's patch
        parts = [needs for (needs, _), _ in patches]
        for n in range(first, last + 1):
            for x in self.nodes[n].inputs:
                readers.setdefault(x, []).append(n)
        for n in range(first, last + 1):
            y = self.nodes[n].outputs[0]
            for i, x in enumerate(self.nodes[n].inputs):
                if not self.is_cut(x):
                    continue
                read = [operands[n, i] for (_, operands), _ in patches]
                around = [p[x] for p in parts]
                sizes[x] = max(self.bytes(x, p) for p in around)
                outside = self.made.get(x, -1) < first
                if outside and x not in records and not self.is_piece(x, around, [self.whole(x)] * len(parts)):
                    records[x] = sizes[x]
                    lives.append((sizes[x], n, readers[x][-1]))
                if not self.is_piece(x, read, around):
                    lives.append((max(self.bytes(x, p) for p in read), n, n))
            around = [p[y] for p in parts]
            if y in outputs and self.is_piece(y, around, [self.whole(y)] * len(parts)):
                continue
            size = records[y] = max(self.bytes(y, p) for p in around)
            over = any(
                records.get(x) == size and readers[x][-1] == n == self.last_within(x, last, outputs)
                and all(p[x] == p[y] == o[n, i] for p, ((_, o), _) in zip(parts, patches, strict=True))
                for i, x in enumerate(self.nodes[n].inputs)
                if i in find_row(self.nodes[n].op).in_place and self.is_cut(x)
            )  # fmt: skip
            lives.append((size, n + over, max(readers.get(y, [n])[-1], n)))
        return max(
            self.scratch.get(n, 0) + sum(size for size, a, b in lives if a <= n <= b) for n in range(first, last + 1)
        )

    def last_within(self, x: int, last: int, outputs: list[int]) -> int:
        """The last reader of a patch; none if the tensor is whole."""
        return FOREVER if x in outputs else max(n for n in range(last + 1) if x in self.nodes[n].inputs)

    def is_piece(self, tensor: int, parts: list[Rectangle], around: list[Rectangle]) -> bool:
        """True if each part is one piece of the memory of what it is a part of."""
        if parts == around:
            return True
        return self.shape(tensor)[0] == 1 and all(p[1] == a[1] for p, a in zip(parts, around, strict=True))

    def groups(self) -> list[Group]:
        """All that lower the peak of their nodes."""
        found = []
        for first, last in itertools.combinations(self.every(), 2):
            for grid in GRIDS:
                group = self.group(first, last, grid)
                if group is not None and group.live < max(self.live[first : last + 1]):
                    found.append(group)
        return found


def sets_of(groups: list[Group], start: int = 0) -> Iterator[list[Group]]:
    """All sets of groups that are apart from each other."""
    yield []
    for group in groups:
        if group.first >= start:
            for more in sets_of(groups, group.last + 1):
                yield [group, *more]


def bound_of(slow: Slow, groups: list[Group]) -> int:
    inside = {n for g in groups for n in range(g.first, g.last + 1)}
    return max([g.live for g in groups] + [live for n, live in enumerate(slow.live) if n not in inside])
