"""Collects the contents of the HTML report as plain values: records by strategy, nodes, totals."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite._native.kernels import multiply_adds
from minilite._native.status import RUNNING
from minilite.errors import InputError
from minilite.format.dtypes import TensorType
from minilite.names import names_of
from minilite.report.html_graph import becomes, first_name, graph_nodes, operands
from minilite.text import bytes_text, count, duration, exactly, shape_text, significant, types_text

if TYPE_CHECKING:
    from minilite.engine.model_plan import ModelPlan
    from minilite.format.model import Model, Subgraph, Tensor
    from minilite.memory import MemoryPlan
    from minilite.profiling.profile import Profile

_FOREVER = 2**31 - 1
_SECONDS = 0.7
"""Seconds for all plans by other strategies together."""
_SLOW = {"min_cost_flow": 400, "exact": 0, "shared_greedy_by_size_improved": 2000}
"""The number of records beyond which a slow strategy is left out."""
_NAMED = 4


class NodeRow(NamedTuple):
    """A node of the table."""

    frame: int
    position: int
    """The position in the order of running, within its frame."""
    node: int
    """The node's number in the file."""
    op: str
    name: str
    shape: str
    kernel: str
    macs: int
    nbytes: int
    """The bytes read and written in one run: its operands, each once."""
    live: int
    """The bytes of the arena that are needed while it runs; 0 if it does not run."""
    us: float | None = None
    """The microseconds of one run."""
    share: float | None = None
    """The share of the run in percent."""
    of_peak: float | None = None
    """The share of one core's peak in percent."""


# Memory ---------------------------------------------------------------------------------------------------------------


def drawing(model: Model, plan: ModelPlan) -> dict[str, Any]:
    """Returns records, plans by strategy, live bytes, and the nodes of the main frame."""
    from minilite.memory import sections

    made = plan.to_memory_plan()
    graph = model.subgraphs[plan.frames()[0][0]]
    names = names_of(graph.tensors)
    order = plan.nodes()
    producers = {
        tensor: at for at, (number, _) in enumerate(order) for tensor in graph.nodes[number].outputs if tensor >= 0
    }
    sharing: dict[int, list[str]] = {}
    for tensor in graph.tensors:
        root = plan.tensor(tensor.index).root
        if root not in (-1, tensor.index):
            sharing.setdefault(root, []).append(names[tensor.index])
    parts = sections(made.records, made.alignment)
    return {
        "records": [
            {"tensor": at, "size": record.size, "first": record.first_node, "last": _last(record.last_node)}
            | ({"shared": _some(sharing[record.tensor])} if record.tensor in sharing else {})
            for at, record in enumerate(made.records)
        ],
        "tensors": [_tensor(graph, plan, record.tensor, producers, {**made.names, **names}) for record in made.records],
        "plans": [
            {"strategy": name, "arena": each.arena_bytes, "offsets": each.offsets} for name, each in _plans(made)
        ],
        "live": [(part.first, _last(part.last), part.breadth) for part in parts],
        "lower_bound": max((part.breadth for part in parts), default=0),
        "nodes": graph_nodes(graph, plan, order, names),
        "operands": operands(graph, plan, names),
    }


def _last(node: int) -> int | None:
    return None if node >= _FOREVER else node


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _tensor(
    graph: Subgraph, plan: ModelPlan, number: int, producers: dict[int, int], names: Mapping[int, str]
) -> dict[str, Any]:
    """Returns the text for a pointer on a record; numbers beyond the tensors are scratch memory of nodes."""
    if number >= len(graph.tensors):
        at = number - len(graph.tensors)
        return {
            "name": names[number].partition(" of ")[0],
            "shape": "",
            "type": "",
            "role": "",
            "producer": at,
        }
    tensor, state = graph.tensors[number], plan.tensor(number)
    role = "input of the model" if number in graph.inputs else ""
    return {
        "name": names[number],
        "full": tensor.name,
        "number": number,
        "shape": shape_text(state.shape),
        "type": tensor.type.name.lower(),
        "role": role,
        "producer": producers.get(number),
    }


def _plans(made: MemoryPlan) -> Iterator[tuple[str, MemoryPlan]]:
    """Yields the current plan, then the same records by each strategy that is quick enough, the smallest arena
    first."""
    from minilite.memory import plan, strategies

    yield "in use", made
    found = []
    started = time.monotonic()
    for strategy in strategies():
        if len(made.records) > _SLOW.get(strategy, 10_000) or time.monotonic() - started > _SECONDS:
            continue
        try:
            found.append(plan(made.records, strategy, made.alignment))
        except InputError:  # the strategy takes no fixed records
            continue
    yield from ((each.strategy, each) for each in sorted(found, key=lambda each: each.arena_bytes))


# Nodes and totals -----------------------------------------------------------------------------------------------------


def node_rows(model: Model, plan: ModelPlan, profiled: Profile | None) -> list[NodeRow]:
    """Returns every node of every frame, in the order of running."""
    times = {(time.frame, time.node): time for time in profiled.nodes} if profiled is not None else {}
    whole = sum(time.ns for (frame, _), time in times.items() if frame == 0) or 1
    live = _live(plan)
    found = []
    for frame, (subgraph, _, _) in enumerate(plan.frames()):
        names = names_of(model.subgraphs[subgraph].tensors)
        for position, (number, status) in enumerate(plan.nodes(frame)):
            row = _row(model.subgraphs[subgraph], plan, (frame, position, number), status, names)
            if frame == 0 and status in RUNNING:
                row = row._replace(live=live.get(position, 0))
            time = times.get((frame, number))
            if profiled is not None and time is not None and time.times:
                row = row._replace(
                    us=time.ns / 1e3,
                    share=100 * time.ns / whole,
                    of_peak=100 * (profiled.peaks.share(time) or 0) or None,
                )
            found.append(row)
    return found


