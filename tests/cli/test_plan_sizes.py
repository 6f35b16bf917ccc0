"""minilite plan --fit, --sweep, --map and --bind: what they print and write, and how they refuse."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from processes import patience

from minilite.cli import main
from minilite.format.builder import ModelBuilder
from minilite.writing import write_whole

DIGITS = str(Path(__file__).resolve().parents[2] / "minilite" / "data" / "digits.tflite")


def minilite(*arguments: str, columns: int = 100, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "minilite", *arguments]
    environment = {**os.environ, "COLUMNS": str(columns)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, **options)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def picky(tmp_path: Path) -> str:
    """A model that takes images of an even side only; its input's name is a trap for SVG."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("<b>&x", (1, 8, 8, 4), signature=(1, -1, -1, 4))
    block = graph.constant("block", np.array([2, 2], np.int32))
    crops = graph.constant("crops", np.zeros((2, 2), np.int32))
    graph.output(graph.node("SPACE_TO_BATCH_ND", [x, block, crops], out=("y", None)))
    path = tmp_path / "picky.tflite"
    path.write_bytes(builder.build())
    return str(path)


def test_fit_names_the_largest_size_and_its_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", DIGITS, "--fit", "1MB"]) == 0
    head, columns, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("digits.tflite: the largest side within 1000000 bytes is 144 (")
    assert columns.split()[0] == "size"
    arenas = {int(row.split()[0]): int(row.split()[3]) for row in rows}
    assert max(size for size, arena in arenas.items() if arena <= 10**6) == 144
    assert 145 in arenas


def test_fit_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", DIGITS, "--fit", "1MB", "--axis", "batch", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    tried = {one["size"]: one["arena_bytes"] for one in facts["tried"]}
    assert len(tried) <= 40
    assert tried[facts["size"]] == facts["arena_bytes"] <= 10**6 < tried[facts["size"] + 1]
    assert (facts["axis"], facts["step"], facts["finished"], facts["monotone"]) == ("batch", 1, True, True)


