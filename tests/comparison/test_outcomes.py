"""The last lines of a comparison: errors, classes and decisions; ONNX models and arrays made elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minilite
from minilite.cli import compare_inputs, main
from minilite.comparison.outcomes import outcome_lines, tallies
from minilite.errors import InputError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization


def scored(bias: tuple[float, ...], scale: float = 0.0) -> bytes:
    """A model that adds a bias to three scores; with a scale, its output is quantized."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 3))
    added = graph.node(
        "ADD", [x, graph.constant("bias", np.float32([bias]))], out=("added" if scale else "sum", (1, 3))
    )
    if scale:
        kind = Quantization((scale,), (0,))
        added = graph.node("QUANTIZE", [added], out=("y", (1, 3), TensorType.INT8, kind))
    graph.output(added)
    return builder.build()


def lines(*arguments: Any, **options: Any) -> list[str]:
    found = minilite.compare(*arguments, **options)
    return [line for line in str(found).splitlines() if line.startswith("output ")]


def test_an_output_has_a_line_with_its_error_in_real_units() -> None:
    x = np.float32([[1, 2, 4]])
    same = lines(scored((0, 0, 0)), scored((0, 0, 0.5)), x)
    assert same == ["output 'sum': greatest error 0.5, the greatest class is the same"]
    other = lines(scored((0, 0, 0)), scored((0, 3, 0)), x)
    assert other == ["output 'sum': greatest error 3, the greatest class differs"]
    quantized = lines(scored((0, 0, 0)), scored((0, 0, 0.5), scale=0.25), x)
    assert quantized == ["output 'sum': greatest error 0.5 (2 steps of 0.25), the greatest class is the same"]


def test_float_beside_quantized_has_a_limit_in_steps() -> None:
    x = np.float32([[1, 2, 4]])
    near = minilite.compare(scored((0, 0, 0)), scored((0, 0, 4), scale=0.25), x)
    far = minilite.compare(scored((0, 0, 0)), scored((0, 0, 4.25), scale=0.25), x)
    assert near.agrees
    assert not far.agrees
    assert "above 16 steps of their scale" in far.rule
    assert minilite.compare(scored((0, 0, 0)), scored((0, 0, 4.25), scale=0.25), x, tolerance=2).agrees


def test_many_inputs_are_counted() -> None:
    rows = []
    for x in ([1, 2, 4], [4, 2, 1], [1, 4, 2], [0, 0, 0.4]):
        found = minilite.compare(scored((0, 0, 0)), scored((0, 0, 2.5)), np.float32([x]))
        rows.append(found.rows)
    (tally,) = tallies(rows, threshold=2.0)
    assert (tally.inputs, tally.largest, tally.classes, tally.decisions) == (4, pytest.approx(2.5), (2,), (1, 3))
    names = ["a", "b", "c", "d"]
    (line,) = outcome_lines([tally], 2.0, names)
    assert line.startswith(
        "output 'sum' over 4 inputs: greatest error 2.5, the greatest class differs in 1 (25 %, first in c)"
    )
    assert line.endswith(", a decision at 2 differs in 2 (50 %, first in b)")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    Path("a.tflite").write_bytes(scored((0, 0, 0)))
    Path("b.tflite").write_bytes(scored((0, 0, 2.5)))
    Path("in").mkdir()
    for name, x in (("p", [1, 2, 4]), ("q", [1, 4, 2]), (".hidden", [0, 0, 0])):
        np.save(Path("in", f"{name}.npy"), np.float32([x]))
    return tmp_path


def test_the_command_goes_through_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "a.tflite", "b.tflite", "--inputs", "in", "--threshold", "4.1"]) == 0
    text = capsys.readouterr().out.splitlines()
    assert text[2] == "inputs: 2 files of in"
    assert "the greatest class differs in 1 (50 %, first in q.npy), a decision at 4.1 differs in 2 (100 %" in text[3]
    assert main(["compare", "a.tflite", "b.tflite", "--inputs", "in", "--tolerance", "0.1", "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["outputs"][0]["other_class"] == ["q.npy"]
    assert facts["diverging"] == ["p.npy", "q.npy"]
    assert facts["other_objects"] is None
    for wrong, text_ in (
        (["--inputs", "none"], "--inputs none: must be a folder"),
        (["--threshold", "1"], "--threshold 1: goes with --inputs FOLDER"),
    ):
        assert main(["compare", "a.tflite", "b.tflite", *wrong]) == 2
        assert text_ in capsys.readouterr().err
    Path("empty").mkdir()
    assert main(["compare", "a.tflite", "b.tflite", "--inputs", "empty"]) == 2


def test_objects_differ_by_class_and_place() -> None:
    one = (3, 0.9, (0.0, 0.0, 0.5, 0.5))
    moved, away = (3, 0.8, (0.0, 0.0, 0.5, 0.6)), (3, 0.9, (0.5, 0.5, 1.0, 1.0))
    assert compare_inputs._same([one], [moved])
    assert not compare_inputs._same([one], [away])
    assert not compare_inputs._same([one], [one, moved])
    assert not compare_inputs._same([one], [(4, *one[1:])])
    assert compare_inputs._same([one, away], [away, one])
    assert compare_inputs._same([], [])


def test_arrays_made_elsewhere(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.float32([[1, 2, 4]])
    Path("out").mkdir()
    np.save("out/sum.npy", x + np.float32([[0, 0, 1]]))
    assert lines("a.tflite", "out", x) == ["output 'sum': greatest error 1, the greatest class is the same"]
    Path("out/sum.npy").rename("out/other.npy")
    assert lines("a.tflite", "out", x) == ["output 'sum': greatest error 1, the greatest class is the same"]
    np.save("out/more.npy", x)
    with pytest.raises(
        InputError, match=r"out has more, other, none of which is named as a tensor is: the outputs are sum"
    ):
        minilite.compare("a.tflite", "out", x)
    np.save("x.npy", x)
    assert main(["run", "b.tflite", "x.npy", "--out", "made"]) == 0
    assert main(["compare", "a.tflite", "made", "x.npy"]) == 0
    assert "greatest error 2.5" in capsys.readouterr().out


def onnx_model(path: Path, perm: bool) -> None:
    """Doubles a picture; with `perm`, channels come first."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    shape = [1, 3, 4, 5] if perm else [1, 4, 5, 3]
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in ("in", "out")]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["in", "in"], ["out"])], "g", ends[:1], ends[1:])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(made.SerializeToString())


@pytest.mark.parametrize("perm", [False, True])
def test_onnx_models(perm: bool, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx_model(Path("m.onnx"), perm)
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 4, 5, 3))
    graph.output(graph.node("ADD", [x, x], out=("y", (1, 4, 5, 3))))
    Path("m.tflite").write_bytes(builder.build())
    found = minilite.compare("m.tflite", "m.onnx")
    assert found.labels[1].startswith("onnxruntime ")
    assert [row.difference.largest for row in found.rows if row.is_output and row.difference] == [0.0]
    assert main(["compare", "m.tflite", "m.onnx"]) == 0
    assert "all of them are equal" in capsys.readouterr().out
    Path("bad.onnx").write_bytes(b"no")
    with pytest.raises(InputError, match=r"onnxruntime could not load 'bad\.onnx'"):
        minilite.compare("m.tflite", "bad.onnx")
    with pytest.raises(InputError, match=r"onnxruntime could not run|does not fit the ONNX model's"):
        minilite.compare("a.tflite", "m.onnx")
