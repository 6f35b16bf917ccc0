"""The commands that fuzz, simulate and compare: each runs, and finds nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import patience
from support import apart, peer

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_children_that_end_are_replaced() -> None:
    def work(number: int) -> int:
        if number in (3, 60):
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 99:
            os._exit(7)
        if number == 100:
            raise ValueError
        return number * number

    found = dict(apart.answers(work, range(120)))
    ended = {number: answer.status for number, answer in found.items() if isinstance(answer, apart.Ended)}
    assert ended == {3: -signal.SIGKILL, 60: -signal.SIGKILL, 99: 7, 100: 1}
    assert {number: number * number for number in range(120) if number not in ended} == {
        number: answer for number, answer in found.items() if number not in ended
    }


def command(folder: Path, *arguments: str) -> str:
    """What a tool prints, on the installed package: the checkout's own has no core unless it is the one installed."""
    (folder / "tools").symlink_to(ROOT / "tools")
    paths = [str(ROOT / "tests"), str(ROOT / "tests" / "property"), str(ROOT / "tests" / "fuzz"), str(folder)]
    ran = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=patience(300),
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_fuzz_models(tmp_path: Path) -> None:
    found = command(tmp_path, "tools.fuzz_models", "--seed", "5", "--count", "60")
    assert found.endswith("seed 5: 60 mutants, 0 failed\n")
    assert "ran " in found


def test_simulate(tmp_path: Path) -> None:
    """Each program twice, with the same digest."""
    found = command(tmp_path, "tools.simulate", "--seed", "3", "--count", "5", "--steps", "12", "--twice")
    assert found.endswith("5 programs of 12 steps, 0 failed\n")


@pytest.mark.skipif(not peer.HERE, reason="LiteRT is not installed")
def test_differ(tmp_path: Path) -> None:
    found = command(tmp_path, "tools.differ", "--seed", "3", "--count", "20")
    assert found.endswith("20 graphs, 0 differ, 0 refused by minilite alone\n")
