"""The time of a run by node: the output of `minilite profile`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from minilite._native.plan import Plan
from minilite._native.rates import byte_rate, copy_rate, float_rate
from minilite.engine.session import Session
from minilite.format.dtypes import TensorType
from minilite.report.work import multiplications
from minilite.text import Cell, cut, duration, shape_text, table, wrapped

_WARM = 1 << 14
_BYTES = (TensorType.INT8, TensorType.UINT8, TensorType.INT4)


class NodeTime(NamedTuple):
    """The times of a node of one frame, in all timed runs. A node fused into another has no time itself."""

    frame: int
    node: int
    """The node's number in the file."""
    op: str
    name: str
    """Of its first output."""
    kernel: str
    """The kernel and the operand types of its row; or the node that does its work."""
    shape: tuple[int, ...] | None
    """Of its first output."""
    runs: int
    ns: int
    """Nanoseconds of all its runs, with the nodes of its subgraphs."""
    macs: int
    """Multiply-adds of one run; 0 for operators that are not products."""
    nbytes: int
    """Bytes read and written in one run: each operand once."""
    bytewise: bool = False
    """Its products are of bytes, not of floats."""
    shared_ns: int = 0
    """How many of its nanoseconds are in work of more than one block, which threads share."""
    blocks: int = 0
    """Blocks of such work, in all its runs; 0 if everything stays on the calling thread, for any number of threads."""


def node_times(session: Session, turns: Iterable[object]) -> list[NodeTime]:
    """Runs an allocated interpreter once per turn, and returns every node that ran, frame by frame, in the order of
    execution."""
    memory = session.memory
    assert memory is not None
    frames = memory.frames()
    counts = [len(memory.nodes(frame)) for frame in range(len(frames))]
    times = session.state.run_timed(sum(counts), turns)
    memory = session.memory
    assert memory is not None
    found, at = [], 0
    for frame, (subgraph, _, _) in enumerate(frames):
        for position in range(counts[frame]):
            time = times[at + position]
            if time[1] or memory.part_of(position, frame) is not None:
                found.append(_node_time(session, memory, (frame, subgraph, position), time))
        at += counts[frame]
    return found


def _node_time(session: Session, plan: Plan, where: tuple[int, int, int], time: tuple[int, int, int, int]) -> NodeTime:
    ns, runs, shared_ns, blocks = time
    frame, subgraph, position = where
    model = session.program.model.subgraphs[subgraph]
    node = model.nodes[plan.node(position, frame)[0]]
    states = {i: plan.tensor(i, frame) for i in (*node.inputs, *node.outputs) if i >= 0}
    inputs, outputs = (
        [(states[i].shape or ()) if i >= 0 else () for i in indices] for indices in (node.inputs, node.outputs)
    )
    name, types = plan.kernel(position, frame)
    whole = plan.part_of(position, frame)
    text = f"{name} {types}" if types else f"{name} in numpy"
    return NodeTime(
        frame,
        node.index,
        node.op,
        model.tensors[node.outputs[0]].name if node.outputs and node.outputs[0] >= 0 else "",
        text if whole is None else f"part of {whole}",
        outputs[0] if outputs else None,
        runs,
        ns,
        multiplications(node.op, inputs, outputs),
        sum(state.bytes for state in states.values()) if whole is None else 0,
        len(node.inputs) > 1 and node.inputs[1] >= 0 and model.tensors[node.inputs[1]].type in _BYTES,
        shared_ns,
        blocks,
    )


class Peaks:
    """The peak rates of one core, measured when first needed."""

    def __init__(self, level: str) -> None:
        self.level = level
        self._products = float_rate(level), byte_rate(level)
        self._copies: dict[int, float] = {}

    def seconds(self, node: NodeTime) -> float:
        """The least time for the products and the bytes of a run: the larger of the two."""
        room = 1 << max(node.nbytes, _WARM).bit_length()
        if room not in self._copies:
            self._copies[room] = copy_rate(min(room, 1 << 27))
        return max(node.macs / self._products[node.bytewise], node.nbytes / self._copies[room])

    def __str__(self) -> str:
        copies = ", ".join(
            f"{rate / 1e9:.0f} GB/s over {size >> 10} KiB" for size, rate in sorted(self._copies.items())
        )
        floats, integers = (f"{rate / 1e9:.0f} GMAC/s" for rate in self._products)
        return f"level {self.level}: {floats} of float32, {integers} of bytes, copies {copies or 'not measured'}"


