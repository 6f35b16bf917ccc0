"""Operator order: another execution order of a graph whose live tensors take less memory at their peak.

A beam search over downsets (sets of nodes closed under "comes before"): of the partial orders that have run the same
nodes only the one with the lowest peak is kept. Complexity: O(nodes * beam * ready nodes).
Source: E. Liberis, N. Lane, "Neural networks on microcontrollers: saving memory at inference via operator reordering"
(2019); B. Ahn et al., "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks" (2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

BEAM = 64


class OrderNode(NamedTuple):
    """A node by the tensors it reads and writes; numbers not in `sizes`' range (constants, -1) take no memory."""

    inputs: Sequence[int]
    outputs: Sequence[int]


class _Partial(NamedTuple):
    """The nodes run so far (as a bit mask and in order), the bytes live after them, and the peak on the way."""

    peak: int
    live: int
    done: int
    order: tuple[int, ...]


class _Graph:
    """Who writes and who reads each tensor, and what is kept to the end."""

    def __init__(self, nodes: Sequence[OrderNode], sizes: Sequence[int], kept: set[int]) -> None:
        self.nodes = nodes
        self.sizes = sizes
        self.kept = kept
        self.readers: list[int] = [0] * len(sizes)
        self.needs: list[int] = [0] * len(nodes)
        writer: dict[int, int] = {}
        for number, node in enumerate(nodes):
            for tensor in self.real(node.outputs):
                writer[tensor] = number
        for number, node in enumerate(nodes):
            for tensor in self.real(node.inputs):
                self.readers[tensor] |= 1 << number
                if tensor in writer:
                    self.needs[number] |= 1 << writer[tensor]

    def real(self, tensors: Sequence[int]) -> set[int]:
        return {t for t in tensors if 0 <= t < len(self.sizes) and self.sizes[t] > 0}

    def run(self, at: _Partial, number: int) -> _Partial:
        """What running one more node leaves."""
        node = self.nodes[number]
        outputs = self.real(node.outputs)
        live = at.live + sum(self.sizes[t] for t in outputs)
        peak = max(at.peak, live)
        done = at.done | 1 << number
        for tensor in self.real(node.inputs) | outputs:
            if tensor not in self.kept and self.readers[tensor] & ~done == 0:
                live -= self.sizes[tensor]
        return _Partial(peak, live, done, (*at.order, number))


def peak_of(nodes: Sequence[OrderNode], sizes: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """The largest sum of bytes live at once when the nodes run in this order; inputs and outputs are kept."""
    graph = _Graph(nodes, sizes, {*inputs, *outputs})
    at = _start(graph, inputs)
    for number in range(len(nodes)):
        at = graph.run(at, number)
    return at.peak


def _start(graph: _Graph, inputs: Sequence[int]) -> _Partial:
    live = sum(graph.sizes[t] for t in graph.real(inputs))
    return _Partial(live, live, 0, ())


def lower_peak_order(
    nodes: Sequence[OrderNode], sizes: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]
) -> list[int] | None:
    """An order of the nodes with a strictly lower peak than the given one, or None if the search finds none.

    `sizes` are bytes by tensor, 0 for tensors that take no memory.
    """
    graph = _Graph(nodes, sizes, {*inputs, *outputs})
    present = peak_of(nodes, sizes, inputs, outputs)
    beam = [_start(graph, inputs)]
    for _ in nodes:
        found: dict[int, _Partial] = {}
        for at in beam:
            for number, needs in enumerate(graph.needs):
                if at.done >> number & 1 or needs & ~at.done:
                    continue
                after = graph.run(at, number)
                if after.peak < present and (after.done not in found or after.peak < found[after.done].peak):
                    found[after.done] = after
        beam = sorted(found.values())[:BEAM]
        if not beam:
            return None
    return list(beam[0].order) if beam and nodes else None
