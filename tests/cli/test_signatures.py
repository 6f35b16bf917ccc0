"""--signature and --state: every command takes any entry point of a file, and says which others there are."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minilite
from minilite.cli import main
from minilite.errors import ModelFormatError
from minilite.format.builder import ModelBuilder
from minilite.format.reader import read_model
from minilite.memory import offline

TRAINER = Path(__file__).resolve().parents[2] / "docs" / "gallery" / "train_on_device.py"
DIGITS = Path(minilite.__file__).with_name("data") / "digits.tflite"
OTHERS = "signature train; others, by --signature: infer, save, restore"


@pytest.fixture(scope="module")
def trainer() -> dict[str, Any]:
    """The names in the program of the gallery: its model's `build`, its `x` and `classes`."""
    return runpy.run_path(str(TRAINER))


@pytest.fixture
def folder(trainer: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "m.tflite").write_bytes(trainer["build"]())
    np.save(tmp_path / "x.npy", trainer["x"])
    np.save(tmp_path / "wanted.npy", np.eye(3, dtype=np.float32)[trainer["classes"]])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(line: str, capsys: pytest.CaptureFixture[str], status: int = 0) -> str:
    """Returns the text that a command prints on both streams."""
    capsys.readouterr()
    assert main(line.split()) == status
    printed = capsys.readouterr()
    return printed.out + printed.err


