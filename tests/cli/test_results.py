"""Files and outputs of `minilite run`: labels, classes by score, real numbers, JSON."""

from __future__ import annotations

import io
import json
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from support.media import npy, npz, png, wav
from support.metadata import RGB, labelled, metadata, normalized, passing, sound, with_files

from minilite.cli import main
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

HALVES = Quantization((0.5,), (-10,))
ABOUT = metadata([{0: "image"} | RGB | normalized([100.0], [50.0])], [labelled("labels.txt")])


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Where the command runs, with room for every line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def saved(**files: bytes) -> None:
    """Files in the folder; `_` becomes the dot."""
    for name, data in files.items():
        pathlib.Path(name.replace("_", ".")).write_bytes(data)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["run", *arguments]) == 0
    return capsys.readouterr().out


def facts(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Returns the JSON that the command prints."""
    assert main([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(name))
    return found


def message(capsys: pytest.CaptureFixture[str], status: int, *arguments: str) -> str:
    """The one line of a command that ends in this status."""
    assert main(["run", *arguments]) == status
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_classes_are_ranked_with_the_models_labels(capsys: pytest.CaptureFixture[str]) -> None:
    saved(
        m_tflite=with_files(passing((1, 2, 2, 3), about=ABOUT), {"labels.txt": "\n".join("abcdefghijkl")}),
        cat_png=png(np.array([[[10, 20, 30], [255, 0, 100]], [[0, 0, 0], [0, 0, 0]]], np.uint8)),
    )
    out = printed(capsys, "m.tflite", "cat.png", "--top", "2").splitlines()
    assert "input 'x': 2x2 RGB, (x - 100) / 50" in out
    at = out.index("top 2 of the 12 classes of 'y'")
    assert [line.split() for line in out[at + 1 : at + 4]] == [
        ["class", "label", "score"],
        ["3", "d", "3.1"],
        ["5", "f", "0"],
    ]
    assert "top 5 of the 12 classes" in printed(capsys, "m.tflite", "cat.png")
    found = facts(capsys, "run", "m.tflite", "cat.png", "--top", "1")
    assert found["outputs"][0]["top"] == [[{"class": 3, "label": "d", "score": pytest.approx(3.1)}]]
    assert found["inputs"][0]["given"] is True


def test_labels_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    saved(
        m_tflite=passing((2, 3), TensorType.INT8, HALVES),
        x_npy=npy(np.int8([[-10, -8, -9], [4, 5, 6]])),
        names_txt=b"zero\none\ntwo\nthree\nfour\nfive\n",
        few_txt=b"zero\none\n",
    )
    assert "top" not in printed(capsys, "m.tflite", "x.npy")
    out = printed(capsys, "m.tflite", "x.npy", "--labels", "names.txt", "--top", "3").splitlines()
    assert [line.split() for line in out if "five" in line or "zero" in line] == [["5", "five", "8"]]
    assert "few.txt has 2 labels, no output has as many classes: 'y' 1x6" in message(
        capsys, 1, "m.tflite", "x.npy", "--labels", "few.txt"
    )
    saved(picture_txt=png(np.zeros((2, 2, 3), np.uint8)))
    assert "picture.txt holds no labels, which are text, one per line: it looks like an image" in message(
        capsys, 1, "m.tflite", "--labels", "picture.txt"
    )
    assert "could not open 'absent.txt'" in message(capsys, 1, "m.tflite", "--labels", "absent.txt")


def test_outputs_go_where_the_name_says(capsys: pytest.CaptureFixture[str], folder: pathlib.Path) -> None:
    """All outputs go into one .npz, whatever their names. Several into one .npy, or into a missing folder, is refused
    before anything runs."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (2,))
    for number, name in enumerate(("file", "a/b", "a:b")):
        graph.output(graph.node("MUL", [x, graph.constant(f"c{number}", np.float32([number]))], out=(name, (2,))))
    saved(m_tflite=builder.build(), x_npy=npy(np.float32([1, 2])))
    printed(capsys, "m.tflite", "x.npy", "--out", "all.npz")
    with np.load("all.npz") as found:
        assert {name: found[name].tolist() for name in found} == {"file": [0, 0], "a_b": [1, 2], "a_b_1": [2, 4]}
    refused = message(capsys, 2, "m.tflite", "x.npy", "--out", "one.npy")
    assert "--out one.npy is one array, the model has 3 outputs: give a folder or a .npz" in refused
    assert "there is no folder 'absent'" in message(capsys, 2, "m.tflite", "--out", "absent/all.npz")
    (folder / "taken.npz").mkdir()
    assert "--out taken.npz: is a folder" in message(capsys, 2, "m.tflite", "--out", "taken.npz")
    assert "x.npy" not in message(capsys, 2, "m.tflite", "--out", "m.tflite")
    assert not (folder / "one.npy").exists()


def test_values_are_real_numbers_and_files_are_not(capsys: pytest.CaptureFixture[str], folder: pathlib.Path) -> None:
    saved(m_tflite=passing((1, 3), TensorType.INT8, HALVES), x_npy=npy(np.float32([[0, 1.5, -1]])))
    out = printed(capsys, "m.tflite", "x.npy", "--out", "out")
    assert "int8  0 1.5 -1" in out
    assert "input 'x': quantized" in out
    assert np.load(folder / "out" / "y.npy").tolist() == [[-10, -7, -12]]
    assert "wrote one.npy" in printed(capsys, "m.tflite", "x.npy", "--out", "one.npy")
    assert np.load("one.npy").tolist() == [[-10, -7, -12]]
    found = facts(capsys, "run", "m.tflite", "x.npy", "--top", "1")["outputs"][0]
    assert (found["values"], found["scale"], found["zero_point"]) == ([[0, 1.5, -1]], 0.5, -10)
    assert found["top"] == [[{"class": 1, "label": None, "score": 1.5}]]


def test_values_that_are_labels_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    about = metadata([{}], [labelled("labels.txt", 3)])
    saved(
        m_tflite=with_files(passing((1, 3), about=about), {"labels.txt": "cat\ndog\n"}),
        x_npy=npy(np.float32([[1, 0, 7]])),
        other_txt=b"Katze\nHund\n",
    )
    assert "float32  dog, cat, \n" in printed(capsys, "m.tflite", "x.npy").replace(", \n", ", \n").replace(
        "cat,\n", "cat, \n"
    )
    assert facts(capsys, "run", "m.tflite", "x.npy")["outputs"][0]["labels"] == ["dog", "cat", ""]
    assert facts(capsys, "run", "m.tflite", "x.npy", "--labels", "other.txt")["outputs"][0]["labels"][0] == "Hund"


def test_sound_is_resampled_or_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Sound is resampled to the rate that the metadata or the user states, or refused."""
    about = metadata([sound(8000, 1)], [{}])
    saved(
        m_tflite=passing((1, 4), signature=(1, -1), about=about), good_wav=wav([1, 2, 3], 8000), bad_wav=wav([1], 44100)
    )
    assert "'x': 0.000375 s of 8000 Hz" in printed(capsys, "m.tflite", "good.wav")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "soxr", None)
        assert "bad.wav has 44100 samples per second" in message(capsys, 1, "m.tflite", "bad.wav")
    pytest.importorskip("soxr")
    assert "44100 Hz, resampled to 8000 Hz" in printed(capsys, "m.tflite", "bad.wav")
    assert "8000 Hz, resampled to 16000 Hz" in printed(capsys, "m.tflite", "good.wav", "--rate", "16000")


def test_images_of_other_proportions_are_fitted(capsys: pytest.CaptureFixture[str]) -> None:
    saved(m_tflite=passing((1, 2, 2, 1)), wide_png=png(np.zeros((2, 8), np.uint8)))
    for arguments, how in (([], "stretched: scaled"), (["--fit", "crop"], "the middle"), (["--fit", "pad"], "padded")):
        assert f"'x': 8x2 L, {how}" in printed(capsys, "m.tflite", "wide.png", *arguments)


def test_broken_extras_cost_labels_alone(capsys: pytest.CaptureFixture[str]) -> None:
    saved(m_tflite=with_files(passing((1, 2)), {"../labels.txt": "a\nb"}), n_tflite=passing((1, 2), about=bytes(20)))
    for name, text in (("m.tflite", "leads out of the archive"), ("n.tflite", "identifier")):
        assert main(["run", name]) == 0
        shown = capsys.readouterr()
        assert text in shown.err
        assert shown.err.count("\n") == 1
        assert "time" in shown.out
        assert main(["inspect", name]) == 0
        assert text in capsys.readouterr().out


def two_inputs() -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, y = (graph.input(name, (1, 2), signature=(-1, 2)) for name in ("first", "second"))
    graph.output(graph.node("SUB", [x, y], out=("z", (1, 2))))
    return builder.build()


def test_several_inputs_by_name_by_order_and_from_one_archive(capsys: pytest.CaptureFixture[str]) -> None:
    one, two = np.float32([[1, 2]]), np.float32([[5, 7]])
    saved(m_tflite=two_inputs(), a_npy=npy(one), b_npy=npy(two), both_npz=npz(second=two, first=one))
    saved(some_npz=npz(first=one), odd_npz=npz(first=one, third=two))
    for given in (["a.npy", "b.npy"], ["second=b.npy", "a.npy"], ["both.npz"], ["--input", "first=a.npy", "b.npy"]):
        assert facts(capsys, "run", "m.tflite", *given)["outputs"][0]["values"] == [[-4, -5]]
    assert facts(capsys, "run", "m.tflite", "some.npz", "second=b.npy")["outputs"][0]["values"] == [[-4, -5]]
    assert "has an array 'third', the model's inputs are first, second" in message(capsys, 1, "m.tflite", "odd.npz")
    assert "b.npy: the model's inputs are first, second, and all of them" in message(
        capsys, 2, "m.tflite", "both.npz", "b.npy"
    )
    assert facts(capsys, "run", "m.tflite", "--shape", "3,2", "--shape", "second=3x2")["outputs"][0]["shape"] == [3, 2]
    assert "input 'first' is given as 3x2" not in message(capsys, 2, "m.tflite", "a.npy", "--shape", "first=3,2")


def test_files_may_follow_options(capsys: pytest.CaptureFixture[str]) -> None:
    saved(m_tflite=two_inputs(), a_npy=npy(np.float32([[1, 2]])))
    found = facts(
        capsys, "run", "--repeat", "2", "m.tflite", "--seed", "1", "a.npy", "--resolver", "reference", "a.npy"
    )
    assert found["outputs"][0]["values"] == [[0, 0]]
    assert len(found["seconds"]["runs"]) == 2


def test_shapes_that_the_model_refuses_name_the_input(capsys: pytest.CaptureFixture[str]) -> None:
    saved(m_tflite=two_inputs(), a_npy=npy(np.zeros((2, 3), np.float32)))
    assert "minilite: input 'first' is of shape (2, 3), the model's is (-1, 2): subgraph 0" in message(
        capsys, 1, "m.tflite", "a.npy"
    )


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    saved(m_tflite=two_inputs())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(npy(np.float32([[3, 4]])))))
    found = facts(capsys, "run", "m.tflite", "second=-")["inputs"]
    assert [given["given"] for given in found] == [False, True]
    assert "the standard input can only be one input" in message(capsys, 2, "m.tflite", "-", "-")


def test_json_has_no_numbers_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    saved(m_tflite=passing((1, 3)), x_npy=npy(np.float32([[np.nan, np.inf, 2]])))
    assert facts(capsys, "run", "m.tflite", "x.npy")["outputs"][0]["values"] == [[None, None, 2]]
    saved(s_tflite=passing((2,), TensorType.STRING), x_txt=b"a\n\xff\n")
    assert facts(capsys, "run", "s.tflite", "x.txt")["outputs"][0]["values"] == [["a", "\\xff"]]


def keys(found: Any) -> list[str]:
    return sorted(found)


def test_every_command_has_json_with_its_keys(capsys: pytest.CaptureFixture[str]) -> None:
    saved(m_tflite=two_inputs())
    found = facts(capsys, "inspect", "m.tflite")
    assert [node["op"] for node in found["frames"][0]["nodes"]] == ["SUB"]
    assert found["frames"][0]["tensors"][0]["shape"] == [1, 2]
    assert found["arena_bytes"] >= found["lower_bound"] > 0
    found = facts(capsys, "inspect", "--check", "m.tflite")
    assert found == {
        "model": "m.tflite",
        "supported": True,
        "operators": [{"op": "SUB", "supported": True, "reason": None, "nodes": [[0, 0]]}],
    }
    found = facts(capsys, "plan", "m.tflite", "--shape", "first=4,2")
    assert found["records"][0].items() >= {"name": "z", "bytes": 32}.items()
    assert found["input_bytes"] == 128
    found = facts(capsys, "plan", "m.tflite", "--compare")
    assert {"default", "exact"} < {each["strategy"] for each in found["strategies"]}
    found = facts(capsys, "profile", "m.tflite", "--runs", "3")
    assert (found["runs"], found["nodes"][0]["op"]) == (3, "SUB")
    found = facts(capsys, "run")
    assert keys(found["samples"][0]) == sorted(
        ["height", "width", "shows", "read", "score", "resize_seconds", "plan", "run_seconds", "arena_bytes"]
    )


def test_json_of_a_model_that_cannot_run(capsys: pytest.CaptureFixture[str]) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.node("Mystery", [graph.input("x", (2,))], out=("y", (2,)), custom=True))
    saved(m_tflite=builder.build())
    assert main(["inspect", "--json", "m.tflite"]) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["arena_bytes"] is None
    assert "Mystery" in shown.err
    assert main(["inspect", "--check", "--json", "m.tflite"]) == 1
    assert json.loads(capsys.readouterr().out)["operators"][0]["supported"] is False


def test_written_files_do_not_spoil_json(capsys: pytest.CaptureFixture[str]) -> None:
    saved(m_tflite=two_inputs())
    assert main(["run", "m.tflite", "--out", "here", "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["nodes"] == 1
    assert "wrote here/z.npy" in shown.err


def test_swapped_arguments_are_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    saved(m_tflite=two_inputs(), cat_png=png(np.zeros((2, 2), np.uint8)))
    error = message(capsys, 2, "cat.png", "m.tflite")
    assert "it looks like an image: data, not a model; the model comes first: minilite run m.tflite cat.png" in error


def test_options_are_set_and_usual_ones_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    weights = graph.constant("w", np.zeros((1, 1, 1, 1), np.float32))
    x = graph.input("x", (1, 2, 2, 1))
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 2}
    graph.output(graph.node("CONV_2D", [x, weights], out=("y", (1, 1, 2, 1)), options=options))
    saved(m_tflite=builder.build())
    assert facts(capsys, "inspect", "m.tflite")["frames"][0]["nodes"][0]["options"] == options


def test_command_as_a_process_writes_to_pipes(folder: pathlib.Path) -> None:
    saved(m_tflite=two_inputs())
    command = [sys.executable, "-m", "minilite", "run", "m.tflite", "first=-", "--json"]
    done = subprocess.run(command, input=npy(np.float32([[1, 2]])), capture_output=True, check=True, cwd=folder)
    assert json.loads(done.stdout)["inputs"][0]["given"]
    assert done.stderr == b""
