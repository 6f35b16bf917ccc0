"""Every command that takes a model, as a process: wrong calls, broken models, pipes, files, widths, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import COUNTER, below, loop, relu_chain
from processes import patience

import minilite
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

COMMAND = [sys.executable, "-m", "minilite"]
DIGITS = Path(minilite.__file__).with_name("data") / "digits.tflite"
COLUMNS = 60
MODELS = ("digits", "relu", "quantized")
CALLS = {
    "batch": ("MODEL ROWS --out out.csv", "MODEL ROWS --out out.txt", "takes a folder, or a file"),
    "run": ("MODEL", "MODEL --repeat none", "at least 1, got 'none'"),
    "inspect": ("MODEL", "MODEL --shape 1,x", "'1,x' is not a list of dimensions"),
    "check": ("MODEL --for xnnpack", "MODEL --for npu", "there is no table of 'npu'"),
    "plan": ("MODEL", "MODEL --strategy best", "no planning strategy 'best'"),
    "tile": ("MODEL out.tflite --budget 1MB", "MODEL out.tflite --budget some", "takes bytes such as"),
    "profile": ("MODEL --runs 3", "MODEL --runs 0", "at least 1, got '0'"),
    "bench": ("MODEL --runs 3", "", "arguments are required: MODEL\n"),
    "compare": ("MODEL --against scalar", "MODEL", "compare takes a second model"),
    "report": ("MODEL --runs 0 -o out.html", "MODEL --runs -1", "at least 0, got '-1'"),
    "replay": ("RECORDING MODEL", "RECORDING MODEL --level mmx", "this machine has no level 'mmx'"),
}
"""Arguments that work, wrong arguments, and the message about these, by command. MODEL, RECORDING and ROWS are replaced
by files."""
ROWS = {"digits": (2, 8, 8, 1), "relu": (2, 4), "quantized": (2, 8), "endless": (2,)}
"""Shapes of the rows that `batch` reads, by model."""
MORE = (
    "run MODEL --record out.npz",
    "plan MODEL --fit 64kB",
    "plan MODEL --sweep SIZES --csv out.csv --svg out.svg",
    "plan MODEL --map",
    "profile MODEL --runs 2 --trace out.json",
)
"""Options by which commands do something else, or write files."""
LINES = (*(f"{command} {right}" for command, (right, _, _) in CALLS.items()), *MORE)
SIZES = {"digits": "1,8..16:8,8,1", "relu": "8..16:8", "quantized": "2..6:2,8"}


def told(line: str, model: str = "digits") -> list[str]:
    """The arguments of a line, with the files of a model."""
    files = {"MODEL": f"{model}.tflite", "RECORDING": f"{model}.npz", "ROWS": f"{model}.npy"}
    files |= {"SIZES": SIZES.get(model, "")}
    return [files.get(word, word) for word in line.split()]


def _of_digits(line: str) -> str:
    """The line with the files that belong to digits, for another model."""
    return line.replace("RECORDING", "digits.npz").replace("ROWS", "digits.npy")


def minilite_(folder: Path, arguments: list[str]) -> tuple[int, str, str]:
    """(exit status, standard output, standard error) of a command in a window of COLUMNS."""
    environment = {**os.environ, "COLUMNS": str(COLUMNS)}
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=patience(60),
    )
    return done.returncode, done.stdout, done.stderr


def quantized() -> bytes:
    """A fully connected layer of int8, for any number of rows."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    step = Quantization((0.1,), (3,))
    x = graph.input("x", (1, 8), TensorType.INT8, signature=(-1, 8), quantization=step)
    weights = np.arange(-16, 16, dtype=np.int8).reshape(4, 8)
    w = graph.constant("w", weights, quantization=Quantization((0.05,), (0,)))
    graph.output(graph.node("FULLY_CONNECTED", [x, w], out=("y", (1, 4), TensorType.INT8, step)))
    return builder.build()


