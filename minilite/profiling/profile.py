"""Profile: the time of a run by node, as medians over many runs with their spread."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite._native.kernels import multiply_adds
from minilite._native.plan import Plan
from minilite._native.rates import byte_rate, copy_rate, float_rate
from minilite._native.timing import BLOCKS, NS, RUNS, SHARED_NS, Timing, run_timed
from minilite.errors import InputError
from minilite.format.dtypes import TensorType
from minilite.numeric import whole
from minilite.progress import Progress, silent
from minilite.text import types_text

if TYPE_CHECKING:
    from minilite._native.timing import Clock
    from minilite.engine.session import Session
    from minilite.format.model import Array

EVENTS = 1 << 20
"""The largest number of events in a trace: 24 MiB."""
_WARM = 1 << 14
_BYTES = (TensorType.INT8, TensorType.UINT8, TensorType.INT4)


class Spread(NamedTuple):
    """A time in nanoseconds, measured in many runs; half of the times are between the quartiles `low` and `high`."""

    median: float
    low: float
    high: float
    least: float
    most: float

    @classmethod
    def of(cls, samples: Array) -> Spread:
        """Returns the spread of one number per run."""
        low, median, high = np.percentile(samples, (25, 50, 75))
        return cls(float(median), float(low), float(high), float(samples.min()), float(samples.max()))

    @property
    def percent(self) -> float:
        """The distance of the quartiles in percent of the median."""
        return 100 * (self.high - self.low) / self.median if self.median else 0.0


class NodeTime(NamedTuple):
    """The time and work of a node of one frame in a run. A node that is part of another has none of its own."""

    frame: int
    node: int
    """The node's number in the file."""
    op: str
    name: str
    """The name of its first output."""
    kernel: str
    """The kernel with its operand types, or the node that this one is part of."""
    shape: tuple[int, ...] | None
    """The shape of its first output."""
    times: float
    """The number of executions in a run; 0 for a part of another node."""
    time: Spread
    """The time of all its executions in a run, with the nodes of its subgraphs."""
    macs: int
    """The multiply-adds of one execution; 0 for operators that do not consist of products."""
    nbytes: int
    """The bytes read and written in one execution: its operands, each once."""
    bytewise: bool = False
    """True if its products are of bytes."""
    shared_ns: float = 0.0
    """The nanoseconds (median) of work in more than one block, which threads share."""
    blocks: float = 0.0
    """The number of such blocks in one execution; 0 if all work stays on the calling thread, whatever the number of
    threads."""
    tensor: int = -1
    """The number of its first output; -1 if it has none."""

    @property
    def ns(self) -> float:
        """The median of its nanoseconds in a run."""
        return self.time.median

    @property
    def seconds(self) -> float:
        """The median of one execution; 0 if it does not run."""
        return self.ns / self.times / 1e9 if self.times else 0.0


class Profile:
    """The times of every node of a model, as medians over runs, from `interpreter.profile()`. Prints as a table."""

    def __init__(
        self, nodes: Sequence[NodeTime], timing: Timing, level: str, threads: int, columns: Sequence[NodeTime | None]
    ) -> None:
        self.nodes: tuple[NodeTime, ...] = tuple(nodes)
        """The nodes that ran, frame by frame, in the order of running."""
        self.runs: int = len(timing.spans)
        self.time: Spread = Spread.of(timing.spans[:, 1] - timing.spans[:, 0])
        """The time of the whole run, in nanoseconds."""
        self.level = level
        """The level of instructions of the kernels."""
        self.threads = threads
        """The number of threads that a run might use."""
        self.timing = timing
        """The samples of each run, and the events of a trace."""
        self._columns = columns
        self._peaks: Peaks | None = None

    @property
    def main(self) -> tuple[NodeTime, ...]:
        """The nodes of the main subgraph, whose times add up to the run."""
        return tuple(node for node in self.nodes if node.frame == 0)

    @property
    def nodes_ns(self) -> float:
        """The sum of the medians of the main subgraph's nodes, in nanoseconds."""
        return sum(node.ns for node in self.main)

    @property
    def alone(self) -> float:
        """The part of the time (0 to 1) outside work of more than one block: it stays on the calling thread, however
        many threads there are."""
        return 1 - sum(node.shared_ns for node in self.main) / (self.nodes_ns or 1)

    @property
    def peaks(self) -> Peaks:
        """The best rates of a core at this level; measured at the first use, in a tenth of a second."""
        if self._peaks is None:
            self._peaks = Peaks(self.level)
        return self._peaks

    def facts(self) -> dict[str, Any]:
        """Returns the profile as plain values, as `minilite profile --json` prints them, with times in seconds."""
        from minilite.profiling.text import profile_facts

        return profile_facts(self)

    def text(self, width: int | None = None) -> str:
        """Returns a table of the nodes, a table of the operators, and sums, in lines of at most `width`."""
        from minilite.profiling.text import profile_text

        return profile_text(self, width)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Profile: {len(self.nodes)} nodes, {self.runs} runs, {self.time.median / 1e3:.1f} us a run>"

    def _repr_html_(self) -> str:
        """Returns HTML for notebooks: the sums, operators and nodes, without measuring the machine's peaks."""
        from minilite.profiling.text import profile_html

        return profile_html(self)

    def write_trace(self, path: str | Path) -> None:
        """Writes `trace` to a file. Raises: InputError, OSError."""
        Path(path).write_text(self.trace(), encoding="utf-8")

    def trace(self) -> str:
        """Returns a Chrome trace (JSON), which Perfetto, speedscope and chrome://tracing show: runs, nodes, and the
        blocks of each thread.

        Raises: InputError if the profile was made without `trace=True`.
        """
        from minilite.profiling.trace import trace_text

        if not len(self.timing.events):
            message = "the profile has no events: make it with trace=True"
            raise InputError(message)
        return trace_text(self.timing, self._columns)


