"""docs/performance.md: its sections are stamped, and no commit since has touched what they measure."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from asv_bench import builds, history_chart, performance


def text() -> str:
    return performance.DOCUMENT.read_text()


def test_every_section_has_its_marks() -> None:
    for name in performance.SECTIONS:
        assert performance.put(text(), name, "new") != text()


def test_only_a_section_is_replaced() -> None:
    before = "a\n<!-- begin ladder -->\nold\n<!-- end ladder -->\nb\n"
    assert performance.put(before, "ladder", r"new \1") == before.replace("old", r"new \1")
    with pytest.raises(ValueError, match="no section"):
        performance.put("", "ladder", "new")


def test_a_later_commit_makes_a_section_old(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    git("commit", "--allow-empty", "--message", "first")
    stamps = "".join(f"<!-- stamp {name} {git('rev-parse', 'HEAD')} -->" for name in performance.SECTIONS)
    assert performance.stale(stamps, tmp_path) == {}
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "a.c").write_text("")
    git("add", "--all")
    git("commit", "--message", "second")
    assert performance.stale(stamps, tmp_path).keys() == {"peers", "counted", "bad-case", "history"}
    assert performance.stale("", tmp_path).keys() == performance.SECTIONS.keys()


@pytest.mark.slow
def test_figures_are_not_older_than_what_they_measure() -> None:
    assert performance.stale(text()) == {}


def test_the_history_has_a_panel_a_figure() -> None:
    first, second = history_chart.LINES[:2]
    rows = [("a" * 40, {first: 3e-3}), ("b" * 40, {first: 2e-5, second: 1e-6}), ("c" * 40, {first: 1e-5})]
    drawn = history_chart.draw(rows)
    assert drawn.count("<polyline") == 2
    assert drawn.count("<circle") == 4
    assert "now 10 us" in drawn
    assert builds.ROOT.is_dir()


def test_readme_shows_what_the_document_says() -> None:
    readme = performance.README.read_text()
    assert performance.put(readme, "speed", performance.speed(text())) == readme
