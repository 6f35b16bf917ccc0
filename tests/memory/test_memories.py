"""Several memories: the cheapest assignment against brute force and an integer program, layouts, refusals."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from minilite.errors import ArenaError, InputError, MiniliteError
from minilite.format.reader import load_model
from minilite.memory import Memory, UsageRecord, lower_bound, memories, plan, plan_memories, sections
from minilite.memory.boards import board_records, traffic_of

MODELS = Path(__file__).resolve().parents[2].parent / "shared" / "models"
FAST, SLOW = Memory("fast", 4096), Memory("slow", 1 << 20)


def small_problem(seed: int) -> tuple[list[UsageRecord], list[Memory], list[int]]:
    """At most eight records, two or three memories, some of them tight; some records may not lie everywhere."""
    rng = random.Random(seed)
    count = rng.choice((2, 2, 2, 3))
    alignment = rng.choice((1, 1, 2, 4))
    rooms = [Memory(f"m{k}", rng.randint(4, 20) + 20 * (k == count - 1), None, alignment) for k in range(count)]
    rows = []
    for number in range(rng.randint(1, 8)):
        first = rng.randint(0, 6)
        chosen = rng.choice((None, None, None, ("m0", "m1"), "m0", "m1"))
        rows.append(UsageRecord(number, rng.randint(1, 12), first, min(7, first + rng.randint(0, 4)), None, chosen))
    return rows, rooms, [rng.randint(0, 30) for _ in rows]


def fits(rows: Sequence[UsageRecord], memory: Memory) -> bool:
    capacity = memory.capacity // memory.alignment * memory.alignment
    try:
        return not rows or plan(rows, "exact", memory.alignment, capacity=capacity).arena_bytes <= capacity
    except ArenaError:
        return False


def cheapest(rows: list[UsageRecord], rooms: list[Memory], traffic: list[int]) -> int | None:
    """The least cost of all assignments that can be placed, by trying all; None if there is none."""
    names = [memory.name for memory in rooms]
    allowed = [
        [names.index(n) for n in ((row.memory,) if isinstance(row.memory, str) else row.memory or names)]
        for row in rows
    ]
    best = None
    for chosen in itertools.product(*allowed):
        cost = sum(moved * room for moved, room in zip(traffic, chosen, strict=True))
        if (best is None or cost < best) and all(
            fits([row for row, room in zip(rows, chosen, strict=True) if room == k], memory)
            for k, memory in enumerate(rooms)
        ):
            best = cost
    return best


def test_costs_are_those_of_all_assignments_tried() -> None:
    refused = 0
    for seed in range(500):
        rows, rooms, traffic = small_problem(seed)
        expected = cheapest(rows, rooms, traffic)
        if expected is None:
            refused += 1
            with pytest.raises(ArenaError):
                plan_memories(rows, rooms, traffic)
            continue
        made = plan_memories(rows, rooms, traffic)
        assert made.check() is None, seed
        assert (made.cost, made.lower_bound, made.proved_optimal) == (expected, expected, True), seed
        assert made.cost == sum(moved * k for k, moved in enumerate(made.moved()))
        try:
            narrow = plan_memories(rows, rooms, traffic, most_states=1)
        except ArenaError:  # the only state that was kept did not lead to an end
            continue
        assert narrow.lower_bound <= expected <= narrow.cost, seed
        assert narrow.check() is None, seed
    assert 0 < refused < 250


def test_few_states_give_a_plan_that_says_it_was_cut() -> None:
    """Records alive at once, of as many subset sums as there can be."""
    rows = [UsageRecord(i, 64 * (1 << i), 0, 1) for i in range(12)]
    traffic = [3 * 64 * (1 << i) + i for i in range(12)]
    rooms = [Memory("fast", 64 * 1000), SLOW]
    full = plan_memories(rows, rooms, traffic)
    assert full.proved_optimal
    assert not full.cut
    few = plan_memories(rows, rooms, traffic, most_states=2)
    assert few.cut
    assert few.states == 2
    assert few.lower_bound <= full.cost <= few.cost
    assert few.check() is None
    assert ("the sweep was cut" in few.table()) == (not few.proved_optimal)


def test_an_assignment_that_cannot_be_placed_is_replaced() -> None:
    """The loads fit 3 bytes at each node, but no layout does: some record has to leave."""
    rows = [
        UsageRecord(i, s, a, b - 1)
        for i, (a, b, s) in enumerate([(0, 4, 1), (1, 5, 2), (4, 6, 1), (0, 1, 2), (5, 6, 2)])
    ]
    assert lower_bound(rows, 1) == 3
    made = plan_memories(rows, [Memory("fast", 3, None, 1), Memory("slow", 100, None, 1)])
    expected = cheapest(rows, [Memory("fast", 3, None, 1), Memory("slow", 100, None, 1)], [2 * r.size for r in rows])
    assert (made.cost, made.proved_optimal) == (expected, True)


@pytest.mark.parametrize("part", [2, 4])
def test_costs_on_models_are_those_of_an_integer_program(part: int) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    if not MODELS.exists():
        pytest.skip("the shared models are not here")
    count = 0
    for path in sorted(MODELS.glob("*.tflite")):
        try:
            rows, accesses = board_records(load_model(path))
        except MiniliteError:  # TFLM does not run it
            continue
        bound = lower_bound(rows, 16)
        capacity = bound // part // 16 * 16
        if not capacity:
            continue
        traffic = traffic_of(rows, accesses)
        made = plan_memories(rows, [Memory("fast", capacity, None, 16), Memory("slow", 4 * bound, None, 16)], traffic)
        assert made.check() is None
        cut = sections(rows, 16)
        loads = np.zeros((len(cut), len(rows)))
        for number, section in enumerate(cut):
            loads[number, list(section.live)] = [-(-rows[i].size // 16) for i in section.live]
        solved = optimize.milp(
            -np.array(traffic, float),
            constraints=optimize.LinearConstraint(loads, -np.inf, capacity // 16),
            integrality=np.ones(len(rows)), bounds=optimize.Bounds(0, 1), options={"mip_rel_gap": 1e-9},
        )  # fmt: skip
        assert made.cost == sum(traffic) + round(solved.fun), path.name
        count += 1
    assert count >= 100


def test_searches_for_layouts_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without time for a search, less of a memory is used until a layout is found."""
    tight = [(0, 4, 1), (1, 5, 2), (4, 6, 1), (0, 1, 2), (5, 6, 2)]
    rows = [UsageRecord(i, 64 * s, a, b - 1) for i, (a, b, s) in enumerate(tight)]
    rooms = [Memory("fast", 192), Memory("slow", 6400)]
    now = iter(range(0, 10**6, 100))
    monkeypatch.setattr(memories.time, "process_time", lambda: next(now))
    made = plan_memories(rows, rooms, max_seconds=1.0)
    assert made.check() is None
    assert not made.proved_optimal
    assert not made.cut
    assert "the best assignment cannot be placed" in made.table()


