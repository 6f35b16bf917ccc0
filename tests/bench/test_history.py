"""The history: a check finds versions without results."""

from __future__ import annotations

from pathlib import Path

from support import repository

from asv_bench import history


def test_a_version_without_results_is_found(tmp_path: Path) -> None:
    """Only the commit that sets the number of a version may lack results."""

    def commit(path: str, text: str) -> str:
        repository.commit(tmp_path, path, text)
        return history.missing(tmp_path)

    repository.git(tmp_path, "init", "--quiet")
    assert commit("pyproject.toml", '[project]\nversion = "1.2.3"\n') == ""
    numbered = repository.git(tmp_path, "rev-parse", "--short=7", "HEAD")
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
