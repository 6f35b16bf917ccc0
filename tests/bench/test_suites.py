"""The suites: importable without minilite, frozen draws, and no deterministic figure that fails on this commit."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minilite
from asv_bench import builds, figures, history
from asv_bench.benchmarks import dynamic_family, dynamic_layers, peers

SUITES = builds.ROOT / "asv_bench" / "benchmarks"
DRAWN = {
    "chain 50 50": "4c2e4c269809",
    "branches 50 50": "b82e7e26b4d7",
    "loop 50 50": "c89b4c7c4f48",
}
"""SHA-1 of the text of seeded graphs and their operands, so that the history compares the same graphs."""


def drawn(form: str, nodes: int, percent: int) -> str:
    graph = dynamic_family.draw(form, nodes, percent)
    text = dynamic_family.problem(graph) + str([dynamic_family.operands(graph, turn).tolist() for turn in range(3)])
    return hashlib.sha1(text.encode()).hexdigest()[:12]


@pytest.mark.parametrize("name", DRAWN)
def test_the_family_is_frozen(name: str) -> None:
    form, nodes, percent = name.split()
    assert drawn(form, int(nodes), int(percent)) == DRAWN[name]


@pytest.mark.parametrize("form", dynamic_family.FORMS)
@pytest.mark.parametrize("percent", [0, 50, 100])
def test_the_family_runs_as_in_litert(form: str, percent: int) -> None:
    graph = dynamic_family.draw(form, 40, percent)
    assert sum(step.dynamic for step in graph.steps) == round(len(graph.steps) * percent / 100)
    make = peers._litert_builtin
    ours, theirs = (dynamic_family.Runner(graph, made) for made in (minilite.Interpreter, make))
    for turn in range(6):
        for runner in (ours, theirs):
            runner.run(turn)
        left, right = (runner.interpreter.get_tensor(runner.output) for runner in (ours, theirs))
        np.testing.assert_array_equal(left, right)


def test_layers_run_as_in_litert() -> None:
    """Lengths differ in every turn, before the layers and after them."""
    graph = dynamic_family.draw("branches", 60, 50)
    writer = dynamic_layers.LayersWriter
    nodes = minilite.load_model(dynamic_family.model(graph, writer)).subgraphs[0].nodes
    assert sum(node.op in ("CONV_2D", "FULLY_CONNECTED") for node in nodes) == 4 * 3
    makes = (minilite.Interpreter, peers._litert_builtin)
    ours, theirs = (dynamic_family.Runner(graph, make, writer) for make in makes)
    lengths = set()
    for turn in range(4):
        for runner in (ours, theirs):
            runner.run(turn)
        left, right = (runner.interpreter.get_tensor(runner.output) for runner in (ours, theirs))
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-5 * np.abs(right).max())
        assert right.any()
        lengths.add(len(right))
    assert len(lengths) == 4


@pytest.mark.parametrize("form", ["chain", "branches"])
def test_the_arena_follows_its_bound(form: str) -> None:
    """However lengths change, placing anew leaves the arena near its bound, even where the last order does not help."""
    runner = dynamic_family.Runner(dynamic_family.draw(form, 200, 50), minilite.Interpreter)
    for turn in range(12):
        runner.run(turn)
        runner.run(turn)  # what has grown is placed anew by now
        memory = runner.interpreter.memory
        assert memory is not None
        assert runner.interpreter.arena_bytes <= 1.25 * memory.lower_bound, turn


def test_suites_import_without_minilite(tmp_path: Path) -> None:
    """The first commits have no Interpreter; what they cannot do must be n/a, not a failure."""
    code = f"""
import sys
sys.modules["minilite"] = None
sys.path.insert(0, {str(SUITES.parent)!r})
import importlib, pkgutil, benchmarks, figures
for module in pkgutil.iter_modules(benchmarks.__path__):
    importlib.import_module("benchmarks." + module.name)