def test_one_memory_is_a_plan_of_one_arena() -> None:
    rows = [UsageRecord(0, 4096, 0, 1), UsageRecord(1, 2048, 1, 2), UsageRecord(2, 4096, 2, 3)]
    made = plan_memories(rows, [SLOW])
    assert made.cost == 0
    assert made.plans[0].arena_bytes == plan(rows).arena_bytes
    assert plan_memories([], [FAST, SLOW]).check() is None


def test_records_lie_where_they_must(tmp_path: Path) -> None:
    rows = [
        UsageRecord(0, 4096, 0, 1, None, "slow"),
        UsageRecord(1, 64, 0, 1, None, ("fast", "slow")),
        UsageRecord(2, 128, 0, 1),
    ]
    made = plan_memories(rows, [FAST._replace(base=0x3FCA0000), SLOW._replace(base=0x3C000000)])
    assert made.rooms == (1, 0, 0)
    assert made.address(0) == 0x3C000000
    text = made.to_csv(tmp_path / "places.csv")
    assert (tmp_path / "places.csv").read_text() == text
    assert text.splitlines()[1] == f"0,0,2,4096,slow,0,{0x3C000000},8192"
    assert made.to_svg().count("<svg ") == 3


def test_plans_of_one_memory_take_records_that_name_memories() -> None:
    rows = [UsageRecord(0, 64, 0, 1, None, "fast"), UsageRecord(1, 64, 1, 2)]
    assert plan(rows).arena_bytes == 128


