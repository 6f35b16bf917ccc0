"""More than a thousand records: passes by a grid over time, and the orders of the squeaky wheel."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from minilite import memory
from minilite.memory import FOREVER, UsageRecord, plan
from minilite.memory.lower_bound import rounded

ALIGNMENT = 16


def short_lives(rng: random.Random, count: int) -> Iterator[tuple[int, int]]:
    for node in range(count):
        yield node, node + int(rng.expovariate(1 / 40))


def long_lives(rng: random.Random, count: int) -> Iterator[tuple[int, int]]:
    """A tenth live for over a quarter of the time, some for all of it."""
    for node in range(count):
        last = node + rng.randrange(count // 4, count) if rng.random() < 0.1 else node + rng.randrange(4)
        yield node, rng.choice((last, last, FOREVER)) if last > count else last


def crowded_lives(rng: random.Random, count: int) -> Iterator[tuple[int, int]]:
    """Most records begin or end at one of a few nodes."""
    for _ in range(count):
        first = rng.choice((0, 7, 7, 300, rng.randrange(1000)))
        yield first, rng.choice((first, first, max(first, 500), first + rng.randrange(1000)))


def log_lives(rng: random.Random, count: int) -> Iterator[tuple[int, int]]:
    """Lives of all lengths, in no order, at nodes that lie far apart."""
    for _ in range(count):
        first = rng.randrange(count) * 1000
        yield first, first + int(count ** rng.random()) * 1000


LIVES = [short_lives, long_lives, crowded_lives, log_lives]
lives = pytest.mark.parametrize("lives", LIVES)


def some_records(lives: object, count: int, seed: int) -> list[UsageRecord]:
    rng = random.Random(seed)
    assert callable(lives)
    sizes = (0, 16, 100, 4096)
    return [
        UsageRecord(i, rng.choice((*sizes, int(rng.lognormvariate(8, 2)))), first, last)
        for i, (first, last) in enumerate(lives(rng, count))
    ]


def with_fixed(records: list[UsageRecord]) -> list[UsageRecord]:
    """Some records are fixed where another plan has them."""
    places = plan(records, "naive", ALIGNMENT).offsets
    return [r._replace(offset=places[i]) if i % 7 == 3 else r for i, r in enumerate(records)]


def greedy(records: list[UsageRecord], keys: list[int]) -> list[int]:
    """Places the largest key first, then the largest record, each into the smallest gap (the lowest of equal ones):
    looks at all placed records for each."""
    sizes = [rounded(r.size, ALIGNMENT) for r in records]
    offsets = np.array([-1 if r.offset is None else r.offset for r in records])
    ends = np.where(offsets >= 0, offsets + np.array(sizes), -1)
    first, last = (np.array([getattr(r, name) for r in records]) for name in ("first_node", "last_node"))
    order = sorted(range(len(records)), key=lambda i: (-keys[i], -sizes[i], records[i].first_node, i))
    for i in order:
        if offsets[i] >= 0 or sizes[i] == 0:
            offsets[i] = max(offsets[i], 0)
            continue
        live = np.flatnonzero((ends > offsets) & (offsets >= 0) & (first <= last[i]) & (last >= first[i]))
        best, slack, end = -1, 1 << 62, 0
        for k in live[np.argsort(offsets[live], kind="stable")]:
            gap = int(offsets[k]) - end
            if sizes[i] <= gap < sizes[i] + slack:
                best, slack = end, gap - sizes[i]
            end = max(end, int(ends[k]))
        offsets[i] = best if best >= 0 else end
        ends[i] = offsets[i] + sizes[i]
    return [int(offset) for offset in offsets]


def busiest(records: list[UsageRecord]) -> list[int]:
    """The bytes live at the busiest node of each record, 0 for records without bytes."""
    nodes = sorted({r.first_node for r in records if r.size})
    first, last = (np.array([getattr(r, name) for r in records]) for name in ("first_node", "last_node"))
    sizes = np.array([rounded(r.size, ALIGNMENT) for r in records])
    live = {node: int(sizes[(first <= node) & (last >= node)].sum()) for node in nodes}
    loads = np.array([live[node] for node in nodes])
    spans = np.searchsorted(nodes, first), np.searchsorted(nodes, last, "right")
    return [int(loads[a:b].max()) if r.size else 0 for r, a, b in zip(records, *spans, strict=True)]


@pytest.mark.parametrize("fixed", [False, True])
@lives
def test_a_pass_by_the_grid_finds_the_gaps_that_a_look_at_all_records_finds(lives: object, fixed: bool) -> None:
    records = some_records(lives, 1200, 1)
    if fixed:
        records = with_fixed(records)
    by_size = greedy(records, [rounded(r.size, ALIGNMENT) for r in records])
    assert list(plan(records, "greedy_by_size", ALIGNMENT).offsets) == by_size
    by_breadth = greedy(records, busiest(records))
    assert list(plan(records, "greedy_by_breadth", ALIGNMENT).offsets) == by_breadth


@pytest.mark.parametrize("fixed", [False, True])
@lives
def test_the_default_strategy_is_valid_and_no_worse_than_a_pass_by_size(lives: object, fixed: bool) -> None:
    for count in (1001, 2000):
        records = some_records(lives, count, count)
        if fixed:
            records = with_fixed(records)
        made = plan(records, alignment=ALIGNMENT)
        assert made.check() is None
        assert made.lower_bound <= made.arena_bytes <= plan(records, "greedy_by_size", ALIGNMENT).arena_bytes
        assert plan(records, alignment=ALIGNMENT) == made


def test_the_default_strategy_comes_close_to_the_bound() -> None:
    """Sizes of which few are large, as tensors' are: within a half of a thousandth."""
    rng = random.Random(2)
    for mean in (10, 100):
        records = [
            UsageRecord(i, int(rng.lognormvariate(10, 3)) + 1, i, i + int(rng.expovariate(1 / mean)))
            for i in range(20000)
        ]
        made = plan(records)
        assert made.arena_bytes <= made.lower_bound * 1.0005


@lives
def test_records_go_to_the_front_if_they_lie_above_the_bound(lives: object) -> None:
    """So the default strategy is better than each of its orders alone."""
    better = 0
    for seed in range(4):
        records = some_records(lives, 1500, 10 + seed)
        made = plan(records, alignment=ALIGNMENT)
        alone = min(plan(records, s, ALIGNMENT).arena_bytes for s in ("greedy_by_size", "greedy_by_breadth", "tflm"))
        better += made.arena_bytes < alone or made.arena_bytes == made.lower_bound
    assert better >= 3


def test_problems_at_the_limit_of_few_and_many() -> None:
    """A record without bytes makes a problem large, and is placed at 0 as in a small one."""
    for count in (999, 1000, 1001):
        records = some_records(short_lives, count, 1)
        for strategy in memory.strategies():
            if strategy in ("exact", "min_cost_flow"):  # many times as long
                continue
            made = plan(records, strategy, ALIGNMENT)
            assert made.check() is None
            assert all(place == 0 for r, place in zip(records, made.offsets, strict=True) if r.size == 0)
    assert plan([UsageRecord(i, 0, i, i) for i in range(1500)]).arena_bytes == 0
    fixed = [UsageRecord(i, 8, i, i, 64 * i) for i in range(1500)]
    assert plan(fixed).offsets == tuple(64 * i for i in range(1500))
