"""ModelPlan: a model's plan with names, shown as a table in terminals and as a picture in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minilite._native.plan import Plan
from minilite._native.tiles import planned_tiles
from minilite.late import Later
from minilite.text import Cell, count, cut, shape_text, table

if TYPE_CHECKING:
    from typing import NoReturn

    from minilite import memory
    from minilite._native.tiles import TileGroup
    from minilite.format.model import Model
    from minilite.memory import MemoryPlan
else:
    memory = Later("minilite.memory")

_FOREVER = 2**31 - 1
_MOST = 10
"""The number of the largest tensors that are shown."""
_WIDTH = 100


class ModelPlan(Plan):
    """A plan with the names of the model it is for."""

    def __init__(self, plan: Plan, model: Model) -> None:
        super().__init__(plan._cell, plan._owner)
        self._model = model

    def __reduce__(self) -> NoReturn:
        message = "a plan belongs to its interpreter, which can be pickled; .to_memory_plan() gives a plan of its own"
        raise TypeError(message)

    def __repr__(self) -> str:
        """The largest tensors of the main frame, with places and lifetimes."""
        made = self.to_memory_plan()
        labels = made.short_labels()
        largest = sorted(range(len(made.records)), key=lambda at: (-made.records[at].size, at))
        rows: list[list[Cell]] = []
        for at in largest[:_MOST]:
            record = made.records[at]
            last = "end" if record.last_node >= _FOREVER else record.last_node
            shape = shape_text(self.shape(record.tensor)) if record.tensor < self.n_tensors else ""
            lives = f"{record.first_node}-{last}"
            rows.append([record.tensor, cut(labels[at]), shape, record.size, made.offsets[at], lives])
        rest = len(made.records) - _MOST
        more = f"\n  and {count(rest, 'record')} that are not larger" if rest > 0 else ""
        header = ("tensor", "name", "shape", "bytes", "offset", "lives")
        tiles = f"\n{text}" if (text := self.tiles_text()) else ""
        return f"{super().__repr__()}\n{table(header, rows, width=_WIDTH)}{more}{tiles}"

    def to_memory_plan(self) -> MemoryPlan:
        """The main frame's records and offsets, by name, as a MemoryPlan: it prints live bytes by node, draws itself,
        and compares."""
        rows = self.records()
        names = self.record_names()
        records = tuple(memory.UsageRecord(tensor, size, first, last) for tensor, size, first, last, _ in rows)
        optimal = self.arena_bytes == self.lower_bound
        offsets = tuple(row[4] for row in rows)
        return memory.MemoryPlan(
            records, offsets, self.arena_bytes, self.lower_bound, optimal, "in use", 0, names=names,
            title=f"plan for {self.inputs_text()}",
        )  # fmt: skip

    def record_names(self) -> dict[int, str]:
        """Names the records of the main frame, by tensor: tensors, scratch of nodes, patches of tile groups."""
        tensors = self._model.subgraphs[self.frames()[0][0]].tensors
        patches = {
            len(tensors) + group.last: f"patches of nodes {first} to {last}" for first, last, group in self.tile_nodes()
        }
        names = {
            row[0]: tensors[row[0]].name if row[0] < len(tensors) else f"scratch of node {row[0] - len(tensors)}"
            for row in self.records()
        }
        return {tensor: patches.get(tensor, name) for tensor, name in names.items()}

    def tiles(self) -> tuple[TileGroup, ...]:
        """The groups of nodes of the main frame that run patch by patch: there are none without `max_arena`."""
        return planned_tiles(self._pointer)

    def tile_nodes(self) -> list[tuple[int, int, TileGroup]]:
        """Each of these groups after the numbers that its first and its last node have in the file."""
        groups = self.tiles()
        numbers = [number for number, _ in self.nodes()] if groups else []
        return [(numbers[group.first], numbers[group.last], group) for group in groups]

    def tiles_text(self) -> str:
        """Names these groups by the numbers of their nodes in the file; empty if there are none."""
        return "; ".join(
            f"nodes {first} to {last} in {group.rows} x {group.columns} patches"
            for first, last, group in self.tile_nodes()
        )

    def inputs_text(self) -> str:
        """Names and shapes of the first inputs: ``image 1x64x64x1``."""
        graph = self._model.subgraphs[self.frames()[0][0]]
        inputs = ", ".join(f"{cut(graph.tensors[i].name)} {shape_text(self.shape(i))}" for i in graph.inputs[:2])
        return f"{inputs} ..." if len(graph.inputs) > 2 else inputs or "no inputs"

    def to_svg(self, width: int = 900, height: int = 420) -> str:
        """Rectangles over time (across) and offset (up); hovering names the tensor."""
        return self.to_memory_plan().to_svg(width, height)

    def _repr_svg_(self) -> str:
        return self.to_svg()