def test_a_checker_finds_records_in_the_wrong_memory() -> None:
    made = plan_memories([UsageRecord(0, 64, 0, 1)], [FAST, SLOW])
    wrong = memories.MemoriesPlan(
        made.memories, (made.records[0]._replace(memory="slow"),), made.rooms, made.offsets,
        (plan([made.records[0]._replace(memory="slow")]), made.plans[1]), made.traffic, 0, 0, False, 1,
    )  # fmt: skip
    fault = wrong.check()
    assert fault is not None
    assert fault.kind == "memory"
    small = memories.MemoriesPlan(
        (FAST._replace(capacity=10), SLOW),
        made.records,
        made.rooms,
        made.offsets,
        made.plans,
        made.traffic,
        0,
        0,
        False,
        1,
    )
    fault = small.check()
    assert fault is not None
    assert "64 bytes, its capacity is 10" in fault.text


RECORD = UsageRecord(7, 300, 0, 1)


@pytest.mark.parametrize(
    ("error", "text", "rows", "rooms"),
    [
        (InputError, "record 0, tensor 7: memory 'tcm', there are fast, slow", [RECORD._replace(memory="tcm")], None),
        (ArenaError, "record 0, tensor 7: 300 bytes needed, 'fast' has 256", [RECORD._replace(memory="fast")], [Memory("fast", 256), SLOW]),
        (ArenaError, "300 bytes needed, 'a' has 100, 'b' has 200", [RECORD], [Memory("a", 100), Memory("b", 200)]),
        (
            ArenaError,
            "memory 'fast': what must lie there takes 640 bytes at node 0, its capacity is 512",
            [RECORD._replace(memory="fast"), RECORD._replace(memory="fast")],
            [Memory("fast", 512), SLOW],
        ),
        (ArenaError, "900 bytes are live at node 0, the memories have 832 together", [RECORD] * 3, [Memory("a", 384), Memory("b", 448)]),
        (InputError, "memories overlap: 'a' ends at 0x1100, 'b' begins at 0x1080", [RECORD], [Memory("a", 256, 4096), Memory("b", 256, 4096 + 128)]),
        (InputError, "memory 1 has the name 'a', must be text that no other has", [RECORD], [Memory("a", 400), Memory("a", 400)]),
        (InputError, "memory 'a': alignment 64 and base 100", [RECORD], [Memory("a", 400, 100)]),
        (InputError, "memory 'a': capacity is 0, must be from 1", [RECORD], [Memory("a", 0)]),
        (InputError, "0 memories, must be from 1 to 4", [RECORD], []),
        (InputError, "memory 0 is 'fast', must be a Memory", [RECORD], ["fast"]),
        (InputError, "5 memories, must be from 1 to 4", [RECORD], [Memory(str(k), 400) for k in range(5)]),
        (InputError, "record 0, tensor 7 is fixed at 64", [RECORD._replace(offset=64)], None),
        (InputError, "record 0: memory is 5, must be a name", [RECORD._replace(memory=5)], None),
        (InputError, r"record 0: memory is \(\), must be a name", [RECORD._replace(memory=())], None),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_both_values(
    error: type[MiniliteError], text: str, rows: list[UsageRecord], rooms: list[Memory] | None
) -> None:
    with pytest.raises(error, match=text):
        plan_memories(rows, [FAST, SLOW] if rooms is None else rooms)


def test_traffic_is_a_number_for_each_record() -> None:
    with pytest.raises(InputError, match="traffic has 1 numbers, must have one for each of 2 records"):
        plan_memories([RECORD, RECORD], [FAST, SLOW], [1])
    with pytest.raises(InputError, match="traffic 1 is -1"):
        plan_memories([RECORD, RECORD], [FAST, SLOW], [1, -1])
    with pytest.raises(ArenaError, match="the traffic adds up to"):
        plan_memories([RECORD, RECORD], [FAST, SLOW], [1 << 61, 1 << 61])
