"""ArenaPlanner's calls in any order with any numbers: right, or refused by an error of the family."""

from __future__ import annotations

from typing import Any

import pytest
from hand_made import Node, chain, planned
from memory.planner_model import HOSTILE, judged

from minilite.errors import ArenaError, InputError, StateError
from minilite.memory.arena_planner import ArenaPlanner, PlannerGraph


@pytest.mark.parametrize("count", [600, pytest.param(100_000, marks=pytest.mark.slow)])
def test_sequences_of_calls_are_right_or_refused(count: int) -> None:
    judges = [judged(seed) for seed in range(count)]
    assert sum(judge.runs for judge in judges) > count
    assert sum(judge.refused for judge in judges) > count // 2


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("call", ["set_bytes", "pointer", "offset", "root", "lifetime", "buffer", "temporary_offset"])
def test_tensors_that_do_not_exist_are_refused(call: str, value: Any) -> None:
    planner = planned(chain(2))
    before = [planner.offset(t) for t in range(3)], planner.arena_bytes
    with pytest.raises(InputError):
        getattr(planner, call)(value, *([64] if call == "set_bytes" else []))
    assert ([planner.offset(t) for t in range(3)], planner.arena_bytes) == before


@pytest.mark.parametrize("call", ["reset_allocations_after", "deallocate_after", "purge_active_allocations"])
@pytest.mark.parametrize("value", [*HOSTILE, 3])
def test_nodes_that_do_not_exist_are_refused(call: str, value: Any) -> None:
    planner = planned(chain(2))
    with pytest.raises(InputError):
        getattr(planner, call)(value)
    assert planner.active_records == 3


@pytest.mark.parametrize(
    ("first", "last"), [(10**6, 10**6 + 1), (2, 2), (1, 0), (0, -1), (2**40, 2), (0, 1.0), (True, 1)]
)
def test_ranges_of_no_node_are_refused(first: Any, last: Any) -> None:
    planner = planned(chain(2))
    with pytest.raises(InputError):
        planner.execute_allocations(first, last)
    planner.execute_allocations(0, 1)


@pytest.mark.parametrize("size", [-1, -(2**63), 2**63, 2**80, True, 64.0, "64", None])
def test_sizes_that_no_tensor_has_are_refused(size: Any) -> None:
    with pytest.raises(InputError):
        planned(chain(2)).set_bytes(1, size)
    with pytest.raises(InputError):
        ArenaPlanner(PlannerGraph([64, size], [Node([0], [1])], [0], [1]))
    with pytest.raises(InputError):
        ArenaPlanner(PlannerGraph([64, 64], [Node([0], [1], temporary_bytes=size)], [0], [1]))


@pytest.mark.parametrize("alignment", [0, -1, -64, 3, 96, 8192, 2**31, 2**63, 2**64, True, 64.0, "64", None])
def test_alignments_are_powers_of_two(alignment: Any) -> None:
    with pytest.raises(InputError, match="alignment is"):
        ArenaPlanner(chain(2), alignment=alignment)


@pytest.mark.parametrize("in_place", ["zz", "", None, 1, []])
def test_other_words_for_sharing_are_refused(in_place: Any) -> None:
    with pytest.raises(InputError, match=r"in_place is .*, must be one of none, tflite, wide"):
        ArenaPlanner(chain(2), in_place=in_place)


@pytest.mark.parametrize("value", [*HOSTILE, 2])
@pytest.mark.parametrize(
    "where", ["inputs", "outputs", "variables", "constants", "node inputs", "node outputs", "in_place"]
)
def test_graphs_of_tensors_that_do_not_exist_are_refused(where: str, value: Any) -> None:
    node: dict[str, Any] = {"inputs": [0], "outputs": [1], "in_place": []}
    graph: dict[str, Any] = {"inputs": [0], "outputs": [1], "variables": [], "constants": []}
    (node if where.removeprefix("node ") in node and where not in ("inputs", "outputs") else graph)[
        where.removeprefix("node ")
    ] = [value if where != "in_place" or value != 2 else 8]
    with pytest.raises(InputError):
        ArenaPlanner(PlannerGraph([64, 64], [Node(**node)], **graph))


def test_a_tensor_that_grew_has_no_buffer_until_it_is_placed() -> None:
    planner = planned(chain(2))
    planner.set_bytes(1, 10_000_000)
    with pytest.raises(StateError, match="tensor 1 has grown to 10000000 bytes, its memory has 100"):
        planner.buffer(1)
    planner.execute_allocations(0, 1)
    planner.buffer(1)[-1:] = b"!"


def test_memory_that_could_not_be_taken_has_no_pointers() -> None:
    planner = planned(chain(2))
    planner.set_bytes(1, 2**50)
    with pytest.raises(ArenaError):
        planner.execute_allocations(0, 1)
    planner.reset_allocations_after(1)
    assert planner.pointer(1) == 0
    with pytest.raises(StateError):
        planner.buffer(1)


def test_variables_do_not_grow_out_of_their_place() -> None:
    planner = planned(PlannerGraph([100, 70], [Node([1], [0])], [], [0], variables=[1]))
    with pytest.raises(InputError, match="tensor 1: 71 bytes, but it is a variable, whose place of 70 bytes stays"):
        planner.set_bytes(1, 71)
    planner.set_bytes(1, 70)


def test_in_place_tensors_of_unequal_sizes_are_planned_again() -> None:
    planner = planned(chain(4, in_place=(0,)))
    assert planner.root(2) == 1
    planner.set_bytes(2, 200)
    with pytest.raises(StateError, match="tensor 2 has 200 bytes and shares the place of tensor 1, which has 100"):
        planner.execute_allocations(0, 3)
    planner.plan_allocations()
    planner.execute_allocations(0, 3)
    assert planner.root(2) == 2


def test_an_earlier_node_is_placed_around_what_was_purged() -> None:
    graph = PlannerGraph([64] * 5, [Node([0], [1]), Node([1], [2]), Node([0, 1], [3]), Node([3], [4])], [0], [4])
    planner = ArenaPlanner(graph, in_place="none")
    planner.plan_allocations()
    planner.execute_allocations(0, 0)
    planner.execute_allocations(3, 3)
    assert planner.active_records == 2
    planner.execute_allocations(1, 2)
    assert planner.offset(2) not in (planner.offset(0), planner.offset(1))
    assert planner.offset(3) not in (planner.offset(0), planner.offset(1), planner.offset(4))


def test_tensors_grown_after_the_range_keep_their_offset() -> None:
    planner = ArenaPlanner(chain(4), in_place="none")
    planner.plan_allocations()
    planner.execute_allocations(3, 3)
    planner.set_bytes(4, 200)
    planner.execute_allocations(0, 0)
    assert planner.offset(4) != planner.offset(0)  # a kept input, live at the same time


def test_sizes_that_overflow_have_no_small_bound() -> None:
    planner = ArenaPlanner(chain(3, size=2**62))
    planner.plan_allocations()
    assert planner.lower_bound == 2**63 - 1
