"""The ladder: all variants place every tensor in the same way, and each step looks at fewer records than the one
before."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from asv_bench.benchmarks import dynamic_family
from asv_bench.ladder import chart, variants

pytestmark = pytest.mark.skipif(variants.compiler() is None, reason="no C compiler")


PROBLEM = dynamic_family.problem(dynamic_family.draw("branches", 200, 50))


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, str], Path]:
    folder = tmp_path_factory.mktemp("ladder")
    keys = [(step, store) for step in range(len(variants.STEPS)) for store in variants.STORES]
    return {key: variants.build(folder, *key) for key in keys}


@pytest.fixture(scope="module")
def found(programs: dict[tuple[int, str], Path]) -> dict[tuple[int, str], Any]:
    return {key: variants.run(program, PROBLEM, runs=3) for key, program in programs.items()}


def test_variants_place_alike(found: dict[tuple[int, str], Any]) -> None:
    assert len({(row["digest"], row["high_water"]) for row in found.values()}) == 1


def test_steps_look_at_less(found: dict[tuple[int, str], Any]) -> None:
    steps = [found[step, "vector"] for step in range(len(variants.STEPS))]
    assert steps[3]["tensors"] < steps[2]["tensors"] / 4
    assert steps[4]["scanned"] < steps[3]["scanned"]
    assert steps[5]["scanned"] < steps[4]["scanned"] / 4


def test_stores_look_at_the_same(found: dict[tuple[int, str], Any]) -> None:
    for step in range(len(variants.STEPS)):
        assert len({found[step, store]["scanned"] for store in variants.STORES}) == 1


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind")
def test_instructions_are_counted_by_phase_and_each_time_the_same(programs: dict[tuple[int, str], Path]) -> None:
    first, last = (variants.measure_one(programs[step, "vector"], PROBLEM, 2) for step in (0, 5))
    assert all(cost > 0 for row in (first, last) for cost in row.phases.values())
    assert last.planner < first.planner / 2
    assert last.phases["resolve"] < first.phases["resolve"] / 4
    assert variants.measure_one(programs[5, "vector"], PROBLEM, 2) == last


def test_a_problem_that_ends_early_is_refused(tmp_path: Path) -> None:
    import subprocess

    program = variants.build(tmp_path, 5)
    done = subprocess.run([str(program), "1"], input="3 1 16\n-1 16", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "ends too early" in done.stderr


def test_the_chart_shows_steps_and_the_article() -> None:
    shares = [dict.fromkeys(chart.COLOURS, share) for share in (12.0, 3.0)]
    text = chart.draw(["first", "second"], shares, [54.3, None])
    assert "48.0 %" in text
    assert "12.0 %" in text
    assert text.count("stroke-dasharray") == 1
