"""Every strategy on random records: valid by the independent checker, between bound and naive, deterministic."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asv_bench.benchmarks.paper import SHARED_OBJECTS
from minilite import memory
from minilite._core import ffi, lib
from minilite._native.memory import RECORD, Placement, Refused, plan_table
from minilite.errors import ArenaError, InputError
from minilite.memory import FOREVER, UsageRecord, check, plan
from minilite.memory.lower_bound import rounded

LIMITS = {"max_nodes": 2000}
TAKES_FIXED = ("default", "naive", "tflite", "greedy_by_size", "greedy_by_breadth", "tflm")
ALIGNMENTS = st.sampled_from([1 << bits for bits in range(13)])


@st.composite
def problems(draw: st.DrawFn, most: int = 24) -> list[UsageRecord]:
    """Sizes that repeat and sizes that do not, zeros among them; short lives, long lives, and lives without end."""
    sizes = st.one_of(st.sampled_from([0, 1, 64, 100, 4096]), st.integers(0, 1 << 30))
    records = []
    for tensor in range(draw(st.integers(0, most))):
        first = draw(st.integers(0, 30))
        last = draw(st.one_of(st.integers(first, first + 4), st.integers(first, 40), st.just(FOREVER)))
        records.append(UsageRecord(tensor, draw(sizes), first, last))
    return records


@pytest.mark.parametrize("strategy", memory.strategies())
@settings(max_examples=40, deadline=None)
@given(records=problems(), alignment=ALIGNMENTS)
def test_random_records(strategy: str, records: list[UsageRecord], alignment: int) -> None:
    made = plan(records, strategy, alignment, **LIMITS)
    assert made.check() is None
    assert made.lower_bound == memory.lower_bound(records, alignment)
    assert made.lower_bound <= made.arena_bytes <= made.naive_bytes
    assert made.arena_bytes % alignment == 0
    assert plan(records, strategy, alignment, **LIMITS) == made
    if strategy in SHARED_OBJECTS:
        assert made.arena_bytes >= memory.shared_objects_bound(records, alignment)
    if made.arena_bytes == made.lower_bound:
        assert made.proved_optimal


@pytest.mark.parametrize("strategy", TAKES_FIXED)
@settings(max_examples=40, deadline=None)
@given(records=problems(), alignment=ALIGNMENTS, data=st.data())
def test_fixed_records_stay(strategy: str, records: list[UsageRecord], alignment: int, data: st.DataObject) -> None:
    free = plan(records, "naive", alignment)
    kept = data.draw(st.lists(st.booleans(), min_size=len(records), max_size=len(records)))
    places = zip(records, free.offsets, kept, strict=True)
    fixed = [record._replace(offset=place if keep else None) for record, place, keep in places]
    made = plan(fixed, strategy, alignment)
    assert made.check() is None
    assert made.lower_bound <= made.arena_bytes
    assert all(r.offset in (None, place) for r, place in zip(fixed, made.offsets, strict=True))


@pytest.mark.parametrize("strategy", ["exact", "strip_packing", *SHARED_OBJECTS])
def test_fixed_records_refused(strategy: str) -> None:
    with pytest.raises(InputError, match=f"'{strategy}' takes no fixed records, and tensor 3 is fixed at 64"):
        plan([UsageRecord(3, 10, 0, 1, 64)], strategy)


@pytest.mark.parametrize("strategy", ["default", "greedy_by_size", "greedy_by_breadth", "tflite"])
def test_ten_thousand_tensors(strategy: str) -> None:
    draw = random.Random(7)
    firsts = [draw.randrange(9000) for _ in range(10_000)]
    records = [
        UsageRecord(i, draw.randrange(1 << 20), first, first + draw.randrange(30)) for i, first in enumerate(firsts)
    ]
    made = plan(records, strategy)
    assert made.check() is None
    assert made.lower_bound <= made.arena_bytes <= made.naive_bytes


@pytest.mark.parametrize("strategy", memory.strategies())
def test_no_records(strategy: str) -> None:
    assert plan([], strategy).arena_bytes == 0
    assert plan([UsageRecord(0, 0, 0, 5)], strategy).offsets == (0,)


BAD = {
    "negative size": ({}, UsageRecord(1, -1, 0, 0), "record 0, tensor 1: -1 bytes, must be 0 or more"),
    "backwards": ({}, UsageRecord(1, 1, 3, 2), "last node 2 lies before first node 3"),
    "negative node": ({}, UsageRecord(1, 1, -1, 2), "first node -1"),
    "alignment": ({"alignment": 48}, UsageRecord(1, 1, 0, 0), "alignment 48, must be a power of two from 1 to 4096"),
    "huge alignment": ({"alignment": 8192}, UsageRecord(1, 1, 0, 0), "alignment 8192"),
    "no alignment": ({"alignment": 0}, UsageRecord(1, 1, 0, 0), "alignment is 0"),
    "fixed": (
        {},
        UsageRecord(1, 1, 0, 0, 32),
        "fixed offset 32, must be 0 or more and a multiple of the alignment, 64",
    ),
    "capacity": ({"capacity": -1}, UsageRecord(1, 1, 0, 0), "capacity -1"),
    "strategy": (
        {"strategy": "best"},
        UsageRecord(1, 1, 0, 0),
        "there is no planning strategy 'best': there are default, naive, tflite",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments(case: str) -> None:
    options, record, text = BAD[case]
    with pytest.raises(InputError) as error:
        plan([record], **options)
    assert text in str(error.value)


def test_fixed_records_that_overlap() -> None:
    with pytest.raises(
        InputError, match=r"fixed records: tensor 0 \(bytes 0 to 65, .*overlaps tensor 1 \(bytes 64 to 74"
    ):
        plan([UsageRecord(0, 65, 0, 1, 0), UsageRecord(1, 10, 1, 1, 64)])


@pytest.mark.parametrize("size", [1 << 62, 1 << 63, 1 << 80])
def test_overflow(size: int) -> None:
    for strategy in memory.strategies():
        with pytest.raises(ArenaError, match=f"bytes needed when added up, {(1 << 62) - 1} available"):
            plan([UsageRecord(0, size, 0, 1), UsageRecord(1, 1, 0, 1)], strategy)
    with pytest.raises(ArenaError):
        plan([UsageRecord(i, 1 << 60, 0, 1) for i in range(5)])


def test_capacity() -> None:
    records = [UsageRecord(0, 64, 0, 1), UsageRecord(1, 128, 1, 2), UsageRecord(2, 64, 2, 3)]
    assert plan(records, capacity=192).arena_bytes == 192
    text = r"^192 bytes needed, 128 available: live at node 1 are b \(128 bytes\), tensor 0 \(64 bytes\)$"
    with pytest.raises(ArenaError, match=text):
        plan(records, capacity=128, names={1: "b"})
    with pytest.raises(ArenaError, match="strategy 'naive' needs 256 bytes, 192 available; the lower bound is 192"):
        plan(records, "naive", capacity=192)


def test_capacity_that_a_search_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(memory.plan.__globals__, "plan_table", lambda *_, **__: Refused("over_capacity"))
    with pytest.raises(
        ArenaError, match="no plan of 1 records fits 70 bytes: a search proved it; the lower bound is 64"
    ):
        plan([UsageRecord(0, 10, 0, 1)], "exact", capacity=70)


def test_checker_finds_faults() -> None:
    records = [UsageRecord(0, 10, 0, 2), UsageRecord(1, 10, 2, 3), UsageRecord(2, 10, 3, 3)]
    fault = check(records, [0, 0, 0])
    assert fault is not None
    assert (fault.kind, fault.records) == ("overlap", (0, 1))
    assert check(records, [0, 10, 0]) is None
    assert check(records, [0, 9, 0]) is not None
    for offsets, options, kind in (
        ([0, 10], {}, "count"),
        ([0, 10, 4], {"alignment": 10}, "alignment"),
        ([0, 10, -10], {"alignment": 10}, "alignment"),
        ([0, 10, 0], {"arena_bytes": 19}, "arena"),
    ):
        found = check(records, offsets, **options)
        assert found is not None
        assert found.kind == kind
    moved = check([records[0]._replace(offset=64)], [0])
    assert moved is not None
    assert moved.kind == "fixed"


@settings(max_examples=60, deadline=None)
@given(records=problems(12), alignment=ALIGNMENTS)
def test_bounds_by_the_book(records: list[UsageRecord], alignment: int) -> None:
    profiles = [
        sorted((rounded(r.size, alignment) for r in records if r.first_node <= n <= r.last_node), reverse=True)
        for n in range(42)
    ]
    assert memory.lower_bound(records, alignment) == max(map(sum, profiles))
    maxima = [max((p[i] for p in profiles if i < len(p)), default=0) for i in range(len(records))]
    assert memory.shared_objects_bound(records, alignment) == sum(maxima)
    assert max((s.breadth for s in memory.sections(records, alignment)), default=0) == max(map(sum, profiles))


@settings(max_examples=30, deadline=None)
@given(records=problems(), fixed=st.booleans())
def test_csv_round_trip(records: list[UsageRecord], fixed: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("csv") / "problem.csv"
    rows = [r._replace(offset=64 * i) if fixed and i % 2 else r for i, r in enumerate(records)]
    memory.write_csv(path, rows)
    assert memory.read_csv(path) == rows


CSV_FAULTS = {
    "": "line 1: the file is empty",
    "id,lower,upper\n": "line 1: columns id,lower,upper, must be id,lower,upper,size[,offset]",
    "id,lower,upper,size\n1,0,2\n": "line 2: 3 fields, must be 4",
    "id,lower,upper,size\n1,0,2,8\nx,0,2,8\n": "line 3: id 'x' is not an integer",
    "id,lower,upper,size\n1,2,2,8\n": "line 2: upper 2, must be above lower 2",
    "id,lower,upper,size\n1,0,2,-8\n": "line 2: tensor 1: -8 bytes",
    "id,lower,upper,size\n1,0,9999999999,8\n": "line 2: tensor 1: last node 9999999998",
}


@pytest.mark.parametrize("text", CSV_FAULTS)
def test_csv_faults(text: str, tmp_path: Path) -> None:
    path = tmp_path / "problem.csv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        memory.read_csv(path)
    assert f"{path}, {CSV_FAULTS[text]}" in str(error.value)


def test_csv_columns_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "problem.csv"
    path.write_text("size, offset, id, lower, upper\n8,,5,0,2\n8,64,6,0,2\n")
    assert memory.read_csv(path) == [UsageRecord(5, 8, 0, 1), UsageRecord(6, 8, 0, 1, 64)]


# Records that every strategy refuses ----------------------------------------------------------------------------------


def plan_rows(strategy: str, rows: list[tuple[int, int, int, int, int]], alignment: int, **limits: Any) -> Any:
    """Plans rows of size, offset, first node, last node and tensor, without the checks of `plan`."""
    return plan_table(strategy, np.array([(*row, 0) for row in rows], RECORD), alignment, **limits)


FREE, QUARTER = -1, 2**61
"""Not placed yet; just beyond a quarter of an int64."""
IMPOSSIBLE = {
    "a negative size": [(-1, FREE, 0, 1, 0)],
    "a size beyond a quarter": [(QUARTER, FREE, 0, 1, 0)],
    "sizes beyond a half": [(QUARTER - 1, FREE, k, k, k) for k in range(3)],
    "the largest sizes": [(QUARTER - 1, FREE, k, k, k) for k in range(40)],
}
FIXED = {
    "an offset beyond a quarter": [(1, QUARTER, 0, 1, 0)],
    "an offset and sizes beyond a half": [(1, QUARTER - 1, 0, 1, 0), *((QUARTER - 1, FREE, 0, 1, k) for k in (1, 2))],
}


@pytest.mark.parametrize("strategy", memory.strategies())
@pytest.mark.parametrize("name", [*IMPOSSIBLE, *FIXED])
def test_sums_beyond_an_int64_are_refused(strategy: str, name: str) -> None:
    found = plan_rows(strategy, (IMPOSSIBLE | FIXED)[name], 64)
    assert found == Refused("unsupported" if name in FIXED and strategy == "exact" else "overflow")


def test_strategies_that_there_are_not() -> None:
    assert plan_rows("nope", [(1, FREE, 0, 1, 0)], 64) == Refused("unknown_strategy")
    assert [lib.ml_memory_strategy_name(k) for k in (-1, len(memory.strategies()), 2**31 - 1)] == [ffi.NULL] * 3


def test_an_exact_search_ends_with_its_time_or_capacity() -> None:
    """At a capacity below the bound there is nothing to search."""
    chance = random.Random(5)
    rows = [(chance.randrange(1, 4000), FREE, k % 13, k % 13 + chance.randrange(9), k) for k in range(60)]
    made = plan_rows("exact", rows, 64, max_seconds=1e-9)
    assert isinstance(made, Placement)
    bound = memory.lower_bound([UsageRecord(k, size, first, last) for size, _, first, last, k in rows])
    assert made.arena_bytes >= bound
    assert plan_rows("exact", rows, 64, capacity=bound - 64) == Refused("over_capacity")
    wide = plan_rows("exact", rows, 64, capacity=2 * made.arena_bytes, max_seconds=60.0)
    assert isinstance(wide, Placement)
    assert wide.arena_bytes <= 2 * made.arena_bytes
