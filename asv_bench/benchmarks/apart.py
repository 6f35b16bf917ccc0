"""Runs a function of a suite in a process of its own, alone or under a tool; its last printed line is the result, as
JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MAIN = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
module = importlib.import_module("benchmarks." + sys.argv[2])
try:
    print(json.dumps(getattr(module, sys.argv[3])(*sys.argv[4:])))
except NotImplementedError as error:
    print(error, file=sys.stderr)
    sys.exit(3)
"""
NOT_HERE = 3
"""The exit status of MAIN for a NotImplementedError."""
FIXED = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def call(
    module: str,
    function: str,
    *arguments: str,
    tool: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Any:
    """The function's answer. Raises: NotImplementedError where it does, and RuntimeError when it failed, with the last
    line of what it said."""
    flags = ["-S"] if sys.flags.no_site else []
    here = str(Path(__file__).resolve().parents[1])
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [*tool, sys.executable, *flags, "-c", MAIN, here, module, function, *arguments],
            cwd=empty,  # a package that lies in the working directory would be taken for the installed one
            env={**os.environ, **FIXED, **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        if done.returncode == NOT_HERE:
            raise NotImplementedError(last)
        message = f"{function} failed: {last}"
        raise RuntimeError(message)
    return json.loads(done.stdout.splitlines()[-1])
