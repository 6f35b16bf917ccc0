"""The minilite command: what it prints, what it writes, and how it refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.foreign import FOREIGN

from minilite.cli import main
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType


@pytest.fixture
def model(tmp_path: Path) -> str:
    builder = ModelBuilder(description="three activations")
    graph = builder.subgraph("main")
    x = graph.input("serving/x=0", (1, 4), signature=(-1, 4))
    y = graph.node("RELU", [x], out=("hidden", (1, 4)))
    y = graph.node("RELU", [y], out=("over hidden", (1, 4)))
    graph.output(graph.node("RELU6", [y], out=("../y:0", (1, 4))))
    path = tmp_path / "model.tflite"
    path.write_bytes(builder.build())
    return str(path)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the terminal wide enough for every line."""
    monkeypatch.setenv("COLUMNS", "200")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, bad: bool = False) -> str:
    """Runs a command that is called in a wrong way, or has a `bad` model or data; returns its one line on stderr."""
    try:
        status = main(arguments)
    except SystemExit as exit_:
        status = exit_.code
    error = capsys.readouterr().err
    assert status == (1 if bad else 2)
    assert error.startswith("minilite")
    assert error.endswith("\n")
    assert error.count("\n") == 1
    return error


def test_run_prints_inputs_outputs_time_and_arena(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", model, "--shape", "serving/x=0=3,4", "--repeat", "3"]) == 0
    out = capsys.readouterr().out
    assert "model.tflite: 3 nodes, 4 tensors" in out
    assert "serving/x=0" in out
    assert "3x4" in out
    assert "median of 3" in out
    assert "lower bound" in out


def test_run_reads_and_writes_arrays(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.linspace(-8, 8, 8, dtype=np.float32).reshape(2, 4)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "deep" / "out"
    assert main(["run", model, "--input", f"serving/x=0={tmp_path / 'x.npy'}", "--out", str(out)]) == 0
    (written,) = out.iterdir()  # the name in the model does not lead out of the folder
    np.testing.assert_array_equal(np.load(written), np.clip(x, 0, 6))
    assert str(written) in capsys.readouterr().out


def test_run_is_repeatable(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    def outputs(seed: str) -> list[str]:
        main(["run", model, "--seed", seed])
        return [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("output")]

    assert outputs("1") == outputs("1") != outputs("2")


def test_inspect_shows_nodes_tensors_and_offsets(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", model, "--shape", "serving/x=0=16,4"]) == 0
    out = capsys.readouterr().out
    for text in ("RELU6", "hidden", "16x4", "arena", "shares with", "lower bound"):
        assert text in out


@pytest.mark.parametrize("runs", [True, False])
def test_inspect_counts_multiply_adds(runs: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Multiply-adds are counted for the planned shapes; without a plan, for the shapes in the file, whose batch is
    unknown here."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = graph.input("x", (1, 8), signature=(-1, 8))
    w = graph.constant("w", np.ones((3, 8), np.float32))
    y = graph.node("FULLY_CONNECTED", [x, w, -1], out=("y", (1, 3)))
    graph.output(y if runs else graph.node("Mystery", [y], out=("z", (2,)), custom=True))
    path = tmp_path / "dense.tflite"
    path.write_bytes(builder.build())
    assert main(["inspect", str(path), "--shape", "5,8", "--json"]) == (0 if runs else 1)
    totals = json.loads(capsys.readouterr().out)["totals"]
    assert totals["operators"] == {"FULLY_CONNECTED": 1} | ({} if runs else {"Mystery": 1})
    assert (totals["multiply_adds"], totals["constants"], totals["constant_bytes"]) == (120 if runs else None, 24, 96)
    main(["inspect", str(path), "--shape", "5,8"])
    assert ("120 multiply-adds" if runs else "not known how many multiply-adds") in capsys.readouterr().out


def test_inspect_shows_what_it_can_of_a_model_it_cannot_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = graph.input("x", (2,), TensorType.FLOAT32)
    graph.output(graph.node("Mystery", [x], out=("y", (2,)), custom=True))
    path = tmp_path / "custom.tflite"
    path.write_bytes(builder.build())
    assert main(["inspect", str(path)]) == 1
    shown = capsys.readouterr()
    assert "Mystery (custom)" in shown.out
    assert shown.err.count("\n") == 1
    assert "Mystery" in shown.err


def test_check_says_that_all_is_supported(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--check", model]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    head, columns, *lines = shown.out.splitlines()
    assert head == "model.tflite: 3 nodes of 2 operators, all supported"
    assert columns.split() == ["operator", "nodes", "first", "answer"]
    assert [line.split() for line in lines] == [
        ["RELU", "2", "0:0", "0:1", "supported"],
        ["RELU6", "1", "0:2", "supported"],
    ]


def test_check_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Missing types are named too; an operator has two lines if one of its nodes runs and another does not."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, wide = graph.input("x", (2,)), graph.input("wide", (2,), TensorType.FLOAT64)
    outs = [graph.node("FlexMystery", [x], out=(f"y{i}", (2,)), custom=True) for i in range(5)]
    outs += [graph.node("RELU", [x], out=("z", (2,))), graph.node("RELU", [wide], out=("v", (2,), TensorType.FLOAT64))]
    graph.output(*outs)
    path = tmp_path / "custom.tflite"
    path.write_bytes(builder.build())
    assert main(["inspect", "--check", str(path)]) == 1
    shown = capsys.readouterr()
    assert shown.err == ""
    head, _, *lines = shown.out.splitlines()
    assert head == "custom.tflite: 7 nodes of 2 operators, 2 not supported"
    lines = [line for line in lines if line[2] != " "]  # others go on with the words of a cell
    assert [line.split()[:2] for line in lines] == [["FlexMystery", "5"], ["RELU", "1"], ["RELU", "1"]]
    assert "0:0 0:1 0:2 ..." in lines[0]
    assert "Select TensorFlow op(s)" in lines[0]
    assert "types f64 -> f64 of x -> y are not supported" in lines[1]
    assert lines[2].split()[2:] == ["0:5", "supported"]


def test_check_plans_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shapes that do not fit each other do not matter; files that are no models are refused."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = graph.input("x", (2,)), graph.input("y", (3,))
    graph.output(graph.node("ADD", [x, y], out=("z", (2,))))
    path = tmp_path / "misfit.tflite"
    path.write_bytes(builder.build())
    assert main(["inspect", "--check", str(path)]) == 0
    assert "1 node of 1 operator, all supported" in capsys.readouterr().out
    path.write_bytes(b"nothing of the kind")
    refused(capsys, "inspect", "--check", str(path), bad=True)


def test_unsupported_operators_have_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = graph.input("x", (2,))
    graph.output(*[graph.node(f"Kind{i % 2}", [x], out=(f"y{i}", (2,)), custom=True) for i in range(6)])
    path = tmp_path / "custom.tflite"
    path.write_bytes(builder.build())
    for command in ("run", "inspect", "plan"):
        assert main([command, str(path)]) == 1
        assert capsys.readouterr().err.splitlines() == [
            "minilite: 6 nodes of 2 operators are not supported:",
            "  Kind0 x3 (subgraph 0, nodes 0, 2, 4): Encountered unresolved custom op: Kind0, custom_ops is empty",
            "  Kind1 x3 (subgraph 0, nodes 1, 3, 5): Encountered unresolved custom op: Kind1, custom_ops is empty",
        ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--shape", "z=1,4"], "serving/x=0"),
        (["--shape", "serving/x=0=1,four"], "dimensions"),
        (["--shape", "serving/x=0=-3,4"], "-3"),
        (["--shape", "serving/x=0=1,4", "--shape", "serving/x=0=2,4"], "twice"),
        (["--input", "z=x.npy"], "there is no such file; to name an input: the model's input is serving/x=0"),
        (
            ["--input", "serving/x=0={right}", "{right}"],
            "the model's input is serving/x=0, and all of them are given already",
        ),
        (["-", "-"], "and all of them are given already"),
        (["--input", "serving/x=0={right}", "--shape", "serving/x=0=2,4"], "(2, 4)"),
        (["--repeat", "0"], "at least 1"),
        (["--threads", "x"], "at least 1"),
        (["--seed", "-1"], "takes a whole number of at least 0, got '-1'"),
        (["--seed", "x"], "takes a whole number of at least 0, got 'x'"),
        (["--planner", "no such planner"], "no such planner"),
        (["--out", "{model}"], "model.tflite"),
        (["--bogus"], "--bogus"),
        (["--mean", "a"], "takes a number"),
        (["--top", "0"], "at least 1"),
        (["--resolver", "gpu"], "gpu"),
    ],
)
def test_run_refuses_in_one_line(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    np.save(tmp_path / "right.npy", np.zeros((1, 4), np.float32))
    places = {"model": model, "right": tmp_path / "right.npy"}
    assert words in refused(capsys, "run", model, *(text.format(**places) for text in arguments))


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[list[str], dict[str, list[str]]]:
    """The first lines of `plan --compare`, and its rows by strategy."""
    assert main(["plan", "--compare", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    return lines[:2], {line.split()[0]: line.split()[1:] for line in lines[3:]}


def test_plan_compares_all_strategies(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    from minilite import memory

    head, rows = compared(capsys, model, "--shape", "serving/x=0=50,4")
    assert head[0].startswith("model.tflite: ")
    assert set(rows) == set(memory.strategies())
    bound = int(re.search(r"(\d+) bytes", head[1])[1])  # type: ignore[index]
    assert all(int(row[0]) == bound + int(row[1]) for row in rows.values())
    assert list(rows) == sorted(rows, key=lambda name: int(rows[name][0]))
    assert rows["default"][1:] == ["0", "at", "the", "bound"]
    assert compared(capsys, model, "--shape", "serving/x=0=50,4") == (head, rows)


def test_plan_compares_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = tmp_path / "problem.csv"
    problem.write_text("id,lower,upper,size\n0,0,2,4\n1,1,3,2\n2,2,4,4\n")
    head, rows = compared(capsys, "--problem", str(problem))
    assert head == ["problem.csv: 3 records, alignment 1", "lower bound 6 bytes"]
    assert rows["naive"] == ["10", "4", "66.67", "%"]
    assert [int(row[0]) for row in rows.values()] == sorted(int(row[0]) for row in rows.values())
    assert rows["exact"] == ["6", "0", "at", "the", "bound"]
    problem.write_text("id,lower,upper,size,offset\n0,0,2,4,8\n1,1,3,2,\n")
    head, rows = compared(capsys, "--problem", str(problem))
    assert rows["exact"] == ["takes", "no", "fixed", "records"]
    assert rows["default"][0] == "12"


@pytest.mark.parametrize("option", ["--strategy=naive", "--capacity=9", "--svg=a.svg", "--write-offline=b.tflite"])
def test_a_comparison_makes_no_single_plan(option: str, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--compare" in refused(capsys, "plan", model, "--compare", option)
    assert not Path("a.svg").exists()
    assert not Path("b.tflite").exists()


@pytest.mark.parametrize("command", ["run", "inspect"])
def test_files_that_are_no_models(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.tflite").touch()
    (tmp_path / "text.tflite").write_text("not a model, not at all")
    for name in ("absent.tflite", "empty.tflite", "text.tflite", "."):
        refused(capsys, command, str(tmp_path / name), bad=True)


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_formats_are_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, text = FOREIGN[name]
    path = tmp_path / "my model.tflite"
    path.write_bytes(data)
    for command in (["run"], ["inspect", "--check"], ["plan", "--compare"], ["profile"]):
        error = refused(capsys, *command, str(path), bad=True)
        assert error.startswith(f"minilite: The model is not a valid Flatbuffer buffer: {str(path)!r}: ")
        assert text in error


def test_commands_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert "run" in refused(capsys, "fly")
    assert "m.tflite is not a command: minilite run m.tflite" in refused(capsys, "m.tflite", "--top", "3")
    assert "p.csv is not a model: give usage records with --problem p.csv" in refused(capsys, "plan", "p.csv")


def test_embedded_model_takes_no_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert "MODEL" in refused(capsys, "run", "--shape", "x=1")
    for seed in ("0", "3"):
        assert "--seed goes with a MODEL" in refused(capsys, "run", "--seed", seed)


def test_run_without_arguments_reads_digits_of_several_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"]) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines() if " x " in line]
    assert len({tuple(row[:3]) for row in rows}) >= 3
    assert sum(row[3] == row[4] for row in rows) >= 0.9 * len(rows)
    assert any("new" in row for row in rows)
    assert any("seen" in row for row in rows)
    assert re.search(r"\d+ of 12 right; 6 plans made, 6 used again\n$", out)


def test_module_and_version(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "minilite", "--version"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("minilite ")
    done = subprocess.run(
        [sys.executable, "-m", "minilite", "run", "absent.tflite"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


def test_run_reads_shows_and_writes_strings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("words", (2,), TensorType.STRING, signature=(-1,))
    graph.output(graph.node("RESHAPE", [x], out=("y", None, TensorType.STRING), options={"new_shape": [-1, 1]}))
    path, text, array = tmp_path / "m.tflite", tmp_path / "words.txt", tmp_path / "words.npy"
    path.write_bytes(builder.build())
    text.write_text("one\n\nfünf\n")
    np.save(array, np.array(["one", "", "fünf"]))
    assert main(["run", str(path)]) == 0
    assert "string  random" in capsys.readouterr().out
    for given in (text, array):
        out = tmp_path / given.suffix
        assert main(["run", str(path), "--input", f"words={given}", "--out", str(out)]) == 0
        assert "y      3x1    string  b'one' b'' b'f\\xc3\\xbcnf'" in capsys.readouterr().out
        assert np.load(out / "y.npy").tolist() == [[b"one"], [b""], ["fünf".encode()]]
    text.write_bytes(b"zero\0\n")
    assert "zero byte" in refused(
        capsys, "run", str(path), "--input", f"words={text}", "--out", str(tmp_path / "no"), bad=True
    )
