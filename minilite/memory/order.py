"""Operator order: finds an execution order of a graph in which live tensors take less memory at the peak.

A beam search over downsets (sets of nodes closed under "comes before"): of the partial orders that have run the same
nodes only the one with the lowest peak is kept. The work of trying nodes is counted, and limited to WORK; if many nodes
are ready at once, fewer partial orders are kept.
Source: E. Liberis, N. Lane, "Neural networks on microcontrollers: saving memory at inference via operator reordering"
(2019); B. Ahn et al., "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks" (2020).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

BEAM = 64
WORK = 500_000
"""Steps that a search may take (see `_steps`), about 0.3 s. A graph that needs more for one order is not reordered."""
NODES_PER_STEP = 2500
"""Masks have one bit per node: combining two masks of this many bits takes as long as the rest of a step."""


class OrderNode(NamedTuple):
    """A node, given by the tensors that it reads and writes; numbers outside `sizes` (-1) are ignored."""

    inputs: Sequence[int]
    outputs: Sequence[int]


class _Partial(NamedTuple):
    """A partial order: the peak so far, the bytes live after it, bit masks of the nodes that have run and that are
    ready, and the order itself as the last node and the order before it."""

    peak: int
    live: int
    done: int
    ready: int
    order: tuple[int, Any] | None


def _steps(touched: int, nodes: int) -> int:
    """The steps of trying one node: one, plus one per operand or reader, times the cost of masks of `nodes` bits."""
    return (1 + touched) * (1 + nodes // NODES_PER_STEP)


class _Graph:
    """The writer and the readers of each tensor, and the tensors kept to the end."""

    def __init__(self, nodes: Sequence[OrderNode], sizes: Sequence[int], kept: set[int]) -> None:
        self.sizes = sizes
        self.kept = kept
        self.inputs = [self.known(node.inputs) for node in nodes]
        self.outputs = [self.known(node.outputs) for node in nodes]
        self.readers: list[int] = [0] * len(sizes)
        self.needs: list[int] = [0] * len(nodes)
        self.followers: list[set[int]] = [set() for _ in nodes]
        writer = {tensor: number for number, outputs in enumerate(self.outputs) for tensor in outputs}
        for number, inputs in enumerate(self.inputs):
            for tensor in inputs:
                self.readers[tensor] |= 1 << number
                if tensor in writer:
                    self.needs[number] |= 1 << writer[tensor]
                    self.followers[writer[tensor]].add(number)
        self.touched = [reads | writes for reads, writes in zip(self.inputs, self.outputs, strict=True)]
        self.steps = [
            _steps(len(touched) + len(followers), len(nodes))
            for touched, followers in zip(self.touched, self.followers, strict=True)
        ]

    def known(self, tensors: Sequence[int]) -> set[int]:
        return {t for t in tensors if 0 <= t < len(self.sizes)}

    def start(self, inputs: Sequence[int]) -> _Partial:
        live = sum(self.sizes[t] for t in self.known(inputs))
        ready = sum(1 << number for number, needs in enumerate(self.needs) if not needs)
        return _Partial(live, live, 0, ready, None)

    def run(self, at: _Partial, number: int) -> _Partial:
        """The partial order with one more node."""
        live = at.live + sum(self.sizes[t] for t in self.outputs[number])
        peak = max(at.peak, live)
        bit = 1 << number
        done = at.done | bit
        left = ~done
        for tensor in self.touched[number]:
            if tensor not in self.kept and not self.readers[tensor] & left:
                live -= self.sizes[tensor]
        ready = at.ready ^ bit
        for follower in self.followers[number]:
            if not self.needs[follower] & left:
                ready |= 1 << follower
        return _Partial(peak, live, done, ready, (number, at.order))


def _bits(mask: int) -> Iterator[int]:
    """The numbers of the set bits, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def peak_of(nodes: Sequence[OrderNode], sizes: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """The largest sum of bytes live at once if the nodes run in this order; inputs and outputs are kept."""
    graph = _Graph(nodes, sizes, {*inputs, *outputs})
    at = graph.start(inputs)
    for number in range(len(nodes)):
        at = graph.run(at, number)
    return at.peak


def lower_peak_order(
    nodes: Sequence[OrderNode], sizes: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]
) -> list[int] | None:
    """An order of the nodes with a strictly lower peak than the given one; None if the search finds none.

    `sizes` are bytes by tensor, 0 for tensors that take no memory; even those must be written before they are read.
    """
    if sum(_steps(len(node.inputs) + len(node.outputs), len(nodes)) for node in nodes) > WORK:
        return None
    graph = _Graph(nodes, sizes, {*inputs, *outputs})
    present = peak_of(nodes, sizes, inputs, outputs)
    beam, work = [graph.start(inputs)], WORK
    for left in range(len(nodes), 0, -1):
        found: dict[int, _Partial] = {}
        share = work // left
        for at in beam:
            if found and share <= 0:
                break
            for number in _bits(at.ready):
                work, share = work - graph.steps[number], share - graph.steps[number]
                after = graph.run(at, number)
                if after.peak < present and (after.done not in found or after.peak < found[after.done].peak):
                    found[after.done] = after
        beam = sorted(found.values(), key=lambda partial: partial[:3])[:BEAM]
        if not beam or work < 0:
            return None
    order: list[int] = []
    chain = beam[0].order
    while chain is not None:
        order.append(chain[0])
        chain = chain[1]
    return order[::-1] or None