def test_a_model_is_trained_saved_and_restored_by_commands(
    folder: Path, trainer: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    told("run m.tflite --signature train x=x.npy wanted=wanted.npy --repeat 20 --state trained", capsys)
    told("run m.tflite --signature save --state trained --out w.npz", capsys)
    told("run m.tflite --signature restore w.npz --state restored", capsys)
    told("run m.tflite x.npy --state restored --out y.npy", capsys)
    assert np.load("y.npy").argmax(1).tolist() == trainer["classes"].tolist()
    told("run m.tflite x.npy --out first.npy", capsys)
    assert np.unique(np.load("first.npy")).size == 1  # without the state, weights are zero
    again = minilite.Interpreter("m.tflite")
    for _ in range(20):
        again.get_signature_runner("train")(x=np.load("x.npy"), wanted=np.load("wanted.npy"))
    assert np.array_equal(again.get_signature_runner("save")()["w"], np.load("w.npz")["w"])


@pytest.mark.parametrize(
    "line",
    [
        "run m.tflite",
        "profile m.tflite --runs 2",
        "plan m.tflite",
        "compare m.tflite --against scalar",
        "run m.tflite --record r.npz",
    ],
)
def test_commands_take_a_signature_and_name_the_others(
    line: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = told(f"{line} --signature train", capsys)
    assert OTHERS in text
    assert "signature infer; others, by --signature: train, save, restore" in told(line, capsys)
    if line.startswith(("profile", "compare")):
        assert "BATCH_MATMUL" in text
        assert "BATCH_MATMUL" not in told(line, capsys)
    refused = told(f"{line} --signature fit", capsys, 1)
    assert refused.count("\n") == 1
    assert '"fit". The model has infer, train, save, restore' in refused


def test_one_signature_has_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--signature" not in told(f"run {DIGITS}", capsys)


def test_names_are_those_of_the_signature(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output of `train` is called loss by the signature and the tensor, its input x by both; `save` gives w."""
    assert "output  w     3x4" in told("run m.tflite --signature save", capsys)
    told("run m.tflite --signature train x=x.npy wanted=wanted.npy --out out", capsys)
    assert [path.name for path in Path("out").iterdir()] == ["loss.npy"]
    refused = told("run m.tflite --signature train q=x.npy", capsys, 2)
    assert "the model's inputs are x, wanted" in refused


def test_inspect_shows_all_subgraphs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = told("inspect m.tflite", capsys)
    for number, name in enumerate(("infer", "train", "save", "restore", "first")):
        assert f"subgraph {number} '{name}'" in text
    assert "subgraph 1 'train', signature train; as in the file, --signature train plans it" in text
    text = told("inspect m.tflite --signature train", capsys)
    assert "frame 0: subgraph 1 'train'" in text
    assert "subgraph 0 'infer', signature infer; as in the file, --signature infer plans it" in text


def test_replay_compares_the_runs_of_a_signature(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    interpreter = minilite.Interpreter("m.tflite")
    with interpreter.recording("r.npz"):
        for key in ("train", "save"):
            runner = interpreter.get_signature_runner(key)
            runner(**{name: np.ones(each["shape"], each["dtype"]) for name, each in runner.get_input_details().items()})
    assert "2 tensors compared" in told("replay r.npz m.tflite", capsys)
    text = told("replay r.npz m.tflite --signature save", capsys)
    assert "1 tensor compared" in text
    assert "READ_VARIABLE" in text
    assert "'r.npz' has no run of the signature 'infer'" in told("replay r.npz m.tflite --signature infer", capsys, 1)


def test_a_report_is_of_the_signature(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for key, has in (("train", True), ("infer", False)):
        told(f"report m.tflite --signature {key} --runs 0 -o out.html", capsys)
        assert ("BATCH_MATMUL" in Path("out.html").read_text()) is has


def test_a_signature_is_measured(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = told("bench m.tflite --signature train --runs 2", capsys)
    assert "m.tflite: 1x4, 1x3, 2 runs" in printed
    assert "signature train; others, by --signature: infer, " in printed
    assert "m.tflite: 5x4, 2 runs" in told("bench m.tflite --signature infer --runs 2 --shape 5,4", capsys)
    refused = told("bench m.tflite --signature infer --runs 2 --against litert", capsys, 1)
    assert "signature 'infer' cannot be measured beside LiteRT" in refused


@pytest.mark.parametrize(
    "line",
    [
        "plan m.tflite --for tflm",
        "plan m.tflite --memory a=1M",
        "inspect m.tflite --memory a=1M",
        "plan m.tflite --write-offline o.tflite",
    ],
)
def test_what_is_of_subgraph_0_alone_refuses_a_signature(
    line: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "signature" in told(f"{line} --signature train", capsys, 2)


def test_a_state_that_is_none_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("kept").write_bytes(b"no state")
    assert "minilite: --state kept: the snapshot is damaged" in told("run m.tflite --state kept", capsys, 1)
    assert Path("kept").read_bytes() == b"no state"
    assert "would be written over" in told("run m.tflite x.npy --state x.npy", capsys, 2)


def test_an_interpreter_speaks_of_its_signature(folder: Path) -> None:
    """All calls of a chosen signature give what a SignatureRunner gives; copies keep the choice."""
    x, wanted = np.load("x.npy"), np.load("wanted.npy")
    runner = minilite.Interpreter("m.tflite").get_signature_runner("train")
    losses = [float(runner(x=x, wanted=wanted)["loss"]) for _ in range(3)]
    one = minilite.Interpreter("m.tflite", signature="train")
    assert [each["name"] for each in one.get_input_details()] == ["x", "wanted"]
    found = [float(one.run(x, wanted)["loss"]) for _ in range(2)]
    copied = one.__deepcopy__({})
    copied.allocate_tensors()
    copied.set_tensor("x", x)
    copied.set_tensor("wanted", wanted)
    copied.invoke()
    assert [*found, float(copied.get_tensor("loss"))] == losses
    assert [node["op_name"] for node in one.get_ops_details()][-1] == "MEAN"
    assert one.get_tensor_details()[-1]["name"] == "loss"
    assert one.run(until="logits", since={"x": x, "wanted": wanted})["logits"].shape == (30, 3)
    with pytest.raises(minilite.InputError, match="Invalid signature_key"):
        minilite.Interpreter("m.tflite", signature="fit")
    with pytest.raises(TypeError, match="signature is of type int"):
        minilite.Interpreter("m.tflite", signature=3)  # type: ignore[arg-type]


def _broken(**changed: Any) -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1,))
    graph.output(graph.node("NEG", [x], out=("y", (1,))))
    builder.signature("good", {"x": 0}, {"y": 1})
    builder.signature("bad", changed.get("inputs", {"x": 0}), {"y": 1}, changed.get("subgraph", 0))
    return builder.build()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (_broken(inputs={"x": 2}), "TensorMap.tensor_index of 'x' is 2, the subgraph has 2 tensors"),
        (_broken(subgraph=1), "SignatureDef.subgraph_index is 1, the model has 1 subgraphs"),
    ],
    ids=["tensor", "subgraph"],
)
def test_a_broken_signature_is_refused_only_when_it_is_used(
    data: bytes, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreter = minilite.Interpreter(data)
    assert interpreter.run(np.ones(1, np.float32))["y"].tolist() == [-1]
    assert interpreter.get_signature_runner("good")(x=np.ones(1, np.float32))["y"].tolist() == [-1]
    assert list(interpreter.get_signature_list()) == ["good", "bad"]
    message = rf"signature 1 \('bad'\): {why}"
    for use in (
        lambda: interpreter.get_signature_runner("bad"),
        lambda: minilite.Interpreter(data, signature="bad"),
        lambda: minilite.Predictor(data, "bad"),
    ):
        with pytest.raises(ModelFormatError, match=message):
            use()
    monkeypatch.chdir(tmp_path)
    Path("m.tflite").write_bytes(data)
    assert f"signature bad: signature 1 ('bad'): {why}" in " ".join(told("inspect m.tflite", capsys).split())
    told("inspect --check m.tflite", capsys)
    told("report m.tflite --runs 0 -o out.html", capsys)
    assert why in told("run m.tflite --signature bad", capsys, 1)
    assert read_model(offline.write_offline(data)[0]).signatures[1].broken


def test_a_key_given_twice_is_the_first_as_in_litert() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1,))
    graph.output(graph.node("NEG", [x], out=("y", (1,))))
    for name in ("x", "again"):
        builder.signature("one", {name: 0}, {"y": 1})
    runner = minilite.Interpreter(builder.build()).get_signature_runner()
    assert list(runner.get_input_details()) == ["x"]
