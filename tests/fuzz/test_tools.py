"""The commands that fuzz, simulate and compare: each runs, and finds nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import patience
from support import peer

ROOT = Path(__file__).parents[2]


def command(*arguments: str) -> str:
    """What a tool prints."""
    paths = [str(ROOT / "tests"), str(ROOT / "tests" / "property"), str(ROOT / "tests" / "fuzz"), str(ROOT)]
    ran = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=patience(300),
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_fuzz_models() -> None:
    found = command("tools.fuzz_models", "--seed", "5", "--count", "60")
    assert found.endswith("seed 5: 60 mutants, 0 failed\n")
    assert "ran " in found


def test_simulate() -> None:
    """Each program twice, with the same digest."""
    found = command("tools.simulate", "--seed", "3", "--count", "5", "--steps", "12", "--twice")
    assert found.endswith("5 programs of 12 steps, 0 failed\n")


@pytest.mark.skipif(not peer.HERE, reason="LiteRT is not installed")
def test_differ() -> None:
    found = command("tools.differ", "--seed", "3", "--count", "20")
    assert found.endswith("20 graphs, 0 differ, 0 refused by minilite alone\n")