def test_fit_says_what_is_refused_in_between(picky: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", picky, "--fit", "1MB", "--step", "1", "--axis", "side"]) == 0
    assert main(["plan", picky, "--fit", "1MB"]) == 0
    assert "is 176" in capsys.readouterr().out
    assert main(["plan", picky, "--fit", "10"]) == 1
    assert "none of the sizes tried fits" in capsys.readouterr().out


def test_sweep_prints_writes_and_draws(picky: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, drawing = tmp_path / "out.csv", tmp_path / "out.svg"
    command = ["plan", picky, "--sweep", "<b>&x=1,8..14:1,8..14,4", "--csv", str(table), "--svg", str(drawing)]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert out.startswith("picky.tflite: 7 sizes, 3 refused\n")
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["size"] for row in rows] == ["8", "9", "10", "11", "12", "13", "14"]
    assert rows[2]["inputs"] == "<b>&x=1x10x10x4"
    for row in rows:
        assert bool(row["refused"]) == bool(int(row["size"]) % 2) == (not row["arena_bytes"])
        assert int(row["arena_bytes"] or 10**6) >= int(row["lower_bound"] or 0) > 0 or row["refused"]
    root = ET.parse(drawing).getroot()
    titles = [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 7
    assert sum("is refused: subgraph 0, node 0" in title for title in titles) == 3


def test_sweep_chooses_round_steps_and_keeps_both_ends(capsys: pytest.CaptureFixture[str]) -> None:
    for spec, sizes in (
        ("1,16..512,16..512,1", list(range(16, 513, 16))),
        ("1..3,16,16,1", [1, 2, 3]),
        ("1,100..210:50,10..21,1", [100, 150, 200, 210]),
        ("1,7..7,7,1", [7]),
    ):
        assert main(["plan", DIGITS, "--sweep", spec, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["sizes"]
        assert [one["size"] for one in found] == sizes
    assert main(["plan", DIGITS, "--sweep", "1,100..210:50,10..21,1", "--json"]) == 0
    shapes = [one["inputs"]["image"] for one in json.loads(capsys.readouterr().out)["sizes"]]
    assert shapes == [[1, 100, 10, 1], [1, 150, 15, 1], [1, 200, 20, 1], [1, 210, 21, 1]]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--fit", "8M"], "minilite: --fit: takes bytes such as 8000000, 8MB (the same)"),
        (["--fit", "1MB", "--sweep", "1,8..9,8,1"], "--fit and --sweep: one of the two"),
        (["--fit", "1MB", "--strategy", "naive"], "--strategy does not go with --fit"),
        (["--fit", "1MB", "--svg", "x.svg"], "--svg does not go with --fit"),
        (["--axis", "side"], "--axis goes with --fit"),
        (["--csv", "x.csv"], "--csv goes with --sweep"),
        (["--sweep", "1,8,8,1"], "--sweep 1,8,8,1: has no range such as 16..512"),
        (["--sweep", "1,9..8,8,1"], "'9..8' is not a range such as 16..512"),
        (["--sweep", "1,8..9,x,1"], "'x' is neither a dimension nor a range"),
        (["--sweep", "1,1..99999:1,8,1"], "99999 sizes, must be at most 10000"),
        (["--sweep", "1,8..9,8,1", "--map"], "--map does not go with --sweep"),
        (["--compare", "--map"], "--map goes with one plan"),
        (["--bind", "nothing"], "--bind nothing: the model has no tensor of this name, and numbers go to 21"),
        (["--fit", "1MB", "--axis", "length"], "no input has a length"),
    ],
)
def test_bad_arguments(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["plan", DIGITS, *arguments])
    error = capsys.readouterr().err
    assert status == (1 if "length" in arguments else 2)
    assert text in error
    assert error.count("\n") == 1


def test_map_shows_the_arena_before_and_after_binding(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", DIGITS, "--map"]) == 0
    whole = capsys.readouterr().out
    assert main(["plan", DIGITS, "--map", "--bind", "conv_1", "--bind", "3", "--bind", "image"]) == 0
    bound = capsys.readouterr().out
    assert "0 (id=0): size=" in whole
    assert whole.count("(id=") == bound.count("(id=") + 1


def test_map_of_a_problem_without_some_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text("id,lower,upper,size\n5,0,2,64\n6,1,3,64\n")
    assert main(["plan", "--problem", str(problem), "--map", "--bind", "6"]) == 0
    assert "0 (id=0): size=64, offset=0, first_used=0 last_used=1\n" in capsys.readouterr().out
    assert main(["plan", "--problem", str(problem), "--bind", "7"]) == 2
    assert "--bind 7: the problem has no record of this tensor" in capsys.readouterr().err


# As processes ---------------------------------------------------------------------------------------------------------


def test_sixty_columns() -> None:
    for arguments in (["--fit", "1MB"], ["--sweep", "1,8..40,8..40,1"]):
        done = minilite("plan", DIGITS, *arguments, columns=60)
        assert done.returncode == 0
        assert max(map(len, done.stdout.splitlines())) <= 60


def test_broken_model_and_missing_folder(tmp_path: Path) -> None:
    broken = tmp_path / "broken.tflite"
    broken.write_bytes(Path(DIGITS).read_bytes()[:999])
    for arguments in ([str(broken), "--fit", "1MB"], [str(broken), "--sweep", "1,8..9,8,1"]):
        done = minilite("plan", *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    done = minilite("plan", DIGITS, "--sweep", "1,8..9,8,1", "--csv", str(tmp_path / "no" / "out.csv"))
    assert done.returncode == 1
    assert "no/out.csv': no such file or directory" in done.stderr


def test_closed_pipe() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "minilite", "plan", DIGITS, "--sweep", "1..5000:1,8,8,1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline()
    process.stdout.close()
    assert process.wait(patience(30)) == 0
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


def test_ctrl_c_leaves_the_old_file(tmp_path: Path) -> None:
    table = tmp_path / "out.csv"
    table.write_text("old")
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, "plan", DIGITS, "--sweep", "1..99:1,8,8,1", "--csv", str(table)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "planning\n"
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=patience(30))
    assert (process.returncode, error) == (130, "minilite: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert table.read_text() == "old"


SLOW = """
import sys, time
from minilite.cli import main
from minilite.engine import sizes

def slow(*arguments):
    print("planning", flush=True)
    for _ in range(3000):
        time.sleep(0.01)

sizes._planned = slow
sys.exit(main())
"""
"""The command, a plan of which takes very long."""


def test_files_are_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link = tmp_path / "real" / "a.txt", tmp_path / "link.txt"
    path.parent.mkdir()
    path.write_text("old")
    link.symlink_to(path)
    write_whole(link, "new")
    assert (link.is_symlink(), path.read_text()) == (True, "new")
    mode = path.stat().st_mode
    path.unlink()
    path.write_text("")
    assert mode == path.stat().st_mode

    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"newer")
    assert [each.name for each in path.parent.iterdir()] == ["a.txt"]
    write_whole(Path(os.devnull), "gone")
