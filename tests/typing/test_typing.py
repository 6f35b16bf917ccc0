"""Users' programs under type checkers: correct lines pass, wrong ones are found, and everything public has a type."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).resolve().parent / "program.py"
WRONG = {n for n, line in enumerate(PROGRAM.read_text().splitlines(), 1) if line.endswith("# wrong")}


def run(*command: str, cwd: Path = ROOT, **more: str) -> str:
    environment = {**os.environ, **more, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    ended = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)
    return ended.stdout


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_finds_what_is_wrong_and_nothing_else(tmp_path: Path) -> None:
    message = run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(PROGRAM))
    found = {int(line) for line in re.findall(rf"{re.escape(str(PROGRAM.relative_to(ROOT)))}:(\d+): error", message)}
    assert found == WRONG, message


needs_pyright = pytest.mark.skipif(
    shutil.which("pyright", path=str(Path(sys.executable).parent)) is None, reason="pyright is not installed"
)


@needs_pyright
def test_pyright_finds_what_is_wrong_and_nothing_else(tmp_path: Path) -> None:
    message = json.loads(run("pyright", "--pythonpath", sys.executable, "--outputjson", str(PROGRAM)))
    found = {one["range"]["start"]["line"] + 1 for one in message["generalDiagnostics"] if one["severity"] == "error"}
    assert found == WRONG, message["generalDiagnostics"]


@needs_pyright
def test_everything_public_has_a_type(tmp_path: Path) -> None:
    """Numpy's arrays are left out: pyright calls parts of them unknown."""
    environment = {"PYTHONPATH": str(ROOT)}
    message = run(
        "pyright",
        "--pythonpath",
        sys.executable,
        "--verifytypes",
        "minilite",
        "--ignoreexternal",
        cwd=tmp_path,
        **environment,
    )
    assert "Type completeness score: 100%" in message, message[-3000:]
