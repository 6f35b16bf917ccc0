"""Detectors and several pictures in `minilite run`: tables, drawn boxes, a line for each file."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.media import png
from support.metadata import RGB, labelled, metadata, passing, with_files

from minilite.cli import main
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.inputs.drawing import in_picture

OUTPUTS = [{0: "location"}, {0: "category"} | labelled("labels.txt", kind=3), {0: "score"}, {0: "number of detections"}]
BOXES = np.float32([[[0.5, 0.0, 1.0, 0.25], [0.0, 0.5, 0.5, 1.0], [0, 0, 1, 1], [9, 9, 9, 9]]])


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Changes to a folder with two pictures and a detector that finds the same three things in each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.input("image", (1, 8, 8, 3), TensorType.UINT8)
    found = {"boxes": BOXES, "classes": [[1, 0, 1, 0]], "scores": [[0.4, 0.9, 0.1, 0.99]], "count": [3]}
    graph.output(*(graph.constant(name, np.float32(values)) for name, values in found.items()))
    builder.metadata("TFLITE_METADATA", metadata([{0: "image"} | RGB], OUTPUTS))
    pathlib.Path("m.tflite").write_bytes(with_files(builder.build(), {"labels.txt": "cat\ndog\n"}))
    for name, size in (("wide", (200, 100)), ("high", (50, 80))):
        pathlib.Path(f"{name}.png").write_bytes(png(np.zeros((size[1], size[0], 3), np.uint8)))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(["run", *arguments]) == status
    printed = capsys.readouterr()
    return printed.err if status else printed.out


def test_boxes_classes_and_scores_are_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "m.tflite", "wide.png")
    assert "found 2, and 1 with a score below 0.3, in pixels" in text
    assert [line.split() for line in text.splitlines() if line.split()[1:2] in (["cat"], ["dog"])] == [
        ["0", "cat", "0.9", "100", "0", "200", "50"],
        ["1", "dog", "0.4", "0", "50", "50", "100"],
    ]
    text = run(capsys, "m.tflite", "--min-score", "0.5")
    assert "found 1, and 2 with a score below 0.5, in fractions of the input" in text
    assert ["0", "cat", "0.9", "0.5", "0.0", "1.0", "0.5"] in [line.split() for line in text.splitlines()]
    assert "found 0, and 3 with a score below 1\n" in run(capsys, "m.tflite", "--min-score", "1")


def test_json_has_the_objects(capsys: pytest.CaptureFixture[str]) -> None:
    (first, second) = json.loads(run(capsys, "m.tflite", "wide.png", "--json"))["detections"]
    assert first | {"score": 0.9} == {
        "class": 0, "label": "cat", "score": 0.9, "box": [0.5, 0, 1, 0.5], "pixels": [100, 0, 200, 50],
    }  # fmt: skip
    assert (second["label"], json.loads(run(capsys, "m.tflite", "--json"))["detections"][0]["pixels"]) == ("dog", None)


def test_boxes_are_drawn(capsys: pytest.CaptureFixture[str], folder: pathlib.Path) -> None:
    assert run(capsys, "m.tflite", "wide.png", "--draw", "out.png").endswith("wrote out.png\n")
    drawn = np.asarray(Image.open("out.png"))
    assert drawn.shape == (100, 200, 3)
    assert drawn[:50, 100].any(axis=1).all()  # the cat's left side
    assert drawn[50, :50].any(axis=1).all()  # the dog's top
    assert not drawn[60:, 60:].any()
    text = run(capsys, "m.tflite", "wide.png", "high.png", "--draw", "both")
    assert text.endswith("wrote both/wide.png\nwrote both/high.png\n")
    assert np.asarray(Image.open("both/high.png")).any()


def test_pictures_of_one_name_are_drawn_apart(capsys: pytest.CaptureFixture[str], folder: pathlib.Path) -> None:
    """Pictures get files of their own also if their names differ only by the suffix or by capitals, which some file
    systems take for one name."""
    for name, size in (("a/wide.png", (60, 40)), ("a/WIDE.jpg", (20, 10)), ("wide_1.png", (30, 10))):
        pathlib.Path(name).parent.mkdir(exist_ok=True)
        kind = "JPEG" if name.endswith("jpg") else "PNG"
        pathlib.Path(name).write_bytes(png(np.zeros((size[1], size[0], 3), np.uint8), kind))
    text = run(capsys, "m.tflite", "wide.png", "a/wide.png", "a/WIDE.jpg", "wide_1.png", "--draw", "out")
    drawn = [line.removeprefix("wrote ") for line in text.splitlines() if line.startswith("wrote ")]
    assert drawn == ["out/wide.png", "out/wide_1.png", "out/WIDE_2.png", "out/wide_1_1.png"]
    assert [np.asarray(Image.open(path)).shape[1::-1] for path in drawn] == [(200, 100), (60, 40), (20, 10), (30, 10)]


def test_drawings_do_not_overwrite_inputs(capsys: pytest.CaptureFixture[str], folder: pathlib.Path) -> None:
    """A call that would write two results to one file, or over an input, is refused, and writes nothing."""
    np.savez("x.npz", image=np.zeros((1, 8, 8, 3), np.uint8))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for arguments, words in (
        (["wide.png", "--draw", "wide.png"], "--draw wide.png: would be written over wide.png"),
        (["wide.png", "--draw", "."], "--draw wide.png: would be written over wide.png"),
        (["image=wide.png", "--draw", str(folder)], "would be written over wide.png"),
        (["high.png", "wide.png", "--draw", "."], "--draw high.png: would be written over high.png"),
        (["x.npz", "--out", "x.npz"], "--out x.npz: would be written over x.npz"),
        (["x.npz", "--record", "m.tflite"], "--record m.tflite: would be written over m.tflite"),
        (["--out", "o.npz", "--record", "o.npz"], "--record o.npz: would be written over --out o.npz"),
        (["wide.png", "--record", "o.png", "--draw", "o.png"], "--draw o.png: would be written over --record o.png"),
    ):
        text = run(capsys, "m.tflite", *arguments, status=2)
        assert text.count("\n") == 1
        assert f"{words}: give another file" in text
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_draw_is_refused_without_boxes_or_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    pathlib.Path("plain.tflite").write_bytes(passing((1, 4, 4, 3)))
    for arguments, says in (
        (["m.tflite"], "--draw o.png: takes a picture among its inputs"),
        (
            ["plain.tflite", "wide.png"],
            "--draw o.png: takes a model whose outputs are boxes, classes and scores, or one that is a mask or a map of classes; --out FILE.png writes an output that is an image",
        ),
        (["m.tflite", "wide.png", "high.png"], "--draw o.png: must be a folder, as 2 files are given"),
    ):
        assert run(capsys, *arguments, "--draw", "o.png", status=2) == f"minilite: {says}\n"
    assert "could not write o.strange" in run(capsys, "m.tflite", "wide.png", "--draw", "o.strange", status=1)
    assert "--min-score goes with a MODEL" in run(capsys, "--min-score", "0.1", status=2)


@pytest.mark.parametrize(
    ("fit", "left", "top", "right", "bottom"),
    [("stretch", 50, 0, 100, 50), ("crop", 75, 0, 100, 50), ("pad", 50, 0, 100, 50)],
)
def test_boxes_lie_where_the_picture_was_seen(fit: Any, left: int, top: int, right: int, bottom: int) -> None:
    """A picture of 200 x 100 in a square input: cropped, the model sees its middle; padded, also black above and
    below."""
    assert in_picture((0.0, 0.25, 0.5, 0.5), (200, 100), (8, 8), fit) == (left, top, right, bottom)
    assert in_picture((-1.0, -1.0, 2.0, 2.0), (200, 100), (8, 8), fit) == (0, 0, 200, 100)


def test_several_files_are_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "m.tflite", "wide.png", "high.png").splitlines()
    assert lines[0] == "m.tflite: 0 nodes, 2 files"
    assert [line.rsplit("  ", 1)[0].split("  ", 2)[1:] for line in lines[2:]] == [
        ["wide.png", "cat 0.9, dog 0.4"],
        ["high.png", "cat 0.9, dog 0.4"],
    ]
    pathlib.Path("plain.tflite").write_bytes(passing((1, 2, 2, 3)))
    text = run(capsys, "plain.tflite", "wide.png", "high.png", "--top", "1")
    assert [line.split()[:3] for line in text.splitlines()[2:]] == [["wide.png", "0", "0"], ["high.png", "0", "0"]]
    found = json.loads(run(capsys, "plain.tflite", "wide.png", "high.png", "--json"))
    assert [one["file"] for one in found["files"]] == ["wide.png", "high.png"]
    assert found["files"][1]["outputs"][0]["values"] == [[0] * 12]
    says = run(capsys, "m.tflite", "wide.png", "high.png", "--out", "o", status=2)
    assert says == "minilite: --out o: goes with one file, 2 are given\n"


def test_a_command_that_is_misspelt(capsys: pytest.CaptureFixture[str]) -> None:
    for word, says in (
        ("rn", "there is no command 'rn', did you mean run?"),
        ("zzz", "there is no command 'zzz': there"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([word])
        assert ended.value.code == 2
        assert capsys.readouterr().err.startswith(f"minilite: {says}")


def test_the_greatest_of_many_scores_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    pathlib.Path("plain.tflite").write_bytes(passing((1, 12)))
    np.save("x.npy", np.float32([[0, 0, 0, 0, 0, 0, 0, 0, 0.5, 0.25, 0, 0]]))
    assert "0 0 0 0 0 0 ..., greatest 0.5 at 8" in run(capsys, "plain.tflite", "x.npy")