rows = figures.measure("planning|footprint|Counters|dynamic.Counts")
assert len(rows) > 50
assert all("not there yet" in row.get("reason", "") for row in rows.values())
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["first", *builds.versions()])
def test_suites_fit_the_past(version: str, tmp_path: Path) -> None:
    """On the first commit that runs models nearly everything is n/a, and from version to version less is; nothing
    fails."""
    builds.export(builds.commit_of(builds.versions().get(version, history.FIRST)), tmp_path / "source")
    builds.install(tmp_path / "source", tmp_path / "package")
    apart = {"counted", "milestones", "peers"}  # by tests of their own; counting takes minutes on old commits
    names = [path.stem for path in sorted(SUITES.glob("[a-z]*.py")) if path.stem not in apart]
    command = [sys.executable, "-S", str(Path(__file__).with_name("walk.py")), str(SUITES), *names]
    environment = builds.environment(tmp_path / "package")
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    *failed, last = done.stdout.splitlines()
    assert failed == []
    assert int(last.split()[0]) >= {"first": 4, "0.1.0": 400}.get(version, 500), last


def measured(wanted: str) -> dict[str, str]:
    """For each figure that does not apply here, the reason."""
    command = [sys.executable, str(SUITES.parent / "figures.py"), "--bench", wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)
    assert rows
    return {name: row["reason"] for name, row in rows.items() if "reason" in row}


def test_every_deterministic_figure_applies_to_this_commit() -> None:
    assert measured(r"planning|footprint|Counters|dynamic\.Counts|binding") == {}


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("cc") and shutil.which("valgrind")), reason="needs cc and valgrind")
def test_every_cost_is_counted_on_this_commit() -> None:
    assert measured(r"Allocations|Instructions") == {}


def test_names_of_figures_are_known() -> None:
    sys.path.insert(0, str(SUITES.parent))
    try:
        names = [name for name, *_ in figures.tracks()]
    finally:
        sys.path.remove(str(SUITES.parent))
    assert len(names) == len(set(names)) > 200


def test_a_sample_is_many_calls(tmp_path: Path) -> None:
    """asv must not set up between the calls of a sample: see benchmarks/__init__.py."""
    pytest.importorskip("asv", reason="asv comes with the extra 'dev'")
    asv = (sys.executable, "-m", "asv")
    config = json.loads((SUITES.parent / "asv.conf.json").read_text())
    config |= {"repo": str(builds.ROOT), "benchmark_dir": str(SUITES)} | {"results_dir": str(tmp_path / "results")}
    (tmp_path / "asv.conf.json").write_text(json.dumps(config))
    environment = {**os.environ, "HOME": str(tmp_path)}
    options = ("--python=same", "--set-commit-hash", builds.commit_of("HEAD"), "--bench", r"Invoke.*'chain 1'")
    for command in (("machine", "--yes"), ("run", *options, "-a", "rounds=1", "-a", "repeat=3")):
        subprocess.run([*asv, *command], cwd=tmp_path, env=environment, check=True, capture_output=True)
    (path,) = (tmp_path / "results").glob("*/*-*.json")
    found = json.loads(path.read_text())
    row = dict(zip(found["result_columns"], found["results"]["invoking.Invoke.time_invoke"], strict=False))
    assert max(number or 0 for number in row["stats_number"]) > 100


@pytest.mark.parametrize("runtime", ["minilite", "litert", "litert-builtin"])
def test_peers_do_the_same_work(runtime: str) -> None:
    assert 0 < peers.ratio("invoke, chain 1", runtime) < 1000


# History --------------------------------------------------------------------------------------------------------------


def test_versions_have_a_commit_and_a_section() -> None:
    log = (builds.ROOT / "CHANGELOG.md").read_text()
    found = builds.versions()
    assert found
    for version, commit in found.items():
        assert version in log
        assert len(builds.commit_of(commit)) == 40


def test_the_history_is_long_and_has_every_version() -> None:
    found = history.chosen()
    own = builds.git("rev-list", "--first-parent", "HEAD").split()
    assert len(set(found)) > 20
    assert {builds.commit_of(commit) for commit in builds.versions().values()} <= set(found)
    assert set(found) <= set(own)
    assert (builds.commit_of(history.FIRST), own[0]) == (found[0], found[-1])


def test_commits_are_spread_over_the_range() -> None:
    every = history.commits(f"{history.FIRST}..HEAD", None)
    assert history.commits("..", None) == every
    some = history.commits(f"{history.FIRST}..HEAD", 5)
    assert len(some) == 5
    assert (some[0], some[-1]) == (every[0], every[-1])
    assert builds.commit_of(history.FIRST) == every[-1]
