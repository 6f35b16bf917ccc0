"""The exact planner: optimal on small problems by brute force, quick on hard ones, honest when its budget runs out."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from minilite.errors import ArenaError
from minilite.memory import UsageRecord, check, plan, read_csv

HARD = Path(__file__).resolve().parents[2] / ".." / "shared" / "planning" / "minimalloc"
CAPACITY = 1048576
SOLVED = "ABCDEFGHIJK"


def least_height(records: list[UsageRecord]) -> int:
    """Every layout worth having stacks the records in some order, each on top of what is below it."""
    best = sum(record.size for record in records)
    for order in itertools.permutations(records):
        placed: list[tuple[UsageRecord, int]] = []
        for record in order:
            together = [
                (r, top) for r, top in placed if r.first_node <= record.last_node and record.first_node <= r.last_node
            ]
            placed.append((record, max((top for _, top in together), default=0) + record.size))
        best = min(best, max(top for _, top in placed))
    return best


@pytest.mark.parametrize("seed", range(30))
def test_small_problems_by_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    records = []
    for tensor in range(7):
        first = rng.randrange(6)
        records.append(UsageRecord(tensor, rng.choice([1, 2, 3, 5, 8]), first, min(6, first + rng.randrange(4))))
    found = plan(records, strategy="exact", alignment=1)
    assert check(records, found.offsets, alignment=1) is None
    assert found.arena_bytes == least_height(records)
    assert found.proved_optimal


@pytest.mark.skipif(not HARD.is_dir(), reason="needs ../shared/planning/minimalloc")
@pytest.mark.parametrize("name", SOLVED)
def test_hard_problems_fit_their_capacity(name: str) -> None:
    records = read_csv(HARD / f"{name}.{CAPACITY}.csv")
    found = plan(records, strategy="exact", capacity=CAPACITY, max_nodes=2_000_000)
    assert found.arena_bytes <= CAPACITY
    assert check(records, found.offsets, alignment=64) is None


@pytest.mark.skipif(not HARD.is_dir(), reason="needs ../shared/planning/minimalloc")
def test_a_spent_budget_gives_the_best_plan_found() -> None:
    records = read_csv(HARD / f"E.{CAPACITY}.csv")
    found = plan(records, strategy="exact", capacity=CAPACITY, max_nodes=1000)
    assert found.arena_bytes > CAPACITY
    assert not found.proved_optimal
    assert found.searched <= 1001
    assert check(records, found.offsets, alignment=64) is None


def test_a_capacity_below_the_bound_is_refused() -> None:
    records = [UsageRecord(0, 64, 0, 1), UsageRecord(1, 64, 1, 2)]
    with pytest.raises(ArenaError, match="128"):
        plan(records, strategy="exact", capacity=64)