def negated(graph: Any, carries: list[int]) -> list[int]:
    """The body of a loop that never ends: its counter does not grow."""
    return [graph.node("NEG", carries, out=("negated", (), TensorType.INT32))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models with a recording of each, one whose run never ends, and the start of one."""
    made = tmp_path_factory.mktemp("commands")
    contents = {"digits": DIGITS.read_bytes(), "relu": relu_chain(), "quantized": quantized()}
    for name in MODELS:
        (made / f"{name}.tflite").write_bytes(contents[name])
        interpreter = minilite.Interpreter(str(made / f"{name}.tflite"))
        with interpreter.recording(made / f"{name}.npz"):
            interpreter.allocate_tensors()
            interpreter.invoke()
    (made / "endless.tflite").write_bytes(loop([COUNTER], below(2**31 - 1), negated))
    for name, shape in ROWS.items():
        kind = {"quantized": np.int8, "endless": np.int32}.get(name, np.float32)
        np.save(made / f"{name}.npy", np.ones(shape, kind))
    (made / "broken.tflite").write_bytes(DIGITS.read_bytes()[:4000])
    return made


def each_line_fits(text: str) -> bool:
    return max(map(len, text.splitlines())) <= COLUMNS


@pytest.mark.parametrize("command", CALLS)
def test_every_command_reports_errors_in_one_line(command: str, folder: Path) -> None:
    right, wrong, message = CALLS[command]
    for status, arguments, model, words in (
        (2, wrong, "digits", message),
        (2, f"{right} --nothing", "digits", "--nothing"),
        (1, _of_digits(right), "missing", "missing.tflite"),
        (1, _of_digits(right), "broken", "broken.tflite"),
    ):
        before = sorted(folder.iterdir())
        found, out, error = minilite_(folder, [command, *told(arguments, model)])
        assert (found, out, error.count("\n")) == (status, "", 1), error
        assert error.startswith("minilite")
        assert words in error
        assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("command", CALLS)
def test_help_names_the_arguments(command: str, folder: Path) -> None:
    status, out, error = minilite_(folder, [command, "--help"])
    assert (status, error) == (0, "")
    assert out.startswith(f"usage: minilite {command} ")
    assert "--json" in out
    assert each_line_fits(out)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("line", LINES)
def test_lines_fit_in_a_file(line: str, model: str, folder: Path, tmp_path: Path) -> None:
    """Standard output goes into a file, and what the command writes is where it was asked for."""
    read = {f"{model}.tflite", f"{model}.npz", f"{model}.npy"}
    for name in read:
        (tmp_path / name).symlink_to(folder / name)
    environment = {**os.environ, "COLUMNS": str(COLUMNS)}
    with (tmp_path / "out.txt").open("w") as out:
        command = [*COMMAND, *told(line, model)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, check=False, stdout=out, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert each_line_fits((tmp_path / "out.txt").read_text())
    written = {"out.txt"} | {word for word in line.split() if word.startswith("out.")}
    assert {path.name for path in tmp_path.iterdir()} == read | written
    assert all((tmp_path / name).stat().st_size for name in written)


@pytest.mark.parametrize("line", LINES)
def test_a_closed_pipe_is_no_error(line: str, folder: Path, tmp_path: Path) -> None:
    arguments = [str(folder / word) if (folder / word).exists() else word for word in told(line)]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*COMMAND, *arguments], cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


HELD = """
import sys, time
from minilite.engine.session import Session
from minilite.__main__ import main

method, seconds = sys.argv.pop(1), float(sys.argv.pop(1))
known = getattr(Session, method)


def held(*arguments, **options):
    found = known(*arguments, **options)
    setattr(Session, method, known)
    print("begun", file=sys.stderr, flush=True)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(0.01)
    return found


setattr(Session, method, held)
sys.exit(main())
"""
"""Runs the command; when it calls a method of Session for the first time, says so and waits for some seconds, a little
at a time: CPython 3.14 may take a signal into a sleep that has not quite begun, and answer it at its end."""
BEGINS = {
    "inspect MODEL": ("allocate", "60", "digits"),
    "plan MODEL": ("plan_for", "60", "digits"),
    "plan MODEL --fit 64kB": ("plan_for", "60", "relu"),
    "plan MODEL --sweep SIZES --csv out.csv --svg out.svg": ("plan_for", "60", "quantized"),
    "plan MODEL --map": ("plan_for", "60", "quantized"),
    "replay RECORDING MODEL": ("invoke", "60", "relu"),
    "tile MODEL out.tflite --budget 1MB": ("allocate", "60", "endless"),
}
"""For some lines the method, the seconds to wait, and the model; all others run the endless model once it is
allocated."""


@pytest.mark.parametrize("line", [line for line in LINES if not line.startswith("check")])  # which runs nothing
def test_ctrl_c_leaves_nothing_half_written(line: str, folder: Path, tmp_path: Path) -> None:
    """The command prints one line and ends with 130; files that were there stay, and no others appear."""
    method, seconds, model = BEGINS.get(line, ("allocate", "0", "endless"))
    line = line.replace("--runs 0", "--runs 1")
    arguments = [str(folder / word) if (folder / word).exists() else word for word in told(line, model)]
    for word in line.split():
        if word.startswith("out.") and not line.startswith("batch"):  # `batch` skips what is there
            (tmp_path / word).write_text("before")
    before = sorted(tmp_path.iterdir())
    command = [sys.executable, "-c", HELD, method, seconds, *arguments]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ends = threading.Timer(patience(60), process.kill)
    ends.start()
    assert process.stderr is not None
    assert process.stderr.readline() == b"begun\n"
    process.send_signal(signal.SIGINT)
    out, error = process.communicate()
    ends.cancel()
    assert (process.returncode, out, error) == (130, b"", b"minilite: interrupted\n")
    assert sorted(tmp_path.iterdir()) == before
    assert {path.read_text() for path in before} <= {"before"}


def test_no_command_is_left_out_and_help_fits_a_screen() -> None:
    for columns in ("80", "100"):
        environment = {**os.environ, "COLUMNS": columns}
        done = subprocess.run([*COMMAND, "--help"], env=environment, check=True, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        assert len(lines) <= 24
        listed = [line.split()[0] for line in lines[lines.index("  COMMAND") + 1 :] if line[4:5] not in ("", " ")]
        assert {*listed} == {*CALLS, "cache", "as", "completion"}
