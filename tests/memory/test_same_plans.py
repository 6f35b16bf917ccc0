"""Strategies give the plans that they gave before, with as many steps: on any machine, and until a change on purpose.

Every step of a strategy decides: one that goes another way gives another plan, though a valid one, or searches longer.
After a change on purpose: `PYTHONPATH=tests/memory python tests/memory/test_same_plans.py` prints what there is now.
"""

from __future__ import annotations

import functools
import hashlib
import random

import pytest
from test_exact import cut_up
from test_known_problems import dense_blocks, eight_branches
from test_strategies import TAKES_FIXED

from minilite import Interpreter, memory
from minilite.format.builder import ModelBuilder
from minilite.memory import FOREVER, UsageRecord, plan

PLANS = {
    "default": "ac3f709e273b",
    "naive": "ff0292dcda7f",
    "tflite": "bea3de2a26ef",
    "greedy_by_size": "2436b6116b23",
    "greedy_by_breadth": "bfd542be7d43",
    "exact": "7ba75e187aeb",
    "strip_packing": "4c691a73f007",
    "tflm": "411053d1f4ef",
    "equality": "7550bb4fe099",
    "greedy_in_order": "e2dd8f0a3ee7",
    "shared_greedy_by_size": "f6c0edbde0cc",
    "shared_greedy_by_size_improved": "c45daeb0b4f7",
    "shared_greedy_by_breadth": "4c9e2e11b195",
    "min_cost_flow": "951e104194df",
}
FIXED = {
    "default": "8492c6cd29b2",
    "naive": "a434d5f061c6",
    "tflite": "08b3550feaa5",
    "greedy_by_size": "5cff741b855e",
    "greedy_by_breadth": "1d1da049047c",
    "tflm": "e7f581385b54",
}
SIZES = {
    12: ["ca827be51074", "fe0006b460fc", "4802c7507811", "8a6ee0fd12a4"],
    40: ["0c31424dfa3e", "26d6b4ed457e", "d9967d6a1496", "6761f2448c5a"],
    150: ["9a001ff5e019", "374fbc2ff439", "d26cdb56f796", "0050de3d2db5"],
}


def some_records(seed: int) -> list[UsageRecord]:
    """Up to 40 records in any order, long-lived and short-lived; sizes come again, some are 0."""
    rng = random.Random(seed)
    records = []
    for tensor in range(rng.randrange(2, 40)):
        first = rng.randrange(24)
        last = rng.choice([first, first + 1, first + rng.randrange(4), first + rng.randrange(20), FOREVER])
        size = rng.choice([0, 64, 100, 4096, rng.randrange(1 << 12), rng.randrange(1 << 20)])
        records.append(UsageRecord(tensor, size, first, last))
    return records


@functools.cache
def problems() -> list[list[UsageRecord]]:
    """Some of each kind."""
    found = [some_records(seed) for seed in range(60)]
    found += [cut_up(seed, kept) for seed in range(6) for kept in (1.0, 0.9)]
    for seed in range(3):
        found += [eight_branches(100, seed), eight_branches(200, seed), dense_blocks(16, seed)]
    return found


def digest(strategy: str, fixed: bool = False) -> str:
    """Hashes all plans, and the steps that they took."""
    hashed = hashlib.sha256()
    for number, records in enumerate(problems()):
        if fixed:
            kept = range(number % 3, len(records), 4)
            places = plan(records, "naive").offsets
            records = [r._replace(offset=places[k]) if k in kept else r for k, r in enumerate(records)]
        made = plan(records, strategy, (64, 1, 16)[number % 3], max_nodes=2000)
        hashed.update(repr((made.offsets, made.arena_bytes, made.searched, made.proved_optimal)).encode())
    return hashed.hexdigest()[:12]


def joined(seed: int, nodes: int) -> bytes:
    """Nodes that join two or three of the tensors made last, so that their sizes depend on all inputs."""
    rng = random.Random(seed)
    b = ModelBuilder()
    g = b.subgraph("main")
    made = [g.input(f"x{k}", (8,)) for k in range(6)]
    sizes = dict.fromkeys(made, 8)
    for node in range(nodes):
        near = [t for t in made[-12:] if sizes[t] < 1000] or made[:2]
        read = rng.sample(near, min(len(near), rng.choice((1, 2, 2, 3))))
        length = sum(sizes[t] for t in read)
        made.append(g.node("CONCATENATION", read, out=(f"t{node}", (length,)), options={"axis": 0}))
        sizes[made[-1]] = length
    g.output(*made[-4:])
    return b.build()


def digest_of_sizes(seed: int, nodes: int) -> str:
    """Hashes the plans of one interpreter for sizes of which some come back, twice, and whether these were improved."""
    rng = random.Random(seed)
    interpreter = Interpreter(model_content=joined(seed, nodes))
    sizes = [[rng.choice((0, 1, 4, 100, rng.randrange(1, 2000))) for _ in range(6)] for _ in range(8)]
    hashed = hashlib.sha256()
    for k in (*range(8), *range(0, 8, 2), *range(8)):
        for x, size in enumerate(sizes[k]):
            interpreter.resize_tensor_input(f"x{x}", (size,))
        interpreter.allocate_tensors()
        hashed.update(repr((interpreter.plan.records(), interpreter.counters["plans_improved"])).encode())
    return hashed.hexdigest()[:12]


@pytest.mark.parametrize("strategy", memory.strategies())
def test_same_plans(strategy: str) -> None:
    assert digest(strategy) == PLANS[strategy]


@pytest.mark.parametrize("strategy", TAKES_FIXED)
def test_same_plans_around_fixed_records(strategy: str) -> None:
    assert digest(strategy, fixed=True) == FIXED[strategy]


@pytest.mark.parametrize("nodes", [12, 40, 150])
def test_same_plans_of_one_graph_at_many_sizes(nodes: int) -> None:
    assert [digest_of_sizes(seed, nodes) for seed in range(4)] == SIZES[nodes]


if __name__ == "__main__":
    print("PLANS =", {strategy: digest(strategy) for strategy in memory.strategies()})
    print("FIXED =", {strategy: digest(strategy, fixed=True) for strategy in TAKES_FIXED})
    print("SIZES =", {nodes: [digest_of_sizes(seed, nodes) for seed in range(4)] for nodes in (12, 40, 150)})
