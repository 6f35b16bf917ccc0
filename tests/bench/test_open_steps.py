"""The steps that asv leaves open: they are read from its published pages, and each has an explanation."""

from __future__ import annotations

import functools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support import repository

from asv_bench import builds, documents, history, open_steps, release, site

PUBLISHED = {
    "regressions": [
        ["milestones.Instructions.track_instructions('invoke, conv')", "graphs/x.json", {}, 3, 12.0, 8.0, [[4, 6, 8.0, 12.0]]],
        ["milestones.Peer.track_peer_cost('resize new, conv')", "graphs/p.json", {}, 3, 9.0, 8.0, [[4, 6, 8.0, 9.0]]],
        ["footprint.Package.track_wheel", "graphs/y.json", {}, None, 5.0, 4.0, [[None, 4, 4.0, 5.0]]],
    ]
}  # fmt: skip
HASHES = {"4": "a" * 40, "6": "b" * 40}


def test_steps_name_the_figure_and_the_commits() -> None:
    assert [str(step) for step in open_steps.steps(PUBLISHED, HASHES)] == [
        "footprint.Package.track_wheel: 4 at best, 5 now (4 -> 5 at aaaaaaa)",
        "invoke, conv: instructions: 8 at best, 12 now (8 -> 12 at bbbbbbb)",
    ]


def test_labels_tell_figures_of_a_suite_apart() -> None:
    names = (
        "footprint.Arena.track_arena('conv')",
        "footprint.Arena.track_plan('conv')",
        "milestones.Peer.track_cost('x')",
    )
    assert [open_steps.label(name) for name in names] == ["conv: arena", "conv: arena plan", "x: peer cost"]


def test_a_document_explains_a_figure_together_with_the_commit() -> None:
    found = open_steps.steps(PUBLISHED, HASHES)
    wheel = "`footprint.Package.track_wheel` at aaaaaaa"
    assert open_steps.unexplained(found, "invoke, conv: instructions") == [
        wheel,
        "`invoke, conv: instructions` at bbbbbbb",
    ]
    assert open_steps.unexplained(found, "- `invoke, conv: instructions` at bbbbbbb") == [wheel]
    assert len(open_steps.unexplained(found, "- `invoke, conv: instructions` at aaaaaaa")) == 2
    assert len(open_steps.unexplained(found, "- `invoke, conv: instructions`\n- bbbbbbb")) == 2


def test_the_command_fails_for_steps_without_explanation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def publish(out: Path, *_: Path) -> None:
        (out / "regressions.json").write_text(json.dumps(PUBLISHED))
        (out / "index.json").write_text(json.dumps({"revision_to_hash": HASHES}))

    monkeypatch.setattr(site, "publish", publish)
    monkeypatch.setattr(open_steps, "DOCUMENT", tmp_path / "a.md")
    open_steps.DOCUMENT.write_text("`invoke, conv: instructions` bbbbbbb")
    line = "a.md does not explain `footprint.Package.track_wheel` at aaaaaaa"
    assert open_steps.main() == 1
    assert capsys.readouterr().out.splitlines()[2:] == [line]
    assert open_steps.lacking() == [line]
    open_steps.DOCUMENT.write_text("`invoke, conv: instructions` bbbbbbb\n- `footprint.Package.track_wheel`: aaaaaaa")
    assert open_steps.main() == 0
    assert open_steps.lacking() == []


PLANTED = ("plan default, 126 records", "resize new, chain 100")
"""Operations that plan."""
COMMITS = 8


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """asv's configuration of a repository of a few commits, each with the results that the last version has here; the
    last of them takes 5 % more instructions to plan."""
    pytest.importorskip("asv", reason="needs the bench extra")
    folder, results = tmp_path / "repository", tmp_path / "results" / "machine"
    results.mkdir(parents=True)
    folder.mkdir()
    git = functools.partial(repository.git, folder)
    version = list(builds.versions().values())[-1]
    measured = next((builds.ROOT / "asv_bench" / "results").glob(f"*/{version[:7]}*.json"))
    shutil.copyfile(measured.with_name("machine.json"), results / "machine.json")
    named = json.loads((results / "machine.json").read_text())
    (results / "machine.json").write_text(json.dumps(named | {"machine": "machine"}))
    git("init", "--quiet", "--initial-branch", "main")
    for k in range(COMMITS):
        git("commit", "--allow-empty", "--message", f"{k}", "--date", f"2026-01-0{k + 1}T00:00:00")
        row = json.loads(measured.read_text())
        row |= {"commit_hash": git("rev-parse", "HEAD"), "date": 1767225600000 + 86400000 * k}
        row["params"]["machine"] = "machine"
        if k == COMMITS - 1:
            plant(row)
        (results / f"{row['commit_hash'][:8]}-{measured.name.partition('-')[2]}").write_text(json.dumps(row))
    config = json.loads((site.HERE / "asv.conf.json").read_text())
    config |= {"repo": str(folder), "benchmark_dir": str(site.HERE / "benchmarks"), "results_dir": "results"}
    (tmp_path / "asv.conf.json").write_text(json.dumps(config))
    return tmp_path / "asv.conf.json"


def plant(row: dict[str, Any]) -> None:
    """Makes instructions of operations that plan 5 % more, in what asv keeps of a commit."""
    values, (names,), *_ = row["results"]["milestones.Instructions.track_instructions"]
    for at, name in enumerate(names):
        values[at] *= 1.05 if name.strip("'") in PLANTED else 1


def test_five_percent_more_instructions_of_planning_are_an_open_step(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = open_steps.open_now(record)
    assert [step.figure for step in found] == [f"{name}: instructions" for name in PLANTED]
    assert all(step.last == pytest.approx(1.05 * step.best) for step in found)
    monkeypatch.setattr(open_steps, "open_now", lambda: found)
    lacks = open_steps.lacking()  # of the document as it is, which explains steps of other commits
    assert len(lacks) == len(PLANTED)
    monkeypatch.setattr(history, "missing", lambda root: "")
    monkeypatch.setattr(documents, "stale", lambda root: [])
    assert release.check() == lacks


def test_equal_results_have_no_open_step(record: Path) -> None:
    last = max(
        (record.parent / "results" / "machine").glob("*-*.json"), key=lambda path: json.loads(path.read_text())["date"]
    )
    last.unlink()
    assert open_steps.open_now(record) == []
