"""The suites: importable without minilite, frozen draws, and no deterministic figure that fails on this commit."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minilite
from asv_bench import builds, figures, history, walk
from asv_bench.benchmarks import apart, common, dynamic_family, dynamic_layers, peers
from tools import api_reference

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
    """Placing again leaves the arena near its bound for any change of lengths, also if the order of the last plan does
    not help."""
    runner = dynamic_family.Runner(dynamic_family.draw(form, 200, 50), minilite.Interpreter)
    for turn in range(12):
        runner.run(turn)
        runner.run(turn)  # grown tensors are placed again by now
        memory = runner.interpreter.memory
        assert memory is not None
        assert runner.interpreter.arena_bytes <= 1.25 * memory.lower_bound, turn


def test_suites_import_without_minilite(tmp_path: Path) -> None:
    """The first commits have no Interpreter; a benchmark that they cannot run must be n/a, not a failure."""
    code = f"""
import sys
sys.modules["minilite"] = None
sys.path.insert(0, {str(SUITES.parent)!r})
import importlib.metadata, pkgutil, benchmarks, figures
for module in pkgutil.iter_modules(benchmarks.__path__):
    importlib.import_module("benchmarks." + module.name)
importlib.metadata.distributions = lambda **_: []
rows = figures.measure("planning|footprint|Counters|dynamic.Counts")
assert len(rows) > 50
assert all("not there yet" in row.get("reason", "") and row["not_yet"] for row in rows.values())
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["first", *builds.versions()])
def test_suites_fit_the_past(version: str, tmp_path: Path) -> None:
    """On the first commit that runs models nearly everything is n/a, and from version to version less is; nothing
    fails."""
    builds.export(builds.commit_of(builds.versions().get(version, history.FIRST)), tmp_path / "source")
    builds.install(tmp_path / "source", tmp_path / "package")
    names = [path.stem for path in sorted(SUITES.glob("[a-z]*.py")) if path.stem != "peers"]
    command = [sys.executable, "-S", str(SUITES.parent / "walk.py"), "--past", *names]
    environment = builds.environment(tmp_path / "package")
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.splitlines()[-1].split()[0]) >= {"first": 4, "0.1.0": 300}.get(version, 400), done.stdout


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of what a suite imports of minilite; the module alone, without a name, if it takes all of it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "minilite":
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "minilite")


def test_suites_use_what_is_public() -> None:
    """Names in docs/api.md are public: others may change without notice, and then nothing is measured."""
    public = {("minilite", ""), ("minilite", "memory")}
    public |= {(module, getattr(item, "__name__", "")) for _, module, items in api_reference.PAGES for item in items}
    public |= {("minilite", name) for name in minilite.__all__}
    found = {(path.name, *name) for path in SUITES.glob("*.py") for name in imported(path)}
    assert len(found) > 20
    assert {row for row in found if row[1:] not in public} == set()
    for path in SUITES.glob("*.py"):
        assert not re.search(r"minilite\._(?!_)|_native|\b_core\b", path.read_text()), path.name


class Version:
    """An installed package of a version."""

    def __init__(self, version: str) -> None:
        self.version = version


@pytest.mark.parametrize(("first", "second"), [("minilite", "minilite_runtime"), ("minilite_runtime", "minilite")])
def test_the_first_package_on_the_path_is_meant(
    first: str, second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions up to 0.7.0 have another name, and may be measured where a later one is installed too."""
    for name, version in ((first, "0.1.0"), (second, "0.9.0")):
        folder = tmp_path / name / f"{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / first), str(tmp_path / second), *sys.path])
    found = common.distribution.__wrapped__()
    assert found is not None
    assert found.version == "0.1.0"


@pytest.mark.parametrize(
    ("version", "needed", "old"),
    [("0.3.0", "0.4.0", True), ("0.4.0", "0.4.0", False), ("0.10.0", "0.9.1", False), ("1.0.0rc1", "0.14.0", False)],
)
def test_missing_names_are_old_versions_or_errors(
    version: str, needed: str, old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(common, "distribution", lambda: Version(version))
    with pytest.raises(common.NotYetError if old else ImportError), common.since(needed):
        from minilite import no_such_name  # type: ignore[attr-defined]  # noqa: F401
    with pytest.raises(common.NotYetError if old else KeyError):
        common.counter(minilite.Interpreter(model_content=common.chain(1)), "no_such_counter", needed)
    with pytest.raises(NotImplementedError, match="no valgrind"), common.since(needed):
        raise NotImplementedError("no valgrind")


def test_failure_of_a_subprocess_is_a_failure() -> None:
    with pytest.raises(RuntimeError, match="no attribute 'no_such_function'"):
        apart.call("costs", "no_such_function")
    with pytest.raises(NotImplementedError, match="tflite-micro can only invoke"):
        apart.call("peers", "ratio", "set_tensor", "tflite-micro")


def not_yet(_: Any) -> float:
    message = "0.99"
    raise common.NotYetError(message)


def not_here(_: Any) -> float:
    message = "no valgrind"
    raise NotImplementedError(message)


def renamed(_: Any) -> float:
    from minilite import no_such_name  # type: ignore[attr-defined]

    return float(no_such_name)


@pytest.mark.parametrize(
    ("track", "expected"),
    [
        (lambda _: 1.0, "1 done, 0 not there yet, 0 not on this machine, 0 failed"),
        (lambda _: float("nan"), "FAILED planted.Suite.track_one(): ValueError('gave nan')"),
        (not_yet, "FAILED planted.Suite.track_one(): 0.99"),
        (not_here, "not on this machine, 1: no valgrind"),
        (renamed, "FAILED planted.Suite.track_one(): ImportError"),
    ],
)
def test_the_walk_fails_at_a_benchmark_without_a_value(
    track: Callable[[Any], float], expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = type("Suite", (), {"__module__": "benchmarks.planted", "track_one": track})
    planted = types.SimpleNamespace(__name__="benchmarks.planted", Suite=suite)
    monkeypatch.setitem(sys.modules, "benchmarks.planted", planted)  # type: ignore[arg-type]
    failed = walk.walk(["planted"], past=False)
    assert expected in capsys.readouterr().out
    assert failed == ("FAILED" in expected)
    assert walk.walk(["planted"], past=True) == (failed if track is not not_yet else 0)


@pytest.mark.parametrize(("statement", "failed"), [("import minilite", 0), ("from minilite import no_such_name", 1)])
def test_the_walk_runs_statements(statement: str, failed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"__module__": "benchmarks.planted", "timeraw_import": lambda _: (statement, "import numpy")}
    planted = types.SimpleNamespace(__name__="benchmarks.planted", Suite=type("Suite", (), own))
    monkeypatch.setitem(sys.modules, "benchmarks.planted", planted)  # type: ignore[arg-type]
    assert walk.walk(["planted"], past=False) == failed


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


def test_a_call_of_minilite_that_was_renamed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Renamed(minilite.Interpreter):
        @property
        def run(self) -> Any:  # type: ignore[override]
            message = "run is gone"
            raise AttributeError(message)

    monkeypatch.setattr(minilite, "Interpreter", Renamed)
    with pytest.raises(AttributeError, match="run"):
        peers.ratio("run, chain 1", "minilite")


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