def _live(plan: ModelPlan) -> dict[int, int]:
    """Returns the live bytes by position in the main frame."""
    from minilite.memory import sections

    made, count_ = plan.to_memory_plan(), len(plan.nodes())
    return {
        at: part.breadth
        for part in sections(made.records, made.alignment)
        for at in range(part.first, min(part.last, count_ - 1) + 1)
    }


def _row(
    graph: Subgraph, plan: ModelPlan, where: tuple[int, int, int], status: str, names: Mapping[int, str]
) -> NodeRow:
    frame, position, number = where
    node = graph.nodes[number]
    states = {i: plan.tensor(i, frame) for i in (*node.inputs, *node.outputs) if i >= 0}
    shapes = [[(states[i].shape or ()) if i >= 0 else () for i in side] for side in (node.inputs, node.outputs)]
    runs = status in RUNNING
    if runs:
        name, types = plan.kernel(position, frame)
        kinds = [[graph.tensors[i].type.name.lower() for i in side if i >= 0] for side in (node.inputs, node.outputs)]
        kernel = f"{name} {types_text(*kinds)}".strip() if types else f"{name} in numpy"
        way = plan.way(position, frame)
        kernel += f", {way}" if way is not None else ""
        kernel += ", patch by patch" if status == "in patches" else ""
    else:
        kernel = becomes(plan, position, frame, status)
    computed = all(state.shape is not None for state in states.values()) and status not in ("folded", "view", "empty")
    products = multiply_adds(node.op, *shapes, custom=node.custom) if computed else 0
    return NodeRow(
        frame,
        position,
        number,
        node.op,
        first_name(names, node.outputs),
        shape_text(states[node.outputs[0]].shape) if node.outputs and node.outputs[0] >= 0 else "",
        kernel,
        products or 0,
        sum(state.bytes for state in states.values()) if runs else 0,
        0,
    )


def operator_rows(rows: Sequence[NodeRow]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Returns header and rows by operator; the operators with the most time, work and nodes come first."""
    groups: dict[str, list[NodeRow]] = {}
    for row in rows:
        groups.setdefault(row.op, []).append(row)
    timed = any(row.us is not None for row in rows)
    found = []
    for op, mine in groups.items():
        macs, spent = sum(row.macs for row in mine), sum(row.us or 0 for row in mine)
        share = sum(row.share or 0 for row in mine)
        found.append((spent, macs, len(mine), op, share))
    found.sort(key=lambda one: (-one[0], -one[1], -one[2], one[3]))
    header = ("operator", "nodes", "MMAC", *(("us", "%") if timed else ()))
    return header, [
        (
            op,
            nodes,
            significant(macs / 1e6) if macs else None,
            *((significant(spent), significant(share)) if timed else ()),
        )
        for spent, macs, nodes, op, share in found
    ]


def totals(
    model: Model, plan: ModelPlan, rows: Sequence[NodeRow], profiled: Profile | None
) -> Iterator[tuple[str, str]]:
    """Returns the names and values at the top of the page."""
    made = plan.to_memory_plan()
    weights = list(_weights(model))
    elements = sum(_elements(tensor) for tensor in weights)
    size = sum(tensor.data.nbytes for tensor in weights if tensor.data is not None)
    running = sum(row.kernel != "" and row.nbytes > 0 for row in rows)
    yield "nodes", f"{len(rows)}, of which {running} run" if running != len(rows) else str(len(rows))
    yield "operators", str(len({row.op for row in rows}))
    yield "tensors", str(sum(len(graph.tensors) for graph in model.subgraphs))
    if len(model.subgraphs) > 1:
        yield "subgraphs", f"{len(model.subgraphs)}, {count(len(plan.frames()), 'call')}"
    yield "parameters", f"{elements:,}"
    yield "weights", bytes_text(size)
    macs = sum(row.macs for row in rows)
    yield "multiply-adds", f"{macs / 1e6:,.2f} million" if macs >= 10**6 else f"{macs:,}"
    yield "arena", exactly(plan.arena_bytes)
    above = plan.arena_bytes - plan.lower_bound
    yield "lower bound", bytes_text(plan.lower_bound) + (f", {bytes_text(above)} below the arena" if above else ", met")
    if tiles := plan.tiles_text():
        yield "tiles", tiles
    if plan.input_bytes:
        yield "inputs beside the arena", bytes_text(plan.input_bytes)
    if made.records and plan.arena_bytes:
        yield "a place for each tensor", f"{bytes_text(made.naive_bytes)}, {made.reuse_factor:.1f} times the arena"
    if profiled is not None:
        spent = sum(row.us or 0 for row in rows if row.frame == 0)
        yield "nodes of a run", duration(spent / 1e6)


def _weights(model: Model) -> Iterator[Tensor]:
    """Yields the constants that have real numbers: floats and quantized integers."""
    reals = (TensorType.FLOAT32, TensorType.FLOAT16, TensorType.FLOAT64, TensorType.BFLOAT16)
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            if tensor.data is not None and (tensor.type in reals or tensor.quantization.scales):
                yield tensor


def _elements(tensor: Tensor) -> int:
    found = 1
    for dim in tensor.shape or ():
        found *= dim
    return found
