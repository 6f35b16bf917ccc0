"""The search for the commit at which a figure grew most."""

from __future__ import annotations

import pytest

from asv_bench import find_step


@pytest.mark.parametrize("at", range(1, 9))
def test_the_commit_of_a_step_is_found(at: int) -> None:
    commits = [f"{k}" for k in range(9)]
    tried: list[str] = []

    def value(commit: str) -> float:
        tried.append(commit)
        return 105.0 if int(commit) >= at else 100.0

    assert find_step.search(commits, value) == (f"{at - 1}", f"{at}")
    assert len(tried) == len(set(tried)) <= 6


def test_the_larger_of_two_steps_is_found() -> None:
    values = dict(zip("abcdef", (100.0, 102.0, 102.0, 102.0, 110.0, 110.0), strict=True))
    assert find_step.search("abcdef", values.__getitem__) == ("d", "e")


def test_commits_that_cannot_be_measured_are_passed_over() -> None:
    values = {"a": 1.0, "b": None, "c": None, "d": None, "e": 2.0}
    assert find_step.search("abcde", values.__getitem__) == ("a", "e")
    with pytest.raises(ValueError, match="an end of the range"):
        find_step.search("bcde", values.__getitem__)
