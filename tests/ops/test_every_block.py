"""Every kernel's long work checks whether the run is cancelled, ends if it is, and is the same on any number of
threads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.large import LARGE, MODELS, SHORT
from support.own_clock import output_under_it

from minilite.ops import operators

LEAST = 1
"""The least number of polls in a node of a million elements, or of as much work. Before such a node there is none,
because the run has done little work until then."""


def test_every_operator_is_large_or_short() -> None:
    assert {*LARGE, *MODELS, *SHORT} == set(operators())
    assert len(LARGE) + len(MODELS) + len(SHORT) == len(operators())


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """For each operator and its types: the polls of a run, whether one can end it, and whether the number of threads
    changes nothing; or the error."""
    printed = output_under_it(tmp_path_factory.mktemp("clock"), "support.polls", "ops")
    result: dict[str, dict[str, Any]] = json.loads(printed)
    return result


@pytest.mark.parametrize("op", [*LARGE, *MODELS])
def test_long_work_stops(found: dict[str, dict[str, Any]], op: str) -> None:
    for types, result in found[op].items():
        assert not isinstance(result, str), f"{types}: {result}"
        polls, stops, same = result
        assert polls >= LEAST, f"{types}: {polls} polls"
        assert stops, f"{types}: goes on when a poll refuses"
        assert same, f"{types}: three threads make something else than one"
