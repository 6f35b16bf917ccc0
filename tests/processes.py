"""Python in a process of its own: for what may crash, hang, or needs another environment."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

TESTS = pathlib.Path(__file__).resolve().parent


def patience(seconds: float) -> float:
    """A limit of time for what takes less than so long on an idle PC: ML_TEST_PATIENCE times as long, by default five
    times, because others may use the machine too."""
    return seconds * float(os.environ.get("ML_TEST_PATIENCE", "5"))


def comes_true(holds: Callable[[], object], seconds: float = 60) -> bool:
    """Tries something again and again until it holds, for at most so long: a busy machine may hold up any one try."""
    end = time.monotonic() + patience(seconds)
    while not holds():
        if time.monotonic() > end:
            return False
    return True


class Outcome(NamedTuple):
    """The end of a process: 0, the exit status, or minus the signal's number; and all that it printed."""

    status: int
    output: str


def _with_reports_here() -> dict[str, str]:
    """The environment; what sanitizers find ends the process, and goes to its output and not to a file."""
    environment = dict(os.environ)
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in environment:
            kept = [option for option in environment[name].split(":") if not option.startswith("log_path=")]
            environment[name] = ":".join([*kept, "halt_on_error=1"])
    return environment


def in_subprocess(code: str, *, seconds: float = 60, **environment: str) -> Outcome:
    """Runs Python code that finds the modules of tests that this process finds, with these environment variables added.

    Raises: subprocess.TimeoutExpired.
    """
    folders = [each for each in sys.path if pathlib.Path(each).resolve().is_relative_to(TESTS)]
    path = os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=patience(seconds),
        check=False,
        env={**_with_reports_here(), **environment, "PYTHONPATH": path},
    )
    return Outcome(done.returncode, done.stdout)


def apart(function: Callable[..., object], *arguments: Any, **environment: str) -> None:
    """Calls a function of a test's module in a process of its own; fails with what it printed if that does not end
    well."""
    call = f"{function.__module__}.{function.__name__}(*{arguments!r})"
    status, output = in_subprocess(f"import {function.__module__}; {call}", **environment)
    assert status == 0, f"{call} ended with status {status}:\n{output}"
