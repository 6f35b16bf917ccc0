"""The release command: does each step once; its check lists everything that the record lacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from asv_bench import builds, documents, history, open_steps, performance, release


def test_a_second_call_goes_on_after_the_last_step_that_was_done(tmp_path: Path) -> None:
    calls: list[str] = []
    fails = {"b"}

    def step(name: str) -> Callable[[], str]:
        def do() -> str:
            calls.append(name)
            if name in fails:
                raise RuntimeError(name)
            return "no models" if name == "c" else ""

        return do

    steps = [(name, step(name)) for name in "abcd"]
    notes = tmp_path / "folder" / "notes.json"
    with pytest.raises(RuntimeError, match="b"):
        release.run(steps, "1.0.0", notes)
    fails.clear()
    assert release.run(steps, "1.0.0", notes) == ["c: no models"]
    assert "".join(calls) == "abbcd"
    calls.clear()
    assert release.run(steps, "1.0.0", notes) == ["c: no models"]
    assert calls == ["c"]
    calls.clear()
    release.run(steps, "1.0.1", notes)
    assert "".join(calls) == "abcd"
    assert json.loads(notes.read_text()) == {"version": "1.0.1", "done": ["a", "b", "d"]}


def test_each_release_table_has_a_step() -> None:
    assert {name for name, _ in release.STEPS} >= documents.RELEASE
    assert performance.SECTIONS.keys() >= documents.RELEASE


def test_a_new_machine_measures_the_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    here, wanted = set[str](), list[list[str]]()
    monkeypatch.setattr(builds, "commit_of", lambda name, root=None: name)
    monkeypatch.setattr(history, "machine", lambda: {"machine": "here"})
    monkeypatch.setattr(history, "measured", lambda commit, machine: commit in here)
    monkeypatch.setattr(history, "measure", lambda commits: wanted.append(commits) or 0)
    known = builds.versions()
    every = [known[name] for name in dict.fromkeys((*release.ANCHORS, list(known)[-1]))]
    assert release.anchors() == ""
    assert wanted == [every]
    here.update(every[1:])
    release.anchors()
    assert wanted[1:] == [every[:1]]
    here.update(every)
    release.anchors()
    assert len(wanted) == 2


def test_the_version_gets_its_line_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "asv_bench").mkdir()
    monkeypatch.setattr(release, "VERSIONS", tmp_path / "asv_bench" / "versions.txt")
    monkeypatch.setattr(
        builds, "versions", lambda: {} if "1.2.3" not in release.VERSIONS.read_text() else {"1.2.3": ""}
    )
    monkeypatch.setattr(history, "version", lambda: "1.2.3")
    monkeypatch.setattr(history, "numbering", lambda name: "0123456789")
    release.VERSIONS.write_text("# version commit\n")
    for _ in range(2):
        assert release.number() == ""
        assert release.VERSIONS.read_text() == "# version commit\n1.2.3 0123456\n"


def test_a_version_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "version", lambda: "99.0.0")
    monkeypatch.setattr(history, "numbering", lambda name: "")
    with pytest.raises(SystemExit, match=r"no commit has version 99\.0\.0"):
        release.installed()
    monkeypatch.setattr(history, "numbering", lambda name: "0123456789")
    with pytest.raises(SystemExit, match=r"pyproject\.toml has 99\.0\.0"):
        release.installed()


def test_the_check_lists_results_and_documents(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["release", "--check"])
    monkeypatch.setattr(history, "missing", lambda root: "version 1 has no results")
    monkeypatch.setattr(documents, "stale", lambda root: ["README.md: old"])
    monkeypatch.setattr(open_steps, "lacking", lambda: ["a.md does not explain `b` at c"])
    assert release.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        "version 1 has no results", "README.md: old", "a.md does not explain `b` at c",
    ]  # fmt: skip
    monkeypatch.setattr(open_steps, "lacking", list)
    monkeypatch.setattr(history, "missing", lambda root: "")
    monkeypatch.setattr(documents, "stale", lambda root: [])
    assert release.main() == 0
