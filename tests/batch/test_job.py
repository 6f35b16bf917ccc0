"""`minilite batch`: parts are whole or absent, and equal single runs; jobs that were stopped go on; bad input."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from built import COUNTER, Array, below, endless, loop, relu_chain
from processes import patience
from support.media import wav

from minilite import Interpreter
from minilite.batch import running
from minilite.cli import main
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.progress import Work

TESTS = pathlib.Path(__file__).resolve().parents[1]
DIGITS = str(TESTS.parent / "minilite" / "data" / "digits.tflite")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are not wrapped."""
    monkeypatch.setenv("COLUMNS", "1000")


def pictures(folder: pathlib.Path, count: int = 7) -> list[Array]:
    """Rows of three sizes, each in a file of its own."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    found = [rng.random((8 + number % 3, 8, 1), np.float32) for number in range(count)]
    for number, each in enumerate(found):
        np.save(folder / f"p{number}.npy", each)
    (folder / ".hidden").write_text("not read")
    return found


def single(array: Array) -> Array:
    found: Array = Interpreter(DIGITS).run(array[None])["probabilities"][0]
    return found


def command(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str]:
    """The exit status, and what was printed."""
    status = main(["batch", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.err if status else printed.out


def loaded(folder: pathlib.Path) -> dict[str, Array]:
    """The columns of all parts."""
    parts = [np.load(path) for path in sorted(folder.glob("part-*.npz"))]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def test_parts_have_what_single_runs_give(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pictures(tmp_path / "in")
    more = np.random.default_rng(1).random((5, 8, 8, 1), np.float32)
    np.save(tmp_path / "rows.npy", more)
    status, out = command(
        capsys, DIGITS, tmp_path / "in", tmp_path / "rows.npy", "--out", tmp_path / "out", "--part", 5, "--batch", 1
    )
    assert status == 0
    assert out.startswith("wrote 12 rows in 3 parts to ")
    found = loaded(tmp_path / "out")
    assert (
        found["file"].tolist()
        == [str(tmp_path / "in" / f"p{n}.npy") for n in range(7)] + [str(tmp_path / "rows.npy")] * 5
    )
    assert found["row"].tolist() == [0] * 7 + list(range(5))
    assert np.array_equal(found["probabilities"], [single(row) for row in [*rows, *more]])


def test_broken_job_goes_on(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(tmp_path / "in")
    arguments = (DIGITS, tmp_path / "in", "--out", tmp_path / "out", "--part", 3, "--json")
    facts = json.loads(command(capsys, *arguments)[1])
    assert (facts["rows"], facts["failed"], facts["written"]) == (7, 0, facts["parts"])
    before = {path.name: (path.read_bytes(), path.stat().st_ino) for path in (tmp_path / "out").iterdir()}
    (tmp_path / "out" / "part-00001.npz").unlink()
    (tmp_path / "out" / ".part-00001.npz.7").write_bytes(b"of a process that was killed")
    again = json.loads(command(capsys, *arguments)[1])
    assert [pathlib.Path(path).name for path in again["written"]] == ["part-00001.npz"]
    after = {path.name: (path.read_bytes(), path.stat().st_ino) for path in (tmp_path / "out").iterdir()}
    assert after.keys() == before.keys()
    assert [name for name in before if after[name][1] != before[name][1]] in (["part-00001.npz"], [])
    assert all(after[name][0] == before[name][0] for name in before)


def test_folder_of_another_job_is_refused(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(tmp_path / "in")
    start = (DIGITS, tmp_path / "in", "--out", tmp_path / "out")
    assert command(capsys, *start)[0] == 0
    for more, words in (
        (["--part", 3], "rows of a part: 1000 there, 3 here"),
        (["--top", 1], "best classes: 0 there, 1 here"),
        ([tmp_path / "in" / "p0.npy"], "files: 7 there, 8 here"),
    ):
        status, printed = command(capsys, *start, *more)
        assert (status, printed.count("\n")) == (1, 1)
        assert words in printed
    (tmp_path / "in" / "p0.npy").rename(tmp_path / "in" / "p00.npy")
    assert "the files differ" in command(capsys, *start)[1]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("")
    assert "has files of something else" in command(capsys, *start[:2], "--out", tmp_path / "other")[1]


def test_file_that_vanishes_between_two_parts(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures(tmp_path / "in")
    plain = running.run_here
    gone = tmp_path / "in" / "p5.npy"

    def vanishing(*arguments: Any) -> Any:
        for number, done in enumerate(plain(*arguments)):
            yield done
            if number == 0:
                gone.unlink()

    monkeypatch.setattr(running, "run_here", vanishing)
    status, printed = command(capsys, DIGITS, tmp_path / "in", "--out", tmp_path / "out", "--part", 3)
    assert status == 1
    assert printed.startswith(f"minilite: could not open '{gone}': no such file or directory")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["_job.json", "part-00000.npz"]
    monkeypatch.setattr(running, "run_here", plain)
    np.save(gone, np.ones((8, 8, 1), np.float32))
    assert (
        "1 part was there already"
        in command(capsys, DIGITS, tmp_path / "in", "--out", tmp_path / "out", "--part", 3)[1]
    )


def test_bad_rows_are_named_or_skipped(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pictures(tmp_path / "in")
    np.save(tmp_path / "in" / "p2.npy", np.zeros((8, 8, 3), np.float32))
    np.save(tmp_path / "in" / "p4.npy", np.zeros((8, 8, 1), complex))
    out = tmp_path / "out.csv"
    status, printed = command(capsys, DIGITS, tmp_path / "in", "--out", out)
    assert (status, printed.count("\n"), out.exists()) == (1, 1, False)
    assert str(tmp_path / "in" / "p2.npy") in printed
    status, printed = command(capsys, DIGITS, tmp_path / "in", "--out", out, "--on-error", "skip", "--batch", 1)
    assert status == 0
    assert "2 rows failed" in printed
    found = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [bool(row["error"]) for row in found] == [False, False, True, False, True, False, False]
    assert "p4.npy, row 0 is of complex128" in found[4]["error"]
    assert np.array_equal(np.float32(json.loads(found[6]["probabilities"])), single(rows[6]))


@pytest.mark.parametrize("form", ["csv", "npz", "parquet"])
def test_a_file_that_is_there_is_neither_written_nor_taken_for_this_jobs(
    form: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file may be of another job, or no predictions at all: an input, the model."""
    pictures(tmp_path / "in")
    out = tmp_path / f"out.{form}"
    out.write_text("mine")
    status, printed = command(capsys, DIGITS, tmp_path / "in", "--out", out)
    assert (status, printed) == (2, f"minilite: --out {out}: is there already: remove it, or give another name\n")
    assert out.read_text() == "mine"


