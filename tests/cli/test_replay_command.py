"""minilite run --record and minilite replay, by subprocess: what they print and write, and how they refuse and end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from built import custom_chain, relu_chain
from processes import patience
from support.metadata import passing

import minilite
from minilite.cli import main

COMMAND = [sys.executable, "-m", "minilite"]
DIGITS = Path(minilite.__file__).with_name("data") / "digits.tflite"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "digits.tflite").write_bytes(DIGITS.read_bytes())
    (tmp_path / "relu.tflite").write_bytes(relu_chain())
    (tmp_path / "labels.tflite").write_bytes(passing((1, 200)))
    (tmp_path / "broken.tflite").write_bytes(DIGITS.read_bytes()[:4000])
    (tmp_path / "custom.tflite").write_bytes(custom_chain("Mystery"))
    np.save(tmp_path / "wrong.npy", np.zeros((1, 8, 8, 3), np.float32))
    return tmp_path


def run(folder: Path, *arguments: str, **more: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **more}
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("model", ["digits.tflite", "relu.tflite", "labels.tflite"])
def test_recorded_runs_replay(folder: Path, model: str) -> None:
    status, out, error = run(folder, "run", model, "--record", "r.npz", "--repeat", "2", "--json")
    assert (status, error) == (0, "wrote r.npz\n")
    assert json.loads(out)["model"] == model
    status, out, error = run(folder, "replay", "r.npz", model, "--level", "scalar", "--threads", "2", COLUMNS="60")
    assert (status, error) == (0, "")
    assert ", 2 runs" in out
    assert max(map(len, out.splitlines())) <= 60
    status, out, _ = run(folder, "replay", "r.npz", model, "--json")
    assert (status, [row["run"] for row in json.loads(out)["rows"]]) == (0, [1, 2])
    assert run(folder, "compare", "r.npz", model)[0] == 0


def test_a_run_that_fails_is_recorded(folder: Path) -> None:
    status, _, error = run(folder, "run", "digits.tflite", "wrong.npy", "--record", "r.npz")
    assert (status, error.count("\n")) == (1, 1)
    status, out, error = run(folder, "replay", "r.npz", "digits.tflite")
    assert (status, error) == (0, "")
    assert "0 runs" in out


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["run", "digits.tflite", "--record", "no/r.npz"], 1, "no/r.npz"),
        (["run", "--record", "x.npz"], 2, "--record goes with a MODEL"),
        (["run", "broken.tflite", "--record", "x.npz"], 1, "broken.tflite"),
        (["replay", "r.npz"], 2, "MODEL"),
        (["replay", "nowhere.npz", "digits.tflite"], 1, "nowhere.npz"),
        (["replay", "r.npz", "nowhere.tflite"], 1, "nowhere.tflite"),
        (["replay", "r.npz", "relu.tflite"], 1, "recording of another model"),
        (["replay", "r.npz", "broken.tflite"], 1, "broken.tflite"),
        (["replay", "digits.tflite", "r.npz"], 1, "it is no .npz"),
        (["replay", "short.npz", "digits.tflite"], 1, "it is truncated"),
        (["replay", "r.npz", "digits.tflite", "--level", "mmx"], 2, "this machine has no level"),
        (["replay", "custom.npz", "custom.tflite"], 1, "needs the custom operators Mystery"),
        (["compare", "r.npz"], 2, "a recording goes with its model alone"),
        (["compare", "r.npz", "digits.tflite", "--against", "scalar"], 2, "a recording goes with its model alone"),
    ],
)
def test_record_and_replay_refuse_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: list[str], status: int, words: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    interpreter = minilite.Interpreter(str(folder / "digits.tflite"))
    with interpreter.recording(folder / "r.npz"):
        interpreter.allocate_tensors()
    (folder / "short.npz").write_bytes((folder / "r.npz").read_bytes()[:300])
    custom = minilite.Interpreter(str(folder / "custom.tflite"), custom_ops={"Mystery": lambda _, x: x})
    with custom.recording(folder / "custom.npz"):
        custom.allocate_tensors()
    try:
        found = main(arguments)
    except SystemExit as exit_:
        found = int(str(exit_.code))
    out, error = capsys.readouterr()
    assert (found, out, error.count("\n")) == (status, "", 1), error
    assert words in error
    assert not (folder / "x.npz").exists()
    assert not list(folder.glob(".*"))


def test_a_closed_pipe_and_a_file_are_fine(folder: Path) -> None:
    assert run(folder, "run", "digits.tflite", "--record", "r.npz")[0] == 0
    read, write = os.pipe()
    os.close(read)
    for line in (["replay", "r.npz", "digits.tflite"], ["compare", "digits.tflite", "--against", "scalar", "--json"]):
        done = subprocess.run([*COMMAND, *line], cwd=folder, stdout=write, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        with (folder / "out.txt").open("w") as file:
            assert subprocess.run([*COMMAND, *line], cwd=folder, stdout=file, check=False).returncode == 0
        assert "probabilities" in (folder / "out.txt").read_text()
    os.close(write)


def test_ctrl_c_leaves_nothing_half_written(folder: Path) -> None:
    """Interrupts a run of very many repeats after its file was created."""
    (folder / "r.npz").write_bytes(b"before")
    arguments = [*COMMAND, "run", "relu.tflite", "--record", "r.npz", "--repeat", "100000000"]
    process = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + patience(60)
    while not list(folder.glob(".r.npz.*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=patience(60))
    # CPython ends itself by the signal, which shells show as 130 too, if it met a string that is executed.
    assert process.returncode in (130, -signal.SIGINT)
    assert error == "minilite: interrupted\n"
    assert (folder / "r.npz").read_bytes() == b"before"
    assert not list(folder.glob(".*"))
