"""A process under the clock of clock.c, in which runs ask Python for signals whenever they look at the clock."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[1]
COMPILER = shutil.which("cc")


def output_under_it(folder: pathlib.Path, module: str, *paths: str) -> str:
    """Returns the output of a module; `paths` are other folders of the tests in which it finds modules."""
    if COMPILER is None or sys.platform != "linux":
        pytest.skip("needs a C compiler, and a loader that puts a library in front of others")
    clock, source = folder / "clock.so", TESTS / "support" / "clock.c"
    subprocess.run([str(COMPILER), "-O2", "-shared", "-fPIC", "-o", str(clock), str(source)], check=True)
    before = os.environ.get("LD_PRELOAD")
    found = os.pathsep.join(str(TESTS / path) for path in ("", *paths))
    environment = {**os.environ, "LD_PRELOAD": f"{before}:{clock}" if before else str(clock), "PYTHONPATH": found}
    ran = subprocess.run([sys.executable, "-m", module], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
