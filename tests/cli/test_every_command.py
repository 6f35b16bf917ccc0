"""Every command that takes a model, as a process: wrong calls, files that are no models, closed pipes, widths."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.media import npy

import minilite

COMMAND = [sys.executable, "-m", "minilite"]
DIGITS = Path(minilite.__file__).with_name("data") / "digits.tflite"
COLUMNS = 60
CALLS = {
    "batch": (["MODEL", "x.npy", "--out", "o.csv"], ["MODEL", "x.npy", "--out", "o.txt"], "takes a folder, or a file"),
    "run": (["MODEL"], ["MODEL", "--repeat", "none"], "at least 1, got 'none'"),
    "inspect": (["MODEL"], ["MODEL", "--shape", "1,x"], "'1,x' is not a list of dimensions"),
    "plan": (["MODEL"], ["MODEL", "--strategy", "best"], "no planning strategy 'best'"),
    "profile": (["MODEL", "--runs", "3"], ["MODEL", "--runs", "0"], "at least 1, got '0'"),
    "bench": (["MODEL", "--runs", "3"], [], "arguments are required: MODEL\n"),
    "compare": (["MODEL", "--against", "scalar"], ["MODEL"], "compare takes a second model"),
    "report": (["MODEL", "--runs", "0", "-o", "out.html"], ["MODEL", "--runs", "-1"], "at least 0, got '-1'"),
    "replay": (["r.npz", "MODEL"], ["r.npz", "MODEL", "--level", "mmx"], "this machine has no level 'mmx'"),
}
"""By command: arguments that work, arguments that are wrong, and the message about these; MODEL stands for a file."""


def minilite_(folder: Path, command: str, arguments: list[str], model: str = "") -> tuple[int, str, str]:
    """(exit status, standard output, standard error) of a command in a window of COLUMNS."""
    told = [model if argument == "MODEL" else argument for argument in arguments]
    environment = {**os.environ, "COLUMNS": str(COLUMNS)}
    done = subprocess.run(
        [*COMMAND, command, *told], cwd=folder, env=environment, check=False, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, the start of one, and a recording."""
    made = tmp_path_factory.mktemp("commands")
    (made / "digits.tflite").write_bytes(DIGITS.read_bytes())
    (made / "broken.tflite").write_bytes(DIGITS.read_bytes()[:4000])
    (made / "x.npy").write_bytes(npy(np.ones((8, 8, 1), np.float32)))
    interpreter = minilite.Interpreter(str(made / "digits.tflite"))
    with interpreter.recording(made / "r.npz"):
        interpreter.allocate_tensors()
        interpreter.invoke()
    return made


def each_line_fits(text: str) -> bool:
    return max(map(len, text.splitlines())) <= COLUMNS


@pytest.mark.parametrize("command", CALLS)
def test_what_is_wrong_is_one_line(command: str, folder: Path) -> None:
    right, wrong, message = CALLS[command]
    for status, arguments, model, words in (
        (2, wrong, "digits.tflite", message),
        (2, [*right, "--nothing"], "digits.tflite", "--nothing"),
        (1, right, "missing.tflite", "missing.tflite"),
        (1, right, "broken.tflite", "broken.tflite"),
    ):
        before = sorted(folder.iterdir())
        found, out, error = minilite_(folder, command, arguments, model)
        assert (found, out, error.count("\n")) == (status, "", 1), error
        assert error.startswith("minilite")
        assert words in error
        assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("command", CALLS)
def test_lines_fit_and_help_names_the_arguments(command: str, folder: Path) -> None:
    status, out, error = minilite_(folder, command, CALLS[command][0], "digits.tflite")
    assert (status, error) == (0, "")
    assert each_line_fits(out)
    status, out, error = minilite_(folder, command, ["--help"])
    assert (status, error) == (0, "")
    assert out.startswith(f"usage: minilite {command} ")
    assert "--json" in out
    assert each_line_fits(out)


@pytest.mark.parametrize("command", CALLS)
def test_a_closed_pipe_is_no_error(command: str, folder: Path) -> None:
    told = ["digits.tflite" if argument == "MODEL" else argument for argument in CALLS[command][0]]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*COMMAND, command, *told], cwd=folder, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_no_command_is_left_out_and_help_fits_a_screen() -> None:
    for columns in ("80", "100"):
        environment = {**os.environ, "COLUMNS": columns}
        done = subprocess.run([*COMMAND, "--help"], env=environment, check=True, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        assert len(lines) <= 24
        listed = [line.split()[0] for line in lines[lines.index("  COMMAND") + 1 :] if line[4:5] not in ("", " ")]
        assert {*listed} == {*CALLS, "as", "completion"}