def profile(
    session: Session,
    runs: int,
    threads: int = 1,
    *,
    warm: bool = True,
    trace: bool = False,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> Profile:
    """Runs an allocated session once to warm up, unless `warm` is False, and then `runs` times.

    Raises: StateError, KernelError, InputError.
    """
    runs = whole("runs", runs, least=1, most=2**31 - 1)
    if warm or not session.ready:  # the session refuses it
        session.invoke()
    memory = session.memory
    assert memory is not None
    frames = memory.frames()
    counts = [len(memory.nodes(frame)) for frame in range(len(frames))]
    turns = (progress or silent)(range(runs), "run")
    timing = run_timed(session.state, sum(counts), turns, EVENTS if trace else 0, clock)
    memory = session.memory
    assert memory is not None
    columns: list[NodeTime | None] = []
    for frame, (subgraph, _, _) in enumerate(frames):
        for position in range(counts[frame]):
            samples = timing.times[:, len(columns)]
            took_part = samples[:, RUNS].any() or memory.part_of(position, frame) is not None
            where = frame, subgraph, position
            columns.append(_node_time(session, memory, where, samples) if took_part else None)
    found = [node for node in columns if node is not None]
    return Profile(found, timing, memory.level, threads, columns)


def _node_time(session: Session, plan: Plan, where: tuple[int, int, int], samples: Array) -> NodeTime:
    frame, subgraph, position = where
    model = session.program.model.subgraphs[subgraph]
    node = model.nodes[plan.node(position, frame)[0]]
    states = {i: plan.tensor(i, frame) for i in (*node.inputs, *node.outputs) if i >= 0}
    inputs, outputs = (
        [(states[i].shape or ()) if i >= 0 else () for i in indices] for indices in (node.inputs, node.outputs)
    )
    name, types = plan.kernel(position, frame)
    way = plan.way(position, frame)
    whole = plan.part_of(position, frame)
    kinds = [[model.tensors[i].type.name.lower() for i in side if i >= 0] for side in (node.inputs, node.outputs)]
    text = f"{name} {types_text(*kinds)}".strip() if types else f"{name} in numpy"
    if way is not None:
        text += f", {way}"
    executions = int(samples[:, RUNS].sum())
    return NodeTime(
        frame,
        node.index,
        node.op,
        model.tensors[node.outputs[0]].name if node.outputs and node.outputs[0] >= 0 else "",
        text if whole is None else f"part of {whole}",
        outputs[0] if outputs else None,
        executions / len(samples),
        Spread.of(samples[:, NS]),
        multiply_adds(node.op, inputs, outputs, custom=node.custom) or 0,
        sum(state.bytes for state in states.values()) if whole is None else 0,
        len(node.inputs) > 1 and node.inputs[1] >= 0 and model.tensors[node.inputs[1]].type in _BYTES,
        float(np.median(samples[:, SHARED_NS])),
        int(samples[:, BLOCKS].sum()) / executions if executions else 0.0,
        node.outputs[0] if node.outputs else -1,
    )


class Peaks:
    """The best rates of a core, measured at the first use."""

    def __init__(self, level: str) -> None:
        self.level = level
        self._products = float_rate(level), byte_rate(level)
        self._copies: dict[int, float] = {}

    def seconds(self, node: NodeTime) -> float:
        """Returns the least time of an execution's products or of its bytes, whichever is longer."""
        room = 1 << max(node.nbytes, _WARM).bit_length()
        if room not in self._copies:
            self._copies[room] = copy_rate(min(room, 1 << 27))
        return max(node.macs / self._products[node.bytewise], node.nbytes / self._copies[room])

    def share(self, node: NodeTime) -> float | None:
        """Returns the part of the peak (0 to 1) that a node reaches; above 1 its operands are in a nearer cache than a
        copy's. None if it does not run."""
        return self.seconds(node) / node.seconds if node.seconds else None

    def __str__(self) -> str:
        copies = ", ".join(
            f"{rate / 1e9:.0f} GB/s over {size >> 10} KiB" for size, rate in sorted(self._copies.items())
        )
        floats, integers = (f"{rate / 1e9:.0f} GMAC/s" for rate in self._products)
        return f"level {self.level}: {floats} of float32, {integers} of bytes, copies {copies or 'not measured'}"
