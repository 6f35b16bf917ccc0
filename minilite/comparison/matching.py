"""Matches the tensors of two graphs: by number if the graphs are alike, else by name, else by order."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from minilite.format.model import Node, Subgraph

_CONVERSIONS = ("QUANTIZE", "DEQUANTIZE")
"""Operators that an int8 version of a network has and the float version lacks."""


def matched(a: Subgraph, b: Subgraph) -> dict[int, int]:
    """Maps the inputs and computed tensors of `a` to their counterparts in `b`, by number; each of `b` is used once."""
    if _alike(a, b):
        return {index: index for index in (*a.inputs, *_computed(a)) if index >= 0}
    pairs = _by_name(a, b)
    for numbers in ((a.inputs, b.inputs), (a.outputs, b.outputs)):
        if len(numbers[0]) == len(numbers[1]):
            _add(pairs, zip(*numbers, strict=True))
    _add(pairs, _by_order(a, b, pairs))
    return pairs


def _computed(graph: Subgraph) -> list[int]:
    return [index for node in graph.nodes for index in node.outputs if index >= 0]


def _alike(a: Subgraph, b: Subgraph) -> bool:
    """True if the graphs differ in nothing but values, types and options, or operators with the same wiring."""
    if a is b:
        return True
    if len(a.tensors) != len(b.tensors) or len(a.nodes) != len(b.nodes) or a.inputs != b.inputs:
        return False
    return a.outputs == b.outputs and all(
        m.inputs == n.inputs and m.outputs == n.outputs for m, n in zip(a.nodes, b.nodes, strict=True)
    )


def _by_name(a: Subgraph, b: Subgraph) -> dict[int, int]:
    """Matches tensors whose name only one tensor of each graph has."""
    names = [_unique_names(graph) for graph in (a, b)]
    return {index: names[1][name] for name, index in names[0].items() if name in names[1]}


def _unique_names(graph: Subgraph) -> dict[str, int]:
    found: dict[str, list[int]] = {}
    for index in dict.fromkeys((*graph.inputs, *_computed(graph))):
        if index >= 0:
            found.setdefault(graph.tensors[index].name, []).append(index)
    return {name: indices[0] for name, indices in found.items() if name and len(indices) == 1}


def _add(pairs: dict[int, int], more: Iterable[tuple[int, int]]) -> None:
    taken = set(pairs.values())
    for first, second in more:
        if first >= 0 and second >= 0 and first not in pairs and second not in taken:
            pairs[first] = second
            taken.add(second)


def _by_order(a: Subgraph, b: Subgraph, pairs: dict[int, int]) -> list[tuple[int, int]]:
    """Matches outputs of nodes of the same operator between the same matched tensors, if their shapes are equal."""
    nodes = [[node for node in graph.nodes if node.op not in _CONVERSIONS] for graph in (a, b)]
    position = {output: at for at, node in enumerate(nodes[1]) for output in node.outputs}
    anchors = [
        (at, position[pairs[node.outputs[0]]])
        for at, node in enumerate(nodes[0])
        if node.outputs and pairs.get(node.outputs[0]) in position
    ]
    found: list[tuple[int, int]] = []
    start = (0, 0)
    for end in [*anchors, (len(nodes[0]), len(nodes[1]))]:
        if end[1] >= start[1]:
            found += _aligned(a, b, nodes[0][start[0] : end[0]], nodes[1][start[1] : end[1]])
            start = end[0] + 1, end[1] + 1
    return found


def _aligned(a: Subgraph, b: Subgraph, first: Sequence[Node], second: Sequence[Node]) -> list[tuple[int, int]]:
    """Matches the outputs of nodes that both sequences have, in their order."""
    matcher = SequenceMatcher(None, [node.op for node in first], [node.op for node in second], autojunk=False)
    found: list[tuple[int, int]] = []
    for block in matcher.get_matching_blocks():
        for at in range(block.size):
            outputs = zip(first[block.a + at].outputs, second[block.b + at].outputs, strict=False)
            found += [(m, n) for m, n in outputs if m >= 0 and n >= 0 and a.tensors[m].shape == b.tensors[n].shape]
    return found
