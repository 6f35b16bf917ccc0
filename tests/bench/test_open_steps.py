"""The steps that asv leaves open: read from what it publishes, and each explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asv_bench import open_steps, site

PUBLISHED = {
    "regressions": [
        ["milestones.Instructions.track_instructions('invoke, conv')", "graphs/x.json", {}, 3, 12.0, 8.0, [[4, 6, 8.0, 12.0]]],
        ["footprint.Package.track_wheel", "graphs/y.json", {}, None, 5.0, 4.0, [[None, 4, 4.0, 5.0]]],
    ]
}  # fmt: skip
HASHES = {"4": "a" * 40, "6": "b" * 40}


def test_steps_name_the_figure_and_the_commits() -> None:
    assert [str(step) for step in open_steps.steps(PUBLISHED, HASHES)] == [
        "footprint.Package.track_wheel: 4 at best, 5 now (4 -> 5 at aaaaaaa)",
        "invoke, conv: instructions: 8 at best, 12 now (8 -> 12 at bbbbbbb)",
    ]


def test_a_document_explains_what_it_names() -> None:
    found = open_steps.steps(PUBLISHED, HASHES)
    assert open_steps.unexplained(found, "invoke, conv: instructions") == [step.figure for step in found]
    assert open_steps.unexplained(found, "`invoke, conv: instructions`") == ["footprint.Package.track_wheel"]


def test_the_command_fails_for_what_is_not_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def publish(out: Path, *_: Path) -> None:
        (out / "regressions.json").write_text(json.dumps(PUBLISHED))
        (out / "index.json").write_text(json.dumps({"revision_to_hash": HASHES}))

    monkeypatch.setattr(site, "publish", publish)
    monkeypatch.setattr(open_steps, "DOCUMENT", tmp_path / "a.md")
    open_steps.DOCUMENT.write_text("`invoke, conv: instructions`")
    assert open_steps.main() == 1
    assert capsys.readouterr().out.splitlines()[2:] == ["a.md does not explain `footprint.Package.track_wheel`"]
    open_steps.DOCUMENT.write_text("`invoke, conv: instructions` `footprint.Package.track_wheel`")
    assert open_steps.main() == 0
