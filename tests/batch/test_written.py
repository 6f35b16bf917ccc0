"""Files that `minilite batch` writes: classes of outputs of any rank, rows that failed, text that spreadsheets would
run."""

from __future__ import annotations

import csv
import io
import json
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from built import Array
from support.metadata import labelled, metadata, with_files

from minilite.cli import main
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization

U8, F32 = TensorType.UINT8, TensorType.FLOAT32
HALVES = Quantization((0.5,), (0,))
FORMS = ("npz", "csv", "parquet")
LABELS = ["background", "=2+3", "cat"]


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the command runs; lines are not wrapped."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")


def command(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str]:
    """The exit status, and what was printed."""
    status = main(["batch", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.err if status else printed.out


def passing(
    given: Sequence[int], gives: Sequence[int], kind: TensorType = F32, labels: Sequence[str] = (), value: bool = False
) -> str:
    """A model file whose output y is its input in another shape."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    scales = HALVES if kind == U8 else NOT_QUANTIZED
    x = graph.input("x", given, kind, quantization=scales)
    graph.output(graph.node("RESHAPE", [x], out=("y", gives, kind, scales), options={"new_shape": list(gives)}))
    if labels:
        about = metadata([{0: "x"}], [{0: "y"} | labelled("labels.txt", kind=3 if value else 2)])
        builder.metadata("TFLITE_METADATA", about)
    model = builder.build()
    path = pathlib.Path("m.tflite")
    path.write_bytes(with_files(model, {"labels.txt": "\n".join(labels)}) if labels else model)
    return str(path)


def columns(path: str) -> dict[str, list[Any]]:
    """The columns of a file: of arrays as lists, None where a cell is empty."""
    if path.endswith(".npz"):
        archive = np.load(path)
        return {name: archive[name].tolist() for name in archive.files}
    if path.endswith(".csv"):
        rows = list(csv.DictReader(io.StringIO(pathlib.Path(path).read_bytes().decode(), newline="")))
        return {name: [row[name] or None for row in rows] for name in rows[0]}
    found: dict[str, list[Any]] = pytest.importorskip("pyarrow.parquet").read_table(path).to_pydict()
    return found


def rows(*given: Array | str) -> list[str]:
    """Makes a file for each row: of an array, or one with this text."""
    names = [f"{number}.{'npy' if isinstance(row, np.ndarray) else 'txt'}" for number, row in enumerate(given)]
    for name, row in zip(names, given, strict=True):
        if isinstance(row, np.ndarray):
            np.save(name, row)
        else:
            pathlib.Path(name).write_text(row)
    return names


@pytest.mark.parametrize(
    ("given", "gives"), [((3,), (1, 3)), ((1, 3), (1, 3)), ((1, 3), (1, 1, 1, 3)), ((3,), (3,)), ((3,), (1, 1, 3))]
)
def test_best_classes_of_outputs_of_any_rank(
    given: tuple[int, ...], gives: tuple[int, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Outputs whose rows have further dimensions of 1 are ranked, too."""
    model = passing(given, gives)
    files = rows(np.float32([1, 3, 2]).reshape(given[-1:]), np.float32([6, 5, 4]).reshape(given[-1:]))
    for best, classes, scores in ((1, [1, 0], [3, 6]), (2, [[1, 2], [0, 1]], [[3, 2], [6, 5]])):
        for name in files:
            np.save(name, np.load(name).reshape(1, 3))
        assert command(capsys, model, *files, "--out", f"{best}.npz", "--top", best)[0] == 0
        found = columns(f"{best}.npz")
        assert (found["y.class"], found["y.score"]) == (classes, scores)
        assert "y" not in found


@pytest.mark.parametrize("labelled_values", [False, True])
def test_best_classes_of_a_model_without_classes_are_refused(
    labelled_values: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    model = passing((1, 6), (1, 6) if labelled_values else (1, 2, 3), labels=LABELS, value=labelled_values)
    status, printed = command(capsys, model, *rows(np.zeros((1, 6), np.float32)), "--out", "o.npz", "--top", 1)
    shape = "6" if labelled_values else "2x3"
    assert (status, pathlib.Path("o.npz").exists()) == (2, False)
    assert printed == f"minilite: --top 1: no output has a score per class: a row of outputs is 'y' {shape}\n"


def test_best_classes_of_a_detector_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.input("x", (1, 4))
    graph.output(*(graph.constant(name, np.zeros((1, 4), np.float32)) for name in "abc"))
    told = [{0: "location"}, {0: "category"}, {0: "score"}]
    builder.metadata("TFLITE_METADATA", metadata([{0: "x"}], told))  # type: ignore[arg-type]
    pathlib.Path("m.tflite").write_bytes(builder.build())
    status, printed = command(capsys, "m.tflite", *rows(np.zeros((1, 4), np.float32)), "--out", "o", "--top", 1)
    assert (status, printed.count("\n")) == (2, 1)
    assert "the model is a detector" in printed


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("labels", [LABELS, []], ids=["labels", "numbers"])
@pytest.mark.parametrize("kind", [F32, U8], ids=["floats", "bytes"])
@pytest.mark.parametrize("best", [1, 2])
def test_row_that_failed_has_no_class(
    best: int, kind: TensorType, labels: list[str], form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    model = passing((1, 3), (1, 3), kind, labels)
    good = np.array([[4, 2, 6]], np.float32 if kind == F32 else np.uint8)
    files = rows(good, "no numbers", good)
    for given, out in ((files, f"some.{form}"), (files[1:2], f"none.{form}")):
        arguments = (model, *given, "--out", out, "--top", best, "--on-error", "skip")
        assert command(capsys, *arguments)[0] == 0
    some, none = columns(f"some.{form}"), columns(f"none.{form}")
    assert list(none) == list(some) == ["file", "row", "y.class", "y.score", "error"]
    blank: Any = None if form != "npz" else "" if labels else -1
    assert some["y.class"][1] == none["y.class"][0] == ([blank] * best if best > 1 and form == "npz" else blank)
    first = some["y.class"][0] if best == 1 or form != "csv" else json.loads(some["y.class"][0])
    wanted: list[Any] = ["cat", "background"] if labels else [2, 0]
    assert str(first) == str(wanted[0] if best == 1 else wanted)
    scores = some["y.score"][1], none["y.score"][0]
    assert np.isnan(np.float64(scores)).all() if form == "npz" else scores == (None, None)
    assert [bool(text) for text in some["error"]] == [False, True, False]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(1, 4, 4), (1, 4), (1, 1), (1,)], ids=["boxes", "classes", "score", "number"])
def test_row_that_failed_has_no_floats(shape: tuple[int, ...], form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The outputs of a detector are like that: all are floats, the classes too."""
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    good = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
    model = passing(shape, shape)
    files = rows(good, "no numbers", good)
    assert command(capsys, model, *files, "--out", f"o.{form}", "--on-error", "skip")[0] == 0
    found = columns(f"o.{form}")["y"]
    assert np.isnan(found[1]).all() if form == "npz" else found[1] is None
    whole = good[0].tolist() if form != "csv" or good.size > 1 else float(good.item())
    assert [str(row) for row in (found[0], found[2])] == [str(whole)] * 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(1, 3), (1, 1), (1, 2, 2)])
def test_row_that_failed_has_no_integers(shape: tuple[int, ...], form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that can leave a value out have none; a .npz has zeros, like the columns of a Predictor."""
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    good = np.arange(1, 1 + np.prod(shape), dtype=np.uint8).reshape(shape)
    files = rows(good, "no numbers", good)
    model = passing(shape, shape, U8)
    assert command(capsys, model, *files, "--out", f"o.{form}", "--on-error", "skip")[0] == 0
    found = columns(f"o.{form}")["y"]
    assert found[1] == (np.zeros_like(good[0]).tolist() if form == "npz" else None)
    whole = good[0].tolist() if form != "csv" or good.size > 1 else int(good.item())
    assert [str(row) for row in (found[0], found[2])] == [str(whole)] * 2


@pytest.mark.parametrize("form", FORMS)
def test_row_that_failed_has_no_strings(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, which = graph.input("x", (3,), TensorType.STRING), graph.constant("which", np.array([0, 2], np.int32))
    graph.output(graph.node("GATHER", [x, which], out=("y", (2,), TensorType.STRING)))
    pathlib.Path("m.tflite").write_bytes(builder.build())
    files = rows("one\ntwo\nthree\n", "too\nfew\n")
    assert command(capsys, "m.tflite", *files, "--out", f"o.{form}", "--on-error", "skip")[0] == 0
    found = columns(f"o.{form}")
    if form == "npz":
        assert (found["y.values"], found["y.shapes"]) == ([b"one", b"three"], [[2], [0]])
    else:
        assert found["y"] == ['["one", "three"]' if form == "csv" else ["one", "three"], None]


def test_one_bad_row_names_the_way_to_skip_it(capsys: pytest.CaptureFixture[str]) -> None:
    """A file that cannot be read, and a table that cannot be counted."""
    model = passing((1, 3), (1, 3))
    good, text = rows(np.zeros((2, 3), np.float32), "no numbers")
    pathlib.Path("broken.npy").write_bytes(pathlib.Path(good).read_bytes()[:90])
    pathlib.Path("broken.npz").write_bytes(b"PK\3\4 no archive")
    for bad in (text, "broken.npy", "broken.npz"):
        status, printed = command(capsys, model, good, bad, "--out", f"{bad}.csv")
        assert (status, printed.count("\n"), pathlib.Path(f"{bad}.csv").exists()) == (1, 1, False)
        assert bad in printed
        assert "--on-error skip writes such a row with its error and goes on\n" in printed
        assert command(capsys, model, good, bad, "--out", f"{bad}.csv", "--on-error", "skip")[0] == 0
        found = columns(f"{bad}.csv")
        assert [bool(error) for error in found["error"]] == [False, False, True]
    assert "--on-error" not in command(capsys, model, "absent.npy", "--out", "o.csv", "--on-error", "skip")[1]


def test_text_that_spreadsheets_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Names of columns, files and classes, errors, and strings of a model get a quote; numbers stay numbers."""
    cells = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "'quoted", "plain", ""]
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("=x", (1,), TensorType.STRING)
    y = graph.node("GATHER", [x, graph.constant("first", np.array([0], np.int32))], out=("-y", (1,), TensorType.STRING))
    graph.output(y)
    pathlib.Path("m.tflite").write_bytes(builder.build())
    np.savez("=t.npz", **{"=x": np.array(cells, "S"), "@kept": np.array(cells, str), "+n": np.arange(-4, 5)})
    assert command(capsys, "m.tflite", "=t.npz", "--out", "o.csv", "--keep", "@kept", "--keep", "+n")[0] == 0
    read = list(csv.reader(io.StringIO(pathlib.Path("o.csv").read_bytes().decode(), newline="")))
    escaped = [f"'{cell}" if cell and cell != "plain" else cell for cell in cells]
    assert read[0] == ["file", "row", "'@kept", "'+n", "'-y"]
    for at, line in enumerate(read[1:]):
        assert line == ["'=t.npz", str(at), escaped[at], str(at - 4), escaped[at]]
    assert [cell.removeprefix("'") if cell[:1] == "'" else cell for cell in escaped] == cells


def test_labels_that_spreadsheets_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    model = passing((1, 3), (1, 3), labels=LABELS)
    np.save("=1+1.npy", np.float32([[1, 3, 2]]))
    assert command(capsys, model, "=1+1.npy", "--out", "o.csv", "--top", 1)[0] == 0
    assert pathlib.Path("o.csv").read_text().splitlines()[1] == "'=1+1.npy,0,'=2+3,3.0"


def test_columns_of_one_name_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Also the columns that --top adds, and the two arrays for rows that differ in shape."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 3), signature=(1, -1))
    graph.output(*(graph.node("ABS", [x], out=(name, (1, 3))) for name in ("y", "y.class", "y.shapes")))
    pathlib.Path("m.tflite").write_bytes(builder.build())
    files = rows(np.zeros((1, 3), np.float32), np.zeros((1, 2), np.float32))
    status, printed = command(capsys, "m.tflite", *files, "--out", "o.npz")
    assert (status, printed.count("\n")) == (1, 1)
    assert "two arrays would be called 'y.shapes'" in printed
    model = passing((1, 3), (1, 3))
    np.savez("t.npz", **{"x": np.zeros((1, 3), np.float32), "y.class": np.zeros(1)})
    assert command(capsys, model, "t.npz", "--keep", "y.class", "--out", "o.npz")[0] == 0
    status, printed = command(capsys, model, "t.npz", "--keep", "y.class", "--out", "p.npz", "--top", 1)
    assert status == 1
    assert "two columns would be called 'y.class'" in printed
