"""The history: a check finds versions without results."""

from __future__ import annotations

import subprocess
from pathlib import Path

from asv_bench import history


def test_a_version_without_results_is_found(tmp_path: Path) -> None:
    """Only the commit that sets the number of a version may lack results."""

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(path: str, text: str) -> str:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        git("add", "--all")
        git("commit", "--message", path)
        return history.missing(tmp_path)

    git("init", "--quiet")
    assert commit("pyproject.toml", '[project]\nversion = "1.2.3"\n') == ""
    numbered = git("rev-parse", "--short=7", "HEAD")
    command = "python -m asv_bench.release"
    lacks = f"version 1.2.3 has no line in asv_bench/versions.txt: run {command}"
    assert commit("asv_bench/versions.txt", "") == lacks
    line = f"1.2.3 {numbered} # its commit\n"
    assert (
        commit("asv_bench/versions.txt", line)
        == f"version 1.2.3 has no results of its commit {numbered}: run {command}"
    )
    assert commit(f"asv_bench/results/machine/{numbered}a-python.json", "{}") == ""
    assert commit("pyproject.toml", '[project]\nversion = "1.2.4"\n') == ""
    assert commit("b", "").startswith("version 1.2.4 has no line")


def test_every_version_and_every_commit_of_the_history_has_results() -> None:
    *wanted, head = history.chosen()
    assert [commit for commit in wanted if commit != head and not history.measured(commit, "*")] == []
