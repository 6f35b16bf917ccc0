"""Detectors in `minilite batch`: a row for each object."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from support.media import png
from support.metadata import RGB, labelled, metadata, with_files

from minilite.cli import main
from minilite.format.builder import ModelBuilder

OUTPUTS = [{0: "location"}, {0: "category"} | labelled("labels.txt", kind=3), {0: "score"}, {0: "number of detections"}]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A detector whose scores are the values of the first pixel, as a share of 255."""
    monkeypatch.chdir(tmp_path)
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("image", (1, 1, 1, 3))
    boxes = np.float32([[[0.5, 0.0, 1.0, 0.25], [0.0, 0.5, 0.5, 1.0], [0, 0, 1, 1]]])
    shape = graph.constant("shape", np.int32([1, 3]))
    scores = graph.node("RESHAPE", [x, shape], out=("scores", (1, 3)), options={"new_shape": (1, 3)})
    fixed = {"boxes": boxes, "classes": np.float32([[1, 0, 7]]), "count": np.float32([3])}
    others = {name: graph.constant(name, values) for name, values in fixed.items()}
    graph.output(others["boxes"], others["classes"], scores, others["count"])
    builder.metadata("TFLITE_METADATA", metadata([{0: "image"} | RGB], OUTPUTS))
    Path("m.tflite").write_bytes(with_files(builder.build(), {"labels.txt": "cat\ndog\n"}))
    for name, pixel in (("a", (102, 204, 255)), ("b", (0, 0, 0)), ("c", (51, 102, 0))):
        np.save(f"{name}.npy", (np.float32(pixel) / 255).reshape(1, 1, 3))


def rows(*arguments: str) -> list[list[str]]:
    Path("o.csv").unlink(missing_ok=True)
    assert main(["batch", "m.tflite", *arguments, "--out", "o.csv"]) == 0
    return list(csv.reader(Path("o.csv").read_text().splitlines()))


def test_each_object_is_a_row_and_each_file_is_there() -> None:
    found = rows("a.npy", "b.npy", "c.npy")
    assert found == [
        ["file", "row", "class", "score", "left", "top", "right", "bottom"],
        ["a.npy", "0", "7", "1.0", "0.0", "0.0", "1.0", "1.0"],
        ["a.npy", "0", "cat", "0.8", "0.5", "0.0", "1.0", "0.5"],
        ["a.npy", "0", "dog", "0.4", "0.0", "0.5", "0.25", "1.0"],
        ["b.npy", "0", "", "", "", "", "", ""],
        ["c.npy", "0", "cat", "0.4", "0.5", "0.0", "1.0", "0.5"],
    ]
    assert len(rows("a.npy", "b.npy", "--min-score", "0.9")) == 3


def test_a_row_that_failed_has_no_objects_but_its_error() -> None:
    Path("bad.png").write_bytes(png(np.zeros((1, 1), np.uint8))[:40])
    found = rows("a.npy", "bad.png", "--on-error", "skip")
    assert found[0][-1] == "error"
    assert found[-1][:8] == ["bad.png", "0", "", "", "", "", "", ""]
    assert "bad.png" in found[-1][-1]


def test_tensors_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert rows("a.npy", "--raw")[0] == ["file", "row", "boxes", "classes", "scores", "count"]
    with pytest.raises(AssertionError):
        rows("a.npy", "--top", "2")
    assert "the model is a detector" in capsys.readouterr().err
    assert main(["batch", "m.tflite", "a.npy", "--raw", "--min-score", "0.5", "--out", "p.csv"]) == 2
    assert "--min-score 0.5: goes with a detector" in capsys.readouterr().err
    assert main(["batch", "m.tflite", "a.npy", "--out", "o.npz"]) == 0
    with np.load("o.npz") as made:
        assert made["class"].tolist() == ["7", "cat", "dog"]
        assert made["score"].dtype == np.float32