def test_best_classes(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pictures(tmp_path / "in")
    for best in (1, 3):
        assert command(capsys, DIGITS, tmp_path / "in", "--out", tmp_path / f"{best}.npz", "--top", best)[0] == 0
        found = np.load(tmp_path / f"{best}.npz")
        wanted = np.array([np.argsort(-single(row), kind="stable")[:best] for row in rows])
        assert np.array_equal(found["probabilities.class"].reshape(7, best), wanted)
        assert found["probabilities.score"].shape == ((7,) if best == 1 else (7, best))


def two_inputs(path: pathlib.Path) -> str:
    """a, of 2 floats, plus b, of one."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    a, b = graph.input("a", (1, 2)), graph.input("b", (1, 1))
    graph.output(graph.node("ADD", [a, b], out=("sum", (1, 2))))
    path.write_bytes(builder.build())
    return str(path)


def test_columns_of_tables(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = two_inputs(tmp_path / "m.tflite")
    columns = {"a": np.arange(6.0).reshape(3, 2), "b": np.ones((3, 1)), "id": np.array([7, 8, 9])}
    np.savez(tmp_path / "t.npz", **columns)
    assert command(capsys, model, tmp_path / "t.npz", "--out", tmp_path / "o.npz", "--keep", "id")[0] == 0
    found = np.load(tmp_path / "o.npz")
    assert np.array_equal(found["sum"], columns["a"] + 1)
    assert found["id"].tolist() == ["7", "8", "9"]
    np.save(tmp_path / "b.npy", np.full((1, 1), 5, np.float32))
    np.save(tmp_path / "a.npy", columns["a"])
    given = (model, tmp_path / "a.npy", "--set", f"b={tmp_path / 'b.npy'}", "--out", tmp_path / "set.npz")
    assert command(capsys, *given)[0] == 0
    assert np.array_equal(np.load(tmp_path / "set.npz")["sum"], columns["a"] + 5)
    for arguments, words in (
        ([tmp_path / "a.npy"], "a file is the value of one input"),
        ([tmp_path / "t.npz", "--keep", "name"], "has no column 'name' of 3 rows"),
        ([tmp_path / "t.npz", "--keep", "file"], "two columns would be called 'file'"),
        ([tmp_path / "t.npz", "--set", "c=1"], "the model's inputs are a, b"),
        ([model], "a file is the value of one input, the model takes 'a', 'b'"),
    ):
        status, printed = command(capsys, model, *arguments, "--out", tmp_path / "no.npz")
        assert (status != 0, printed.count("\n"), (tmp_path / "no.npz").exists()) == (True, 1, False), printed
        assert words in printed


def test_rows_of_unequal_shape(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Outputs whose shapes differ from row to row, in each form."""
    (tmp_path / "m.tflite").write_bytes(relu_chain())
    (tmp_path / "in").mkdir()
    for length in (3, 0, 2):
        np.save(tmp_path / "in" / f"{length}.npy", np.arange(length, dtype=np.float32))
    for form in ("npz", "csv"):
        assert command(capsys, tmp_path / "m.tflite", tmp_path / "in", "--out", tmp_path / f"o.{form}")[0] == 0
    found = np.load(tmp_path / "o.npz")
    assert found["y2.values"].tolist() == [0, 1, 0, 1, 2]
    assert found["y2.shapes"].tolist() == [[0], [2], [3]]
    lines = list(csv.DictReader(io.StringIO((tmp_path / "o.csv").read_text())))
    assert [json.loads(line["y2"]) for line in lines] == [[], [0, 1], [0, 1, 2]]


def test_strings(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of one line each, and text as it is written in each form."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, first = graph.input("x", (1,), TensorType.STRING), graph.constant("first", np.array([0], np.int32))
    graph.output(graph.node("GATHER", [x, first], out=("y", (1,), TensorType.STRING)))
    (tmp_path / "m.tflite").write_bytes(builder.build())
    (tmp_path / "in").mkdir()
    for name in ("one", "two"):
        (tmp_path / "in" / name).write_text(f"{name}, so\n")
    for form in ("npz", "csv"):
        assert command(capsys, tmp_path / "m.tflite", tmp_path / "in", "--out", tmp_path / f"o.{form}")[0] == 0
    assert np.load(tmp_path / "o.npz")["y"].tolist() == ["one, so", "two, so"]
    assert [row["y"] for row in csv.DictReader(io.StringIO((tmp_path / "o.csv").read_text()))] == ["one, so", "two, so"]


def test_parquet_without_pyarrow(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    pictures(tmp_path / "in")
    status, printed = command(capsys, DIGITS, tmp_path / "in", "--out", tmp_path / "o.parquet")
    assert (status, printed.count("\n")) == (1, 1)
    assert "Parquet needs pyarrow, which is not installed: pip install pyarrow" in printed


def in_two_processes(folder: pathlib.Path, *arguments: str) -> str:
    """The output of batch/workers.py."""
    done = subprocess.run(
        [sys.executable, "-m", "batch.workers", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        check=True,
        capture_output=True,
        text=True,
        timeout=patience(60),
    )
    assert done.stderr == ""
    return done.stdout


def test_workers_that_are_killed(tmp_path: pathlib.Path) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.node("Fatal", [graph.input("x", (1, 2))], out=("y", (1, 2)), custom=True))
    (tmp_path / "m.tflite").write_bytes(builder.build())
    rows = np.arange(80, dtype=np.float32).reshape(40, 2)
    np.save(tmp_path / "good.npy", rows)
    np.save(tmp_path / "bad.npy", np.concatenate([rows, -1 - rows]))
    assert in_two_processes(tmp_path, "m.tflite", "good.npy", "good") == "40 0\n"
    assert np.array_equal(loaded(tmp_path / "good")["y"].reshape(-1, 2), rows)
    printed = in_two_processes(tmp_path, "m.tflite", "bad.npy", "bad")
    assert printed.startswith("KernelError a worker process was killed")
    for path in sorted((tmp_path / "bad").glob("part-*.npz")):
        assert np.array_equal(np.load(path)["y"].reshape(-1, 2), rows[int(path.stem[5:]) * 4 :][:4])


@pytest.mark.skipif(sys.platform != "linux", reason="processes that share weights are forks")
def test_workers_share_the_weights(tmp_path: pathlib.Path) -> None:
    """The weights have 19 MB and are packed for the processor; no process has a copy of its own."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    y = graph.input("x", (1, 2, 2, 512))
    weights = np.random.default_rng(0).normal(size=(512, 3, 3, 512)).astype(np.float32)
    for number in range(2):
        given = [y, graph.constant(f"w{number}", weights + number), -1]
        options = {"stride_w": 1, "stride_h": 1, "padding": "SAME"}
        y = graph.node("CONV_2D", given, out=(f"y{number}", (1, 2, 2, 512)), options=options)
    graph.output(y)
    (tmp_path / "m.tflite").write_bytes(builder.build())
    np.save(tmp_path / "x.npy", np.zeros((40, 2, 2, 512), np.float32))
    rows, private = in_two_processes(tmp_path, "m.tflite", "x.npy", "out", "--memory").split()
    assert int(rows) == 40
    assert 1 << 20 < int(private) < 12 << 20


def test_disk_that_is_full(tmp_path: pathlib.Path) -> None:
    """Files may have at most 5000 bytes: the part that is larger is absent, and those before it are whole."""
    np.save(tmp_path / "rows.npy", np.zeros((20, 8, 8, 1), np.float32))
    np.save(tmp_path / "wide.npy", np.zeros((200, 8, 8, 1), np.float32))
    code = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY)); from minilite.cli import main; sys.exit(main())"
    given = [DIGITS, "rows.npy", "wide.npy", "--out", "out", "--part", "110"]
    done = subprocess.run(
        [sys.executable, "-c", code, "batch", *given],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        timeout=patience(60),
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "could not write" in done.stderr
    assert "out/part-00000.npz': file too large" in done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["_job.json"]
    done = subprocess.run(
        [sys.executable, "-c", code, "batch", *given[:2], "--out", "small", "--workers", "2", "--part", "10"],
        cwd=tmp_path, check=False, capture_output=True, text=True, timeout=patience(60),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list((tmp_path / "small").glob("part-*"))) == 2


@pytest.mark.skipif(os.name != "posix", reason="a terminal sends Ctrl-C to a group of processes")
@pytest.mark.parametrize("to_all", [True, False])
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c(tmp_path: pathlib.Path, workers: int, to_all: bool) -> None:
    """Ctrl-C goes to all processes, as from a terminal, or to the first one. Whole parts stay, all processes end, and
    the same command goes on with the job."""
    last = 2**31 - 1
    (tmp_path / "m.tflite").write_bytes(loop([COUNTER], below(last), endless))
    np.save(tmp_path / "rows.npy", np.array([last, 1, 2, 3], np.int32))
    given = ["m.tflite", "rows.npy", "--out", "out", "--part", "1", "--batch", "1", "--workers", str(workers)]
    started = [sys.executable, "-m", "minilite", "batch", *given]
    process = subprocess.Popen(
        started, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    first, ends = tmp_path / "out" / "part-00000.npz", time.monotonic() + patience(60)
    while not first.exists() and process.poll() is None and time.monotonic() < ends:
        time.sleep(0.01)
    (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)
    try:
        out, error = process.communicate(timeout=patience(60))
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)  # a group without processes is none
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, out, error) == (130, b"", b"minilite: interrupted\n")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["_job.json", first.name]
    before = first.stat()
    np.save(tmp_path / "rows.npy", np.full(4, last, np.int32))
    done = subprocess.run(started, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=patience(60))
    assert done.stdout.startswith("wrote 3 rows in 3 parts")
    assert first.stat() == before


def test_sounds(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each window of a file is a row, filled up with silence to the length that the model takes."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.node("NEG", [graph.input("sound", (1, 100))], out=("y", (1, 100))))
    (tmp_path / "m.tflite").write_bytes(builder.build())
    (tmp_path / "in").mkdir()
    rng, wanted = np.random.default_rng(0), np.zeros((4, 100), np.float32)
    row = 0
    for number, length in enumerate((100, 130, 70)):
        samples = rng.integers(-(2**15), 2**15, length)
        (tmp_path / "in" / f"{number}.wav").write_bytes(wav(samples))
        for start in range(0, length, 100):
            window = samples[start : start + 100]
            wanted[row, : len(window)] = -window / np.float32(32768)
            row += 1
    assert command(capsys, tmp_path / "m.tflite", tmp_path / "in", "--out", tmp_path / "o.npz")[0] == 0
    found = np.load(tmp_path / "o.npz")
    assert [pathlib.Path(name).name for name in found["file"]] == ["0.wav", "1.wav", "1.wav", "2.wav"]
    np.testing.assert_allclose(found["y"], wanted, rtol=0, atol=1e-7)


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_counts_rows(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """Rows count before their part is done, if this process runs it."""
    told: list[str] = []

    class Seen(Work):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "started" and hasattr(self, "total") and self.total:
                told.append(str(self))

    monkeypatch.setattr("minilite.cli.batch.working", lambda *arguments: contextlib.nullcontext(Seen(*arguments)))
    np.save(tmp_path / "rows.npy", np.zeros((150, 8, 8, 1), np.float32))
    given = (DIGITS, tmp_path / "rows.npy", "--workers", workers, "--batch", 32)
    assert command(capsys, *given, "--out", tmp_path / "o.npz")[0] == 0
    within = ["row 65 of 150", "row 129 of 150"] if workers == 1 else []
    assert told == ["row 1 of 150", *within, "row 150 of 150"]
    arguments = (*given, "--out", tmp_path / "parts", "--part", 50)
    assert command(capsys, *arguments)[0] == 0
    told.clear()
    (tmp_path / "parts" / "part-00001.npz").unlink()
    assert command(capsys, *arguments)[0] == 0  # goes on, and counts what is there
    assert (told[0], told[-1]) == ("row 101 of 150", "row 150 of 150")


def test_wrong_calls(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(tmp_path / "in")
    (tmp_path / "empty").mkdir()
    for arguments, status, words in (
        ([DIGITS, tmp_path / "in", "--out", "x.foo"], 2, "takes a folder, or a file that ends in"),
        ([DIGITS, tmp_path / "in", "--out", "x.csv", "--part", 3], 2, "--part goes with a folder"),
        ([DIGITS, tmp_path / "in", "--out", "x.csv", "--format", "npz"], 2, "--format goes with a folder"),
        ([DIGITS, tmp_path / "in", "--out", tmp_path / "no" / "x.csv"], 2, "there is no folder"),
        ([DIGITS, tmp_path / "empty", "--out", tmp_path / "o"], 1, "has no files"),
        ([DIGITS, tmp_path / "nothing.png", "--out", tmp_path / "o"], 1, "could not open"),
        ([DIGITS, tmp_path / "in", "--out", tmp_path / "o", "--signature", "f"], 1, "signature"),
    ):
        found, printed = command(capsys, *arguments)
        assert (found, printed.count("\n")) == (status, 1), printed
        assert words in printed
    assert not (tmp_path / "o").exists()