def profile(nodes: Sequence[NodeTime], repeat: int, peaks: Peaks, width: int | None = None) -> str:
    """Time, share, work, rates and share of the core's peak of every node, then the same by operator.

    The peak is that of products (of float32 or of bytes, like the weights), or of copies as large as the node's
    operands, whichever takes longer. A node above 100 % has its operands in a nearer cache than the copy.
    """
    whole = sum(node.ns for node in nodes if node.frame == 0) or 1
    lines = [_nodes(nodes, repeat, whole, peaks, width), "", _operators(nodes, whole, width), ""]
    total = whole / repeat / 1e9
    macs = sum(node.macs * node.runs for node in nodes) / repeat
    divided = sum(node.blocks > 0 for node in nodes)
    lines += [
        f"nodes take {duration(total)} a run, {macs / 1e6:.2f} million multiply-adds",
        wrapped(str(peaks), width),
    ]
    if divided:
        share, ran = 100 * alone(nodes), sum(node.runs > 0 for node in nodes)
        note = f"{share:.0f} % of it on the calling thread alone; {divided} of {ran} nodes are divided"
        lines.insert(-1, wrapped(note, width))
    return "\n".join(lines)


def profile_facts(nodes: Sequence[NodeTime], repeat: int, peaks: Peaks) -> dict[str, Any]:
    """The same for a program: a node's time and share of one run, its work, and its part of the core's peak."""
    whole = sum(node.ns for node in nodes if node.frame == 0) or 1
    rows = [
        {
            "frame": node.frame,
            "node": node.node,
            "op": node.op,
            "name": node.name,
            "kernel": node.kernel,
            "shape": node.shape,
            "seconds": node.ns / repeat / 1e9,
            "share": node.ns / whole,
            "multiply_adds": node.macs,
            "bytes": node.nbytes,
            "blocks": node.blocks // node.runs if node.runs else 0,
            "alone": 1 - node.shared_ns / node.ns if node.ns else None,
            "of_peak": peaks.seconds(node) / (node.ns / node.runs / 1e9) if node.ns and node.runs else None,
        }
        for node in nodes
    ]
    return {"seconds": whole / repeat / 1e9, "alone": alone(nodes), "nodes": rows}


def alone(nodes: Sequence[NodeTime]) -> float:
    """The part of the time (0 to 1) outside of work of more than one block, which only the calling thread does."""
    top = [node for node in nodes if node.frame == 0]
    return 1 - sum(node.shared_ns for node in top) / (sum(node.ns for node in top) or 1)


def _nodes(nodes: Sequence[NodeTime], repeat: int, whole: int, peaks: Peaks, width: int | None) -> str:
    rows: list[list[Cell]] = []
    divided = any(node.blocks for node in nodes)
    for node in nodes:
        seconds = node.ns / node.runs / 1e9 if node.runs else 0.0
        peak = f"{100 * peaks.seconds(node) / seconds:.0f}" if seconds else None
        rows.append(
            [
                node.frame or None,
                node.node,
                node.op,
                shape_text(node.shape),
                node.kernel,
                f"{node.ns / repeat / 1e3:.1f}" if node.runs else None,
                f"{100 * node.ns / whole:.1f}" if node.runs else None,
                f"{node.macs / 1e6:.2f}" if node.macs else None,
                f"{node.macs / seconds / 1e9:.1f}" if node.macs and seconds else None,
                f"{node.nbytes / 1024:.1f}" if node.runs else None,
                node.blocks // node.runs or None if node.runs else None,
                f"{100 - 100 * node.shared_ns / node.ns:.0f}" if node.ns and divided else None,
                peak,
                cut(node.name, 32),
            ]
        )
    head = ["frame", "node", "op", "output", "kernel", "us", "%", "MMAC", "GMAC/s", "KiB"]
    head += ["blocks", "% alone", "% of peak", "name"]
    spare = ("KiB", "MMAC", "blocks", "name", "GMAC/s", "% alone", "output")
    return table(head, rows, width=width, spare=spare)


def _operators(nodes: Sequence[NodeTime], whole: int, width: int | None) -> str:
    sums: dict[tuple[str, str], list[int]] = {}
    for node in (node for node in nodes if node.runs):
        one = sums.setdefault((node.op, node.kernel), [0, 0])
        one[0] += 1
        one[1] += node.ns
    ranked = sorted(sums.items(), key=lambda item: -item[1][1])
    rows: list[list[Cell]] = [[op, kernel, n, f"{100 * ns / whole:.1f}"] for (op, kernel), (n, ns) in ranked]
    return table(["operator", "kernel", "nodes", "%"], rows, width=width)
