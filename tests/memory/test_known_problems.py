"""Problems whose answers are known: worked examples, the article's tables, real models, LiteRT's own arenas."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest

from asv_bench.benchmarks import paper
from minilite import memory
from minilite.memory import FOREVER, UsageRecord, plan, read_csv
from minilite.memory.lower_bound import rounded

ROOT = Path(__file__).resolve().parents[2]
PLANNING = next((p / "shared/planning" for p in ROOT.parents if (p / "shared/planning").is_dir()), Path("../shared"))

# (first, last, size), as public unit tests that cite the article have it.
EXAMPLE = ((0, 1, 32), (1, 4, 28), (2, 5, 36), (3, 5, 16), (4, 5, 8), (5, 7, 64), (6, 8, 10), (7, 8, 40))
# TFLM, non_persistent_buffer_planner_shim.h: A1 to A9 at operators 1 to 4.
SHIM = (
    (1, 4, 400), (1, 1, 401), (1, 2, 10), (2, 4, 201), (2, 3, 11), (3, 3, 202), (3, 4, 12), (4, 4, 200), (4, 4, 13),
)  # fmt: skip

# MiB, as recomputed from the real graphs: MobileNet v1, v2, DeepLab v3, Inception v3, PoseNet 257, BlazeFace.
TABLE = {
    "shared_greedy_by_size": (5.359, 6.986, 7.102, 10.177, 8.157, 1.457),
    "shared_greedy_by_size_improved": (4.594, 6.699, 7.168, 10.372, 6.126, 1.361),
    "shared_greedy_by_breadth": (4.594, 6.891, 6.769, 10.325, 6.690, 1.478),
    "greedy_in_order": (4.594, 8.039, 7.168, 12.160, 6.126, 1.367),
    "min_cost_flow": (5.359, 7.513, 8.431, 11.071, 7.722, 1.339),
    "equality": (8.912, 17.540, 25.622, 33.350, 19.611, 5.405),
    "greedy_by_size": (4.594, 5.742, 4.653, 7.913, 6.094, 1.312),
    "greedy_by_breadth": (4.594, 5.742, 4.653, 8.203, 6.094, 1.312),
    "strip_packing": (4.594, 5.742, 4.320, 7.913, 6.094, 1.688),
    "default": (4.594, 5.742, 4.320, 7.913, 6.094, 1.312),
    "naive": (19.248, 26.309, 48.716, 54.746, 29.510, 9.194),
}
SHARED_BOUND = (4.594, 6.604, 6.105, 8.982, 6.126, 1.337)
OFFSETS_BOUND = (4.594, 5.742, 4.320, 7.913, 6.094, 1.312)
TENSORS = (30, 64, 69, 124, 27, 88)


def records_of(rows: tuple[tuple[int, int, int], ...]) -> list[UsageRecord]:
    return [UsageRecord(i, size, first, last) for i, (first, last, size) in enumerate(rows)]


def mib(nbytes: int) -> float:
    return round(nbytes / paper.MIB, 3)


def eight_branches(nodes: int, seed: int) -> list[UsageRecord]:
    """Eight chains from one input, their nodes in any order, joined at the end; sizes from 4 bytes to 256 KiB."""
    rng = random.Random(seed)
    first, last, size, ends = [0], [nodes], [1024], [0] * 8
    for node in range(nodes):
        branch = rng.randrange(8)
        last[ends[branch]] = node if ends[branch] else nodes
        ends[branch] = len(first)
        first.append(node)
        last.append(nodes)
        size.append(int(4 * 65536 ** rng.random()))
    return [UsageRecord(k, *row) for k, row in enumerate(zip(size, first, last, strict=True))]


def dense_blocks(layers: int, seed: int) -> list[UsageRecord]:
    """DenseNet's blocks: every layer reads the outputs of all layers before it, so these live to the end of the
    block."""
    rng, records, node = random.Random(seed), [], 0
    for _ in range(4):
        end = node + 2 * layers
        for depth in range(layers):
            records.append(UsageRecord(len(records), (depth + 2) * rng.randrange(1, 9) * 512, node, node + 1))
            records.append(UsageRecord(len(records), rng.randrange(1, 9) * 4096, node + 1, end))
            node += 2
    return records


def test_wide_graphs_reach_the_bound() -> None:
    """The default strategy does, where greedy orders, and moves of one record at a time, do not."""
    wide = [eight_branches(nodes, seed) for nodes in (100, 200, 400) for seed in range(6)]
    wide += [dense_blocks(layers, seed) for layers in (16, 30) for seed in range(6)]
    assert sum(made.arena_bytes > made.lower_bound for made in (plan(w, "greedy_by_size") for w in wide)) >= 15
    for records in wide:
        made = plan(records)
        assert made.check() is None
        assert made.arena_bytes == made.lower_bound


def test_worked_example() -> None:
    made = plan(records_of(EXAMPLE), "greedy_by_size", 1)
    assert made.arena_bytes == 124
    assert made.check() is None


def test_tflm_shim_example() -> None:
    records = records_of(SHIM)
    made = plan(records, "tflm", 1)
    assert made.arena_bytes == 1012
    assert [made.offsets[i] for i in (1, 0, 3, 5, 7)] == [0, 401, 801, 0, 0]
    assert plan(records, alignment=1).arena_bytes == memory.lower_bound(records, 1) == 826


def test_tflm_places_the_last_of_equal_sizes_first() -> None:
    records = [UsageRecord(i, 10, 0, 0) for i in range(3)]
    assert plan(records, "tflm", 16).offsets == (32, 16, 0)


@pytest.mark.parametrize("strategy", TABLE)
def test_table(strategy: str) -> None:
    shared = strategy in paper.SHARED_OBJECTS
    bounds = SHARED_BOUND if shared else OFFSETS_BOUND
    for network, reference, bound in zip(paper.NETWORKS, TABLE[strategy], bounds, strict=True):
        made = plan(paper.problem(network), strategy, 1)
        assert bound <= mib(made.arena_bytes) <= reference, network
        assert made.check() is None


def test_table_bounds() -> None:
    assert tuple(map(mib, paper.bounds(shared_objects=True).values())) == SHARED_BOUND
    assert tuple(map(mib, paper.bounds(shared_objects=False).values())) == OFFSETS_BOUND
    assert tuple(len(paper.problem(network)) for network in paper.NETWORKS) == TENSORS


def test_tables_print_every_cell(capsys: pytest.CaptureFixture[str]) -> None:
    paper.main()
    lines = capsys.readouterr().out.splitlines()
    for strategy in (*paper.SHARED_OBJECTS, *paper.OFFSETS):
        row = next(line for line in lines if line.startswith(f"{strategy} "))
        assert len(row.split()) == 1 + len(paper.NETWORKS)


def real_problems() -> list[Path]:
    return sorted(path for path in PLANNING.glob("*.csv") if path.name != "INDEX.csv")


shared = pytest.mark.skipif(not real_problems(), reason=f"needs the planning problems in {PLANNING}")


@shared
def test_default_meets_the_bound_on_every_real_problem() -> None:
    missed = []
    for path in real_problems():
        records = read_csv(path)
        for alignment in (64, 1) if path.name.endswith(".inter.csv") else (64,):
            made = plan(records, alignment=alignment)
            assert made.check() is None, path.name
            if made.arena_bytes != made.lower_bound:
                missed.append(f"{path.name}, alignment {alignment}: {made.arena_bytes} over {made.lower_bound}")
    assert missed == []


def kept_forever(records: list[UsageRecord]) -> list[UsageRecord]:
    """As in TFLite, a tensor that lives to the end of the graph is never freed."""
    end = max(record.last_node for record in records)
    return [r._replace(last_node=FOREVER) if r.last_node == end else r for r in records]


@shared
@pytest.mark.parametrize(("column", "suffix"), [("tflite_no_inplace", ""), ("tflite_inplace", ".inplace")])
def test_tflite_strategy_gives_tflites_arenas(column: str, suffix: str) -> None:
    wrong, compared = [], 0
    with (PLANNING / "INDEX.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            path = PLANNING / f"{row['name']}{suffix}.csv"
            if not row[column] or not path.exists():
                continue
            made = plan(kept_forever(read_csv(path)), "tflite")
            compared += 1
            if made.arena_bytes != rounded(int(row[column]), 64):
                wrong.append(f"{path.name}: {made.arena_bytes}, LiteRT {row[column]}")
    assert wrong == []
    assert compared >= 40
