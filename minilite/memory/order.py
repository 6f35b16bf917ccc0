"""Operator order: another execution order of a graph whose live tensors take less memory at their peak.

A beam search over downsets (sets of nodes closed under "comes before"): of the partial orders that have run the same
nodes only the one with the lowest peak is kept. The work of trying nodes is counted and bounded by WORK; where many are
ready at once, fewer partial orders are kept.
Source: E. Liberis, N. Lane, "Neural networks on microcontrollers: saving memory at inference via operator reordering"
(2019); B. Ahn et al., "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks" (2020).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

BEAM = 64
WORK = 500_000
"""Steps that a search may take (see `_steps`), some 0.3 s. A graph that needs more for one order stays as it is."""
NODES_PER_STEP = 2500
"""Masks have a bit per node: combining two of so many bits takes as long as the rest of a step."""


class OrderNode(NamedTuple):
    """A node by the tensors it reads and writes; numbers that `sizes` does not have (-1) are passed over."""

    inputs: Sequence[int]
    outputs: Sequence[int]


class _Partial(NamedTuple):
    """Some of the nodes run: the peak on the way, the bytes live after them, which have run and which are ready, as bit
    masks, and their order: the last node, with the order before it."""

    peak: int
    live: int
    done: int
    ready: int
    order: tuple[int, Any] | None


def _steps(touched: int, nodes: int) -> int:
    """Steps of trying one node: one, and one per operand or reader, times the cost of masks of `nodes` bits."""
    return (1 + touched) * (1 + nodes // NODES_PER_STEP)


class _Graph:
    """Who writes and who reads each tensor, and which are kept to the end."""

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
        """What running one more node leaves."""
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
    """The numbers of the bits that are set, from the lowest on."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def peak_of(nodes: Sequence[OrderNode], sizes: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """The largest sum of bytes live at once when the nodes run in this order; inputs and outputs are kept."""
    graph = _Graph(nodes, sizes, {*inputs, *outputs})
    at = graph.start(inputs)
    for number in range(len(nodes)):
        at = graph.run(at, number)
    return at.peak


def lower_peak_order(
    nodes: Sequence[OrderNode], sizes: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]
) -> list[int] | None:
    """An order of the nodes with a strictly lower peak than the given one, or None if the search finds none.

    `sizes` are bytes by tensor, 0 for tensors that take no memory: these, too, are written before they are read.
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
