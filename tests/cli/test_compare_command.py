"""minilite compare: what it prints, its exit status, and how it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from trust.compared_faults import changed_weight, weights_of

import minilite
from minilite.cli import main
from minilite.format.builder import write_model

DIGITS = Path(minilite.__file__).with_name("data") / "digits.tflite"


@pytest.fixture
def other(tmp_path: Path) -> str:
    """The digit recogniser with another weight in node 0."""
    model = minilite.load_model(DIGITS)
    node, tensor = weights_of(model, quantized=False)[0]
    assert tensor.data is not None
    changed = tensor._replace(data=tensor.data * np.float32(1.01))
    main_graph = model.subgraphs[0]
    tensors = tuple(changed if each.index == tensor.index else each for each in main_graph.tensors)
    path = tmp_path / "other.tflite"
    path.write_bytes(write_model(model._replace(subgraphs=(main_graph._replace(tensors=tensors),))))
    assert (node.index, changed_weight.__name__) == (0, "changed_weight")
    return str(path)


def test_compare_names_the_node(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(DIGITS), other]) == 0  # without a tolerance it is no check
    out = capsys.readouterr().out
    assert "first divergence: subgraph 0, node 0 (CONV_2D 'conv_1')" in out
    assert "the models differ in 1 place, first at subgraph 0, node 0" in " ".join(out.split())


def test_a_tolerance_makes_it_a_check(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(DIGITS), other, "--tolerance", "0.5"]) == 0
    assert main(["compare", "--tolerance", "0", str(DIGITS), other]) == 1
    assert main(["compare", str(DIGITS), "--tolerance", "0", "--against", "scalar", "--json"]) in (0, 1)
    shown = capsys.readouterr()
    assert shown.err == ""
    facts = json.loads(shown.out[shown.out.index("{") :])
    assert (facts["models"], facts["tolerance"]) == (["digits.tflite"] * 2, 0.0)


def test_inputs_are_read_as_by_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.ones((1, 12, 12, 1), np.float32))
    image = str(tmp_path / "x.npy")
    assert main(["compare", str(DIGITS), "--against", "scalar", image]) == 0
    first = capsys.readouterr().out
    assert main(["compare", str(DIGITS), image, "--against", "scalar"]) == 0
    assert capsys.readouterr().out == first
    assert "inputs: given" in first
    assert "1x12x12x8" in first


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 2, "takes a second model"),
        (["nowhere.tflite"], 1, "nowhere.tflite"),
        (["broken.tflite"], 1, "broken.tflite"),
        (["--against", "gpu"], 2, "there is no 'gpu' to compare with: there are litert"),
        (["--against", "scalar", "--tolerance", "-1"], 2, "takes a share"),
        (["--against", "scalar", "--tolerance", "x"], 2, "takes a share"),
        (["--against", "scalar", "no.npy"], 1, "no.npy"),
        (["--against", "scalar", "--shape", "1,2"], 1, "image"),
        (["--level", "mmx", "--against", "scalar"], 2, "this machine has no level 'mmx'"),
    ],
)
def test_compare_refuses_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: list[str], status: int, words: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    shutil.copy(DIGITS, "digits.tflite")
    Path("broken.tflite").write_bytes(DIGITS.read_bytes()[:3000])
    try:
        found = main(["compare", "digits.tflite", *arguments])
    except SystemExit as exit_:
        found = int(str(exit_.code))
    error = capsys.readouterr().err
    assert (found, error.count("\n")) == (status, 1), error
    assert words in error
