"""Steps of .ci/run that run beside each other: their output comes in order, and none of them fails unseen."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

LIBRARY = pathlib.Path(__file__).resolve().parents[2] / ".ci" / "lib.sh"
STEPS = r"""
first() { step "slow"; until [[ -e $work/second-was-here ]]; do sleep 0.01; done; echo "of the first"; }
second() { step "quick"; touch "$work/second-was-here"; echo "of the second" >&2; }
third() { step "third"; echo "of the third"; }
fails() { step "fails"; false; echo "not reached"; }
killed() { step "killed"; kill -9 "$BASHPID"; }
"""


def beside(folder: pathlib.Path, *steps: str) -> tuple[int, list[str]]:
    """The status of a script with these steps, and the lines of its output without headings and times."""
    script = f"{STEPS}beside {' '.join(steps)}\necho all well\n"
    (folder / "script").write_text(f'source "{LIBRARY}"\n{script}')
    done = subprocess.run(
        ["bash", "script"], cwd=folder, env={**os.environ, "JOBS": "2"}, capture_output=True, text=True, check=False
    )
    shown, _, times = done.stdout.partition("== what took how long")
    assert times.count("  all\n") == 1
    return done.returncode, [line for line in shown.splitlines() if line and not line.startswith("==")]


pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("bash") or not LIBRARY.exists(), reason="needs a new bash, and .ci"
)


def test_two_steps_run_at_once_and_show_their_output_in_order(tmp_path: pathlib.Path) -> None:
    assert beside(tmp_path, "first", "second", "third") == (
        0,
        ["of the first", "of the second", "of the third", "all well"],
    )


@pytest.mark.parametrize("bad", ["fails", "killed"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_step_that_fails_ends_the_script_after_the_others(bad: str, at: int, tmp_path: pathlib.Path) -> None:
    steps = ["second", "third"]
    steps.insert(at, bad)
    assert beside(tmp_path, *steps) == (1, ["of the second", "of the third"])
