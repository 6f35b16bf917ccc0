"""Sharing in place: which tensors share memory, by TFLite's rules and by the wide ones."""

from __future__ import annotations

from typing import Any

from hand_made import Node, chain, planned

from minilite.memory.arena_planner import PlannerGraph

# Sharing in place -----------------------------------------------------------------------------------------------------


def roots(graph: PlannerGraph, **options: Any) -> list[int]:
    planner = planned(graph, **options)
    return [planner.root(t) for t in range(len(graph.sizes))]


def test_chain_shares_one_place() -> None:
    graph = chain(5, in_place=(0,))
    assert roots(graph) == [0, 1, 1, 1, 1, 5]  # not the graph's input, not its output
    assert roots(graph, in_place="wide") == [0, 1, 1, 1, 1, 5]
    assert roots(graph, in_place="none") == list(range(6))
    assert roots(graph, in_place="wide", preserve_inputs=False) == [0, 0, 0, 0, 0, 5]
    assert roots(graph, preserve_inputs=False) == [0, 1, 1, 1, 1, 5]  # TFLite never overwrites an input
    assert planned(graph).lifetime(1) == (0, 4)


def test_operator_that_tflite_does_not_share() -> None:
    graph = chain(4, in_place=(0,), tflite_shares=False)
    assert roots(graph) == list(range(5))
    assert roots(graph, in_place="wide") == [0, 1, 1, 1, 4]


def test_input_with_another_reader() -> None:
    """Nodes 1 and 2 read tensor 1, and both could overwrite it."""
    graph = PlannerGraph(
        [100] * 5,
        [Node([0], [1]), Node([1], [2], in_place=(0,)), Node([1, 2], [3], in_place=(0,)), Node([3], [4])],
        [0],
        [4],
    )
    assert roots(graph) == [0, 1, 2, 3, 4]
    assert roots(graph, in_place="wide") == [0, 1, 2, 1, 4]  # the last reader may


def test_last_reader_of_a_whole_class() -> None:
    """Tensor 2 is a view of tensor 1, which node 2 still reads after node 1 has read the view."""
    nodes = [
        Node([0], [1]),
        Node([1], [2], view=True),
        Node([2], [3], in_place=(0,)),
        Node([1, 3], [4]),
        Node([4], [5]),
    ]
    graph = PlannerGraph([100] * 6, nodes, [0], [5])
    for sharing in ("tflite", "wide"):
        found = roots(graph, in_place=sharing)
        assert found[2] == 1
        assert found[3] == 3


def test_view_is_overwritten_once_its_class_is_dead() -> None:
    nodes = [Node([0], [1]), Node([1], [2], view=True), Node([2], [3], in_place=(0,)), Node([3], [4])]
    graph = PlannerGraph([100] * 5, nodes, [0], [4])
    assert roots(graph) == [0, 1, 1, 1, 4]
    assert roots(graph, in_place="wide") == [0, 1, 1, 1, 4]


def test_view_of_what_is_read_again() -> None:
    """A view writes nothing, so that others may read its input after it."""
    nodes = [Node([0], [1]), Node([1], [2], view=True), Node([1, 2], [3]), Node([3], [4])]
    planner = planned(PlannerGraph([100] * 5, nodes, [0], [4]))
    assert planner.root(2) == 1
    assert planner.lifetime(1) == (0, 2)


def test_view_of_an_input_and_into_an_output() -> None:
    graph = PlannerGraph([100] * 4, [Node([0], [1], view=True), Node([1], [2]), Node([2], [3], view=True)], [0], [3])
    assert roots(graph) == [0, 1, 2, 3]
    assert roots(graph, in_place="wide") == [0, 1, 2, 3]
    assert roots(graph, in_place="wide", preserve_inputs=False) == [0, 0, 2, 3]


def test_second_input_is_overwritten_when_the_first_cannot_be() -> None:
    nodes = [Node([0], [1]), Node([0], [2]), Node([1, 2], [3], in_place=(0, 1)), Node([1, 3], [4])]
    graph = PlannerGraph([100] * 5, nodes, [0], [4])
    for sharing in ("tflite", "wide"):
        assert roots(graph, in_place=sharing) == [0, 1, 2, 2, 4]


def test_sizes_that_differ() -> None:
    nodes = [Node([0], [1]), Node([1], [2], in_place=(0,)), Node([2], [3])]
    assert roots(PlannerGraph([100, 100, 101, 100], nodes, [0], [3])) == [0, 1, 2, 3]
    assert roots(PlannerGraph([100, 100, 100, 100], nodes, [0], [3])) == [0, 1, 1, 3]


def test_tiny_tensors_are_not_shared_by_tflite() -> None:
    nodes = [Node([0], [1]), Node([1], [2], in_place=(0,)), Node([2], [3])]
    assert roots(PlannerGraph([4] * 4, nodes, [0], [3])) == [0, 1, 2, 3]
    assert roots(PlannerGraph([4] * 4, nodes, [0], [3]), in_place="wide") == [0, 1, 1, 3]
    assert roots(PlannerGraph([5] * 4, nodes, [0], [3])) == [0, 1, 1, 3]


def test_constants_and_variables_are_never_overwritten() -> None:
    nodes = [Node([0], [1]), Node([2], [3], in_place=(0,)), Node([1, 3], [4])]
    for kind in ("constants", "variables"):
        graph = PlannerGraph([100] * 5, nodes, [0], [4], **{kind: [2]})
        for sharing in ("tflite", "wide"):
            assert roots(graph, in_place=sharing, preserve_inputs=False) == [0, 1, 2, 3, 4]


def test_same_input_twice() -> None:
    nodes = [Node([0], [1]), Node([1, 1], [2], in_place=(0, 1)), Node([2], [3])]
    assert roots(PlannerGraph([100] * 4, nodes, [0], [3]), in_place="wide") == [0, 1, 1, 3]
    assert roots(PlannerGraph([100] * 4, nodes, [0], [3])) == [0, 1, 2, 3]  # TFLite counts input slots


def test_output_that_is_overwritten_later_stays() -> None:
    """Tensor 1 is a graph output that node 1 could overwrite."""
    graph = PlannerGraph([100] * 4, [Node([0], [1]), Node([1], [2], in_place=(0,)), Node([2], [3])], [0], [1, 3])
    for sharing in ("tflite", "wide"):
        assert roots(graph, in_place=sharing) == [0, 1, 2, 3]
