"""Records as numpy arrays: plans, bounds and faults are those of the same records one by one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from minilite import memory
from minilite.errors import ArenaError, InputError
from minilite.memory import FOREVER, UsageRecord, check, check_arrays, lower_bound_arrays, plan, plan_arrays

Columns = tuple[Any, Any, Any]


def some_columns(seed: int, count: int) -> Columns:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, count, count)
    last = first + rng.exponential(8, count).astype(np.int64) * rng.integers(0, 2, count)
    last[rng.random(count) < 0.02] = FOREVER
    sizes = (2 ** rng.uniform(0, 16, count)).astype(np.int64) * (rng.random(count) < 0.95)
    return sizes, first, last


def records_of(columns: Columns) -> list[UsageRecord]:
    return [UsageRecord(i, *map(int, row)) for i, row in enumerate(zip(*columns, strict=True))]


def brute_fault(columns: Columns, offsets: Any, pairs: Any = ()) -> bool:
    """Two records that share a byte at a node, though none takes over the place of the other there."""
    sizes, first, last = (list(map(int, column)) for column in columns)
    allowed = {frozenset(map(int, pair)) for pair in pairs}
    for a in range(len(sizes)):
        for b in range(a):
            meet = max(first[a], first[b]), min(last[a], last[b])
            apart = offsets[a] >= offsets[b] + sizes[b] or offsets[b] >= offsets[a] + sizes[a]
            if sizes[a] and sizes[b] and meet[0] <= meet[1] and not apart and not (frozenset((a, b)) in allowed):
                return True
    return False


@pytest.mark.parametrize("count", [0, 1, 30, 1500])
@pytest.mark.parametrize("strategy", ["default", "greedy_by_size", "tflite"])
def test_the_plan_is_that_of_the_same_records(strategy: str, count: int) -> None:
    columns = some_columns(count, count)
    made, same = plan_arrays(*columns, strategy=strategy), plan(records_of(columns), strategy)
    assert tuple(made.offsets.tolist()) == same.offsets
    assert (made.arena_bytes, made.lower_bound) == (same.arena_bytes, same.lower_bound)
    assert made.proved_optimal == same.proved_optimal
    assert lower_bound_arrays(*columns) == memory.lower_bound(records_of(columns))
    assert check_arrays(*columns, made.offsets, alignment=64, arena_bytes=made.arena_bytes) is None
    assert made.offsets.dtype == np.int64


@pytest.mark.parametrize("kind", ["i4", "u4", "u2", "i8", "u8", "list"])
def test_integers_of_any_type(kind: str) -> None:
    columns = some_columns(5, 40)
    columns = (columns[0] % 4096, columns[1], np.minimum(columns[2], 60))
    same = [column.tolist() if kind == "list" else column.astype(kind) for column in columns]
    assert plan_arrays(*same).offsets.tolist() == plan_arrays(*columns).offsets.tolist()
    assert check_arrays(same[0], same[1], same[2], same[0]) == check_arrays(*columns, columns[0])
    assert lower_bound_arrays(*same) == lower_bound_arrays(*columns)


@pytest.mark.parametrize("count", [40, 1300])
def test_every_memory_is_planned_by_itself(count: int) -> None:
    columns, rng = some_columns(7, count), np.random.default_rng(1)
    numbers = rng.choice([5, -2, 9], count)
    made = plan_arrays(*columns, memory=numbers)
    assert [use.memory for use in made.memories] == [-2, 5, 9]
    for use in made.memories:
        own = numbers == use.memory
        alone = plan_arrays(*(column[own] for column in columns))
        assert made.offsets[own].tolist() == alone.offsets.tolist()
        assert (use.arena_bytes, use.lower_bound) == (alone.arena_bytes, alone.lower_bound)
    assert made.arena_bytes == sum(use.arena_bytes for use in made.memories)
    assert check_arrays(*columns, made.offsets, alignment=64, memory=numbers) is None
    assert check_arrays(*columns, made.offsets, alignment=64) is not None


@pytest.mark.parametrize("count", [12, 200, 1300])
def test_alignments_by_record(count: int) -> None:
    for seed in range(6):
        columns, rng = some_columns(seed, count), np.random.default_rng(seed)
        alignments = rng.choice([1, 4, 64, 4096], count)
        made = plan_arrays(*columns, alignment=alignments)
        assert not (made.offsets % alignments).any()
        assert not brute_fault(columns, made.offsets.tolist())
        assert check_arrays(*columns, made.offsets, alignment=alignments, arena_bytes=made.arena_bytes) is None
        assert made.arena_bytes >= made.lower_bound == lower_bound_arrays(*columns, alignment=int(alignments.min()))
    fault = check_arrays([8, 8], [0, 0], [0, 0], [0, 12], alignment=[4, 8])
    assert fault is not None
    assert fault.text == "record 1 (bytes 12 to 20, nodes 0 to 0) does not lie at a multiple of 8"


@pytest.mark.parametrize("count", [60, 1300])
def test_fixed_records_stay(count: int) -> None:
    columns = some_columns(3, count)
    places = plan(records_of(columns), "naive").offsets
    fixed = np.where(np.arange(count) % 5 == 0, places, -1)
    made = plan_arrays(*columns, offsets=fixed)
    assert (made.offsets[::5] == fixed[::5]).all()
    assert check_arrays(*columns, made.offsets) is None
    assert made.lower_bound <= made.arena_bytes
    with pytest.raises(InputError, match=r"^strategy 'exact' takes no fixed records, and record 0 is fixed at 0$"):
        plan_arrays(*columns, offsets=fixed, strategy="exact")


def chains(count: int, seed: int) -> tuple[Columns, list[list[int]]]:
    """Records of which some take over the place of one that ends where they begin, in chains; in any order."""
    rng = random.Random(seed)
    rows: list[tuple[int, int, int]] = []
    pairs: list[list[int]] = []
    for _ in range(count):
        first = rng.randrange(count)
        row = (rng.choice((0, 10, 64, rng.randrange(5000))), first, first + rng.randrange(1, 6))
        ends = [k for k, other in enumerate(rows) if other[2] == first and k not in {pair[0] for pair in pairs}]
        if ends and rng.random() < 0.7:
            pairs.append([rng.choice(ends), len(rows)])
        rows.append(row)
    order = rng.sample(range(count), count)
    where = {old: new for new, old in enumerate(order)}
    columns = np.array([rows[old] for old in order]).T
    return (columns[0], columns[1], columns[2]), [[where[a], where[b]] for a, b in pairs]


@pytest.mark.parametrize("count", [10, 60, 300])
def test_records_take_over_the_place_of_others(count: int) -> None:
    shared = 0
    for seed in range(8):
        columns, pairs = chains(count, seed)
        made = plan_arrays(*columns, in_place=pairs or None)
        assert all(made.offsets[a] == made.offsets[b] for a, b in pairs)
        assert not brute_fault(columns, made.offsets.tolist(), pairs)
        assert check_arrays(*columns, made.offsets, alignment=64, in_place=pairs, arena_bytes=made.arena_bytes) is None
        shared += len(pairs)
        if pairs:
            moved = made.offsets.copy()
            moved[pairs[0][1]] += 1 << 30
            fault = check_arrays(*columns, moved, in_place=pairs)
            assert fault is not None
            assert (fault.kind, fault.records) == ("in_place", tuple(pairs[0]))
    assert shared > count


def test_others_stay_away_from_both_records_of_a_pair() -> None:
    columns = ([64, 64, 64], [0, 2, 2], [2, 5, 2])
    assert check_arrays(*columns, [0, 0, 64], in_place=[(0, 1)]) is None
    for place in ([0, 0, 0], [0, 0, 63]):
        fault = check_arrays(*columns, place, in_place=[(0, 1)])
        assert fault is not None
        assert fault.kind == "overlap"
        assert 2 in fault.records
    fault = check_arrays(*columns, [0, 0, 64])
    assert fault is not None
    assert fault.records == (0, 1)


@pytest.mark.parametrize("count", [3, 12, 40])
def test_the_checker_finds_what_a_look_at_all_pairs_finds(count: int) -> None:
    """At random places, in a valid plan, and where one record of it has been moved."""
    faults = 0
    for seed in range(60):
        columns, rng = some_columns(seed, count), random.Random(seed)
        valid = plan_arrays(*columns, alignment=1).offsets
        moved = valid.copy()
        moved[rng.randrange(count)] += rng.choice((-1, 1, 7, -100))
        places = [valid, np.maximum(moved, 0), np.array([rng.randrange(1 << 17) for _ in range(count)])]
        for offsets in places:
            found = check_arrays(*columns, offsets)
            listed = check(records_of(columns), offsets.tolist())
            assert (found is not None) == (listed is not None) == brute_fault(columns, offsets.tolist())
            if found is not None and listed is not None:
                two = [np.array([column[k] for k in found.records]) for column in (*columns, offsets)]
                assert brute_fault((two[0], two[1], two[2]), two[3].tolist())
                assert found.records == listed.records
                faults += 1
    assert 20 < faults < 170


def test_with_time_to_spare_the_default_strategy_goes_on() -> None:
    columns = some_columns(2, 1500)
    usual, longer = plan_arrays(*columns), plan_arrays(*columns, max_seconds=0.5)
    assert longer.arena_bytes <= usual.arena_bytes
    assert longer.memories[0].searched >= usual.memories[0].searched
    hasty = plan_arrays(*columns, max_seconds=1e-9)
    assert hasty.memories[0].searched == 1
    assert check_arrays(*columns, hasty.offsets) is None


GOOD: dict[str, Any] = {"sizes": [64, 64, 64], "first": [0, 1, 2], "last": [1, 2, 3]}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "sizes below 0": ({"sizes": [64, -1, -2]}, "record 1: sizes -1, must be from 0 to 4611686018427387903"),
    "sizes beyond": ({"sizes": [64, 1 << 62, 0]}, "record 1: sizes 4611686018427387904, must be from 0 to"),
    "sizes far beyond": ({"sizes": [64, 1 << 70, 0]}, r"sizes\[1\] is 1180591620717411303424, must be from"),
    "unsigned sizes": ({"sizes": np.array([1, 2, 2**64 - 1], "u8")}, "record 2: sizes 18446744073709551615, must be"),
    "a fraction": ({"sizes": [64, 1.5, 2]}, r"sizes\[0\] is 64.0, must be an integer"),
    "a bool": ({"first": np.array([False, True, True])}, r"first\[0\] is False, must be an integer"),
    "a text": ({"last": ["1", "2", "3"]}, r"last\[0\] is '1', must be an integer"),
    "an object": ({"last": np.array([1, None, 3], object)}, r"last\[1\] is None, must be an integer"),
    "a column short": ({"first": [0, 1]}, "first has 2 entries, sizes has 3: record 2 is in one only"),
    "a column long": ({"last": [1, 2, 3, 4]}, "last has 4 entries, sizes has 3: record 3 is in one only"),
    "two dimensions": ({"sizes": [[1, 2, 3]]}, "sizes has 2 dimensions, must have one"),
    "a number": ({"sizes": 3}, "sizes has 0 dimensions, must have one"),
    "a node below 0": ({"first": [0, 1, -2]}, "record 2: first -2, must be from 0 to 2147483647"),
    "a node beyond": ({"last": [1, 2**31, 3]}, "record 1: last 2147483648, must be from 0 to 2147483647"),
    "a negative life": ({"last": [1, 0, 1]}, "record 1: last node 0 lies before first node 1"),
    "alignment": ({"alignment": 48}, "alignment 48, must be a power of two from 1 to 4096"),
    "an alignment": ({"alignment": [64, 64, 3]}, "record 2: alignment 3, must be a power of two from 1 to 4096"),
    "alignments short": ({"alignment": [64]}, "alignment has 1 entries, sizes has 3: record 1 is in one only"),
    "a fixed offset": ({"offsets": [-1, 65, 0]}, "record 1: fixed offset 65, must be a multiple of the alignment, 64"),
    "an offset below 0": ({"offsets": [-1, -64, 0]}, "record 1: offsets -64, must be from -1 to"),
    "a far offset": ({"offsets": [-1, -1, (1 << 62) - 64]}, "record 2: fixed offset .*: it ends at 4611686018427387904"),
    "fixed records": ({"offsets": [0, 0, -1]}, r"fixed records: record 0 \(bytes 0 to 64, nodes 0 to 1\) overlaps record 1"),
    "a memory": ({"memory": [0, 1 << 40, 0]}, "record 1: memory 1099511627776, must be from"),
    "pairs of three": ({"in_place": [[0, 1, 2]]}, r"in_place is an array of int64, shape \(1, 3\), must be of integers"),
    "pairs of texts": ({"in_place": [["a", "b"]]}, "in_place is an array of <U1"),
    "a pair outside": ({"in_place": [[0, 1], [1, 3]]}, "in_place, pair 1: records 1 and 3: there are records 0 to 2"),
    "a pair apart": ({"in_place": [[0, 2]]}, "in_place, pair 0: records 0 and 2: the second must begin at the last node"),
    "a place taken twice": (
        {"first": [0, 1, 1], "in_place": [[0, 1], [0, 2]]},
        "in_place, pair 1: records 0 and 2: its record is taken over a place in an earlier pair already",
    ),
    "two places": (
        {"last": [2, 2, 3], "in_place": [[0, 2], [1, 2]]},
        "in_place, pair 1: records 1 and 2: its record takes over a place in an earlier pair already",
    ),
    "two memories": ({"memory": [0, 1, 0], "in_place": [[0, 1]]}, "in_place, pair 0: .* both must lie in one memory"),
    "one node": (
        {"last": [1, 1, 3], "first": [0, 1, 1], "in_place": [[0, 1], [1, 2]]},
        "in_place, pair 1: records 1 and 2: the first takes over a place at the same node",
    ),
    "fixed apart": (
        {"offsets": [0, 64, -1], "in_place": [[0, 1]]},
        "record 0: fixed offset 0, another record of its place is fixed at 64",
    ),
    "strategy": ({"strategy": "best"}, "there is no planning strategy 'best'"),
    "alignments": (
        {"strategy": "tflm", "alignment": [4, 8, 4]},
        "strategy 'tflm' takes one alignment, and record 1 has alignment 8, others 4",
    ),
    "time": ({"max_seconds": -1}, "max_seconds -1, must be from 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_by_its_index(case: str) -> None:
    options, text = BAD[case]
    with pytest.raises(InputError, match=f"^{text}"):
        plan_arrays(**{**GOOD, **options})
    assert plan_arrays(**GOOD).arena_bytes == 128
    checked = {key: value for key, value in options.items() if key not in ("offsets", "strategy", "max_seconds")}
    if checked == options and case != "alignments":
        with pytest.raises(InputError, match=f"^{text}"):
            check_arrays(**{**GOOD, **options}, offsets=[0, 64, 0])
    if not options.keys() - {"sizes", "first", "last"}:
        with pytest.raises(InputError, match=f"^{text}"):
            lower_bound_arrays(**{**GOOD, **options})


def test_sizes_that_add_up_beyond_64_bits() -> None:
    many = [1 << 61] * 4
    for take in (plan_arrays, lower_bound_arrays):
        with pytest.raises(ArenaError, match="bytes needed when added up, 4611686018427387903 available"):
            take(many, [0, 1, 2, 3], [0, 1, 2, 3])
    assert check_arrays(many, [0, 1, 2, 3], [0, 1, 2, 3], [0] * 4) is None
    fault = check_arrays(many, [0] * 4, [0] * 4, [0, 1 << 61, (1 << 62) - 2, (1 << 62) - 1])
    assert fault is not None


def test_faults_name_the_record() -> None:
    columns = ([8, 8], [0, 0], [1, 1])
    texts: dict[str, tuple[list[int], dict[str, Any]]] = {
        "record 0 (bytes -8 to 0, nodes 0 to 1) does not lie at a multiple of 1": ([-8, 0], {}),
        "record 1 (bytes 8 to 16, nodes 0 to 1) ends beyond the arena's 15 bytes": ([0, 8], {"arena_bytes": 15}),
        "record 0 (bytes 0 to 8, nodes 0 to 1) overlaps record 1 (bytes 7 to 15, nodes 0 to 1)": ([0, 7], {}),
    }
    for text, (offsets, options) in texts.items():
        fault = check_arrays(*columns, offsets, **options)
        assert fault is not None
        assert fault.text == text
    with pytest.raises(InputError, match="offsets has 1 entries, sizes has 2: record 1 is in one only"):
        check_arrays(*columns, [0])
