"""Every kernel's long work checks whether the run is cancelled, ends if it is, and is the same on any number of
threads."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import pytest
from support.large import LARGE, MODELS, SHORT

from minilite.ops import operators

TESTS = pathlib.Path(__file__).parents[1]
COMPILER = shutil.which("cc")
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
    if COMPILER is None or sys.platform != "linux":
        pytest.skip("needs a C compiler, and a loader that puts a library in front of others")
    clock = tmp_path_factory.mktemp("clock") / "clock.so"
    source = TESTS / "support" / "clock.c"
    subprocess.run([str(COMPILER), "-O2", "-shared", "-fPIC", "-o", str(clock), str(source)], check=True)
    before = os.environ.get("LD_PRELOAD")
    paths = os.pathsep.join([str(TESTS), str(TESTS / "ops")])
    environment = {**os.environ, "LD_PRELOAD": f"{before}:{clock}" if before else str(clock), "PYTHONPATH": paths}
    ran = subprocess.run(
        [sys.executable, "-m", "support.polls"], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    result: dict[str, dict[str, Any]] = json.loads(ran.stdout)
    return result


@pytest.mark.parametrize("op", [*LARGE, *MODELS])
def test_long_work_stops(found: dict[str, dict[str, Any]], op: str) -> None:
    for types, result in found[op].items():
        assert not isinstance(result, str), f"{types}: {result}"
        polls, stops, same = result
        assert polls >= LEAST, f"{types}: {polls} polls"
        assert stops, f"{types}: goes on when a poll refuses"
        assert same, f"{types}: three threads make something else than one"
