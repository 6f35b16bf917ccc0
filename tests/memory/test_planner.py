"""ArenaPlanner on hand-made graphs: lifetimes, sharing in place, and TFLite's calls one by one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hand_made import Node, chain, check, planned

from minilite.errors import ArenaError, InputError, StateError
from minilite.memory.arena_planner import ArenaPlanner, PlannerGraph


def lifetimes(planner: ArenaPlanner, tensors: Sequence[int]) -> list[tuple[int, int | None]]:
    return [planner.lifetime(tensor) for tensor in tensors]


# Lifetimes ------------------------------------------------------------------------------------------------------------


def test_graph_without_nodes() -> None:
    planner = planned(PlannerGraph([10, 20], [], [0, 1], [1]))
    assert lifetimes(planner, [0, 1]) == [(0, None), (0, None)]
    assert {planner.offset(0), planner.offset(1)} == {0, 64}
    assert planner.arena_bytes == 128
    empty = planned(PlannerGraph([], [], [], []))
    assert (empty.arena_bytes, empty.records()) == (0, [])


def test_lifetimes_of_a_chain() -> None:
    planner = planned(chain(4))
    assert lifetimes(planner, range(5)) == [(0, None), (0, 1), (1, 2), (2, 3), (3, None)]
    assert planner.offset(0) == 0
    assert planner.offset(1) == planner.offset(3)
    assert planner.arena_bytes == planner.lower_bound == 3 * 128


def test_inputs_may_be_freed_after_their_last_reader() -> None:
    graph = PlannerGraph([100] * 4, [Node([0], [1]), Node([0, 1], [2]), Node([2], [3])], [0], [3])
    assert planned(graph).lifetime(0) == (0, None)
    freed = planned(graph, preserve_inputs=False)
    assert freed.lifetime(0) == (0, 1)
    assert freed.offset(3) in (freed.offset(0), freed.offset(1))
    assert planned(chain(4), preserve_inputs=False).arena_bytes == planned(chain(4)).arena_bytes - 128


def test_tensor_that_nobody_reads() -> None:
    graph = PlannerGraph([100] * 4, [Node([0], [1, 3]), Node([1], [2])], [0], [2])
    assert planned(graph).lifetime(3) == (0, None)  # TFLite never frees it
    assert planned(graph, free_unread=True).lifetime(3) == (0, 0)


def test_output_that_is_read_inside_is_kept() -> None:
    planner = planned(PlannerGraph([100] * 4, [Node([0], [1]), Node([1], [2]), Node([2], [3])], [0], [1, 3]))
    assert planner.lifetime(1) == (0, None)


def test_input_read_twice_by_a_node_and_an_absent_one() -> None:
    planner = planned(
        PlannerGraph([100] * 4, [Node([0, -1], [1]), Node([1, 1, -1], [2]), Node([2, -1], [3])], [0], [3])
    )
    assert lifetimes(planner, [1, 2]) == [(0, 1), (1, 2)]


def test_absent_output_of_a_node() -> None:
    """Also if it is the first output, for which an input could be overwritten."""
    nodes = [Node([0], [-1, 1]), Node([1], [-1], in_place=(0,)), Node([1], [2], in_place=(0,)), Node([2], [3])]
    for sharing in ("tflite", "wide"):
        planner = planned(PlannerGraph([100] * 4, nodes, [0], [3]), in_place=sharing)
        assert lifetimes(planner, [1, 3]) == [(0, 3 if sharing == "wide" else 2), (3, None)]
        assert planner.root(2) == (1 if sharing == "wide" else 2)


def test_tensor_that_two_nodes_compute() -> None:
    graph = PlannerGraph([100] * 4, [Node([0], [1]), Node([1], [2]), Node([2], [1]), Node([1], [3])], [0], [3])
    assert lifetimes(planned(graph), [1, 2]) == [(0, 3), (1, 2)]


def test_absent_graph_input_and_output() -> None:
    planner = planned(PlannerGraph([100] * 2, [Node([0], [1])], [0, -1], [1, -1]))
    assert planner.arena_bytes == 256


def test_tensors_of_no_bytes() -> None:
    planner = planned(PlannerGraph([100, 0, 100, 0], [Node([0], [1]), Node([1], [2]), Node([2], [3])], [0], [3]))
    assert [planner.offset(t) for t in (1, 3)] == [None, None]
    assert [planner.pointer(t) for t in (1, 3)] == [0, 0]
    assert planner.arena_bytes == 256
    planner.set_bytes(1, 50)
    planner.execute_allocations(0, 2)
    check(planner)
    assert planner.pointer(1) != 0


def test_constants_take_no_memory() -> None:
    graph = PlannerGraph([100, 4000, 100], [Node([0, 1], [2])], [0], [2], constants=[1])
    planner = planned(graph)
    assert planner.offset(1) is None
    assert planner.arena_bytes == 256


def test_temporaries_live_with_their_node() -> None:
    graph = PlannerGraph(
        [100] * 4,
        [Node([0], [1], temporary_bytes=1000), Node([1], [2]), Node([2], [3], temporary_bytes=2000)],
        [0],
        [3],
    )
    planner = planned(graph)
    temporaries = {record.tensor: record for record in planner.records() if record.tensor >= 4}
    assert [(r.first_node, r.last_node, r.size) for r in temporaries.values()] == [(0, 0, 1000), (2, 2, 2000)]
    assert [planner.temporary_offset(node) is None for node in range(3)] == [False, True, False]
    assert planner.arena_bytes == planner.lower_bound == 3 * 128 + 2048


def test_preserve_all_keeps_everything_apart() -> None:
    planner = planned(chain(5, in_place=(0,)), preserve_all_tensors=True)
    assert len({planner.offset(t) for t in range(6)}) == 6
    assert [planner.root(t) for t in range(6)] == list(range(6))
    assert planner.arena_bytes == 6 * 128


def test_other_alignments() -> None:
    planner = ArenaPlanner(chain(3, size=5), alignment=16)
    planner.plan_allocations()
    planner.execute_allocations(0, 2)
    assert {planner.offset(t) for t in range(4)} <= {0, 16, 32, 48}
    assert planner.arena_bytes % 16 == 0


# Variables ------------------------------------------------------------------------------------------------------------


def test_variables_are_placed_once_and_stay() -> None:
    graph = PlannerGraph([100, 100, 100, 70], [Node([0, 3], [1]), Node([1], [2])], [0], [2], variables=[3])
    planner = planned(graph)
    assert planner.offset(3) == 0
    assert planner.persistent_bytes == 128
    assert planner.arena_bytes == 3 * 128
    planner.buffer(3)[:] = bytes(range(70))
    pointer = planner.pointer(3)
    planner.reset_allocations()
    assert planner.offset(3) == 0
    planner.set_bytes(1, 100_000)
    planner.plan_allocations()
    planner.execute_allocations(0, 1)
    planner.reset_allocations_after(-1)
    planner.execute_allocations(0, 1)
    assert planner.pointer(3) == pointer
    assert bytes(planner.buffer(3)) == bytes(range(70))


def test_variable_that_is_only_read() -> None:
    planner = planned(PlannerGraph([10, 20], [Node([1], [0])], [], [0], variables=[1]))
    assert planner.offset(1) == 0
    assert planner.pointer(1) == planner.base_pointer(persistent=True)


# TFLite's calls, one by one -------------------------------------------------------------------------------------------


def test_nothing_is_executed_before_it_is_planned() -> None:
    planner = ArenaPlanner(chain(3))
    with pytest.raises(StateError, match="before plan_allocations"):
        planner.execute_allocations(0, 2)
    assert not planner.has_non_persistent_memory
    assert planner.base_pointer() == 0


def test_stepwise_execution() -> None:
    planner = ArenaPlanner(chain(6), in_place="none")
    planner.plan_allocations()
    placed = []
    for node in range(6):
        planner.execute_allocations(node, node)
        check(planner)
        placed.append(sum(planner.offset(t) is not None for t in range(7)))
    assert placed == [2, 3, 4, 5, 6, 7]
    assert planner.arena_bytes == 3 * 128


def test_a_range_beyond_the_nodes_is_all_of_them() -> None:
    whole, beyond = ArenaPlanner(chain(4)), ArenaPlanner(chain(4))
    for planner, first, last in ((whole, 0, 3), (beyond, -5, 99)):
        planner.plan_allocations()
        planner.execute_allocations(first, last)
    assert [beyond.offset(t) for t in range(5)] == [whole.offset(t) for t in range(5)]


def test_later_steps_go_around_earlier_ones() -> None:
    graph = PlannerGraph(
        [64, 64, 640, 64, 64], [Node([0], [1]), Node([1], [2]), Node([2, 1], [3]), Node([3], [4])], [0], [4]
    )
    planner = ArenaPlanner(graph)
    planner.plan_allocations()
    planner.execute_allocations(0, 0)
    early = [planner.offset(0), planner.offset(1)]
    planner.execute_allocations(1, 3)
    check(planner)
    assert [planner.offset(0), planner.offset(1)] == early


def test_only_growth_places_again() -> None:
    planner = planned(chain(4))
    before = [planner.offset(t) for t in range(5)]
    planner.set_bytes(2, 50)
    planner.execute_allocations(1, 1)
    assert [planner.offset(t) for t in range(5)] == before
    planner.set_bytes(2, 5000)
    planner.reset_allocations_after(1)
    planner.execute_allocations(1, 3)
    check(planner)
    assert planner.arena_bytes >= 5000


def test_reset_forgets_everything_but_memory() -> None:
    planner = planned(chain(4))
    base = planner.base_pointer()
    planner.reset_allocations()
    assert all(planner.offset(t) is None and planner.pointer(t) == 0 for t in range(5))
    assert (planner.arena_bytes, planner.active_records, planner.base_pointer()) == (0, 0, base)
    planner.execute_allocations(0, 3)
    check(planner)
    assert planner.base_pointer() == base


def test_reset_after_a_node_keeps_what_lives_there() -> None:
    planner = planned(chain(6))
    before = {t: (planner.offset(t), planner.pointer(t)) for t in range(7)}
    high = planner.arena_bytes
    planner.reset_allocations_after(2)
    assert {t: (planner.offset(t), planner.pointer(t)) for t in range(4)} == {t: before[t] for t in range(4)}
    assert all(planner.offset(t) is None and planner.pointer(t) == 0 for t in (4, 5, 6))
    assert planner.arena_bytes == high
    planner.set_bytes(5, 1000)
    planner.execute_allocations(3, 5)
    check(planner)
    assert {t: (planner.offset(t), planner.pointer(t)) for t in range(4)} == {t: before[t] for t in range(4)}


def test_contents_survive_growth_in_mid_run() -> None:
    planner = planned(chain(4))
    planner.buffer(0)[:] = b"i" * 100
    planner.buffer(2)[:] = b"2" * 100
    planner.reset_allocations_after(1)
    planner.set_bytes(3, 10_000_000)
    planner.execute_allocations(2, 3)
    check(planner)
    assert bytes(planner.buffer(0)) == b"i" * 100
    assert bytes(planner.buffer(2)) == b"2" * 100
    planner.buffer(3)[-1:] = b"!"


def test_reset_in_two_steps_is_reset_in_one() -> None:
    one, two = planned(chain(6)), planned(chain(6))
    one.reset_allocations_after(2)
    two.deallocate_after(2)
    assert two.offset(5) is not None
    two.resolve_deallocations()
    assert [one.offset(t) for t in range(7)] == [two.offset(t) for t in range(7)]
    assert one.active_records == two.active_records == 3  # the input, 2 and 3


def test_sharers_come_back_with_their_root() -> None:
    planner = planned(chain(6, in_place=(0,)))
    assert planner.root(4) == 1
    planner.reset_allocations_after(2)
    assert planner.offset(1) is not None
    assert planner.offset(4) is None
    planner.execute_allocations(3, 5)
    check(planner)
    assert planner.offset(4) == planner.offset(1)


def test_purged_records_leave_the_hot_loop_alone() -> None:
    planner = planned(chain(10), in_place="none")
    assert planner.active_records == 11
    planner.purge_active_allocations(5)
    assert planner.active_records == 7  # 1 to 4 are dead before node 5
    assert planner.offset(1) is not None
    stepwise = ArenaPlanner(chain(100), in_place="none")
    stepwise.plan_allocations()
    for node in range(100):
        stepwise.execute_allocations(node, node)
        assert stepwise.active_records <= 4
    check(stepwise)


def test_release_and_acquire() -> None:
    planner = planned(chain(4))
    offsets = [planner.offset(t) for t in range(5)]
    planner.release_non_persistent_memory()
    assert not planner.has_non_persistent_memory
    assert [planner.offset(t) for t in range(5)] == offsets
    assert all(planner.pointer(t) == 0 for t in range(5))
    with pytest.raises(StateError, match="has no memory"):
        planner.buffer(1)
    planner.acquire_non_persistent_memory()
    assert [planner.pointer(t) - planner.base_pointer() for t in range(5)] == offsets
    planner.buffer(4)[:] = b"x" * 100


def test_pointers_are_resolved_only_when_they_change() -> None:
    planner = planned(chain(100))
    assert planner.resolved == 101
    planner.execute_allocations(0, 99)
    assert planner.resolved == 101
    planner.reset_allocations_after(97)
    planner.execute_allocations(98, 99)
    assert planner.resolved == 103


def test_sizes_that_overflow() -> None:
    graph = chain(2, size=2**62)
    planner = ArenaPlanner(graph)
    planner.plan_allocations()
    with pytest.raises(ArenaError, match="add up to more bytes than an int64 counts"):
        planner.execute_allocations(0, 1)
    assert all(planner.offset(t) is None for t in range(3))


def test_more_memory_than_there_is() -> None:
    planner = ArenaPlanner(chain(2, size=2**50))
    planner.plan_allocations()
    with pytest.raises(ArenaError, match="bytes"):
        planner.execute_allocations(0, 1)
    planner.reset_allocations()
    for tensor in range(3):
        planner.set_bytes(tensor, 100)
    planner.plan_allocations()
    planner.execute_allocations(0, 1)
    check(planner)


@pytest.mark.parametrize("sizes", [[2**62, 2**62], [2**62 + 1, 1], [2**63 - 1, 2**63 - 1]])
def test_more_variables_than_an_int64_counts(sizes: list[int]) -> None:
    planner = ArenaPlanner(PlannerGraph([*sizes, 1], [Node([0, 1], [2])], [], [2], variables=[0, 1]))
    planner.plan_allocations()
    with pytest.raises(ArenaError, match="persistent tensors add up to more bytes than an int64 counts"):
        planner.execute_allocations(0, 0)


@pytest.mark.parametrize(
    "graph",
    [
        PlannerGraph([1], [Node([1], [0])], [], []),
        PlannerGraph([1], [Node([0], [-2])], [], []),
        PlannerGraph([1], [], [4], []),
        PlannerGraph([-1], [], [], []),
    ],
)
def test_impossible_graphs_are_refused(graph: PlannerGraph) -> None:
    with pytest.raises(InputError):
        ArenaPlanner(graph)


def test_impossible_sizes_and_strategies_are_refused() -> None:
    with pytest.raises(InputError, match="-5 bytes"):
        ArenaPlanner(chain(1)).set_bytes(0, -5)
    with pytest.raises(InputError, match="strategy is 'nope', must be one of default, "):
        ArenaPlanner(chain(1), strategy="nope")
