"""--fast-convolutions of the commands that run models."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest

from minilite import Interpreter
from minilite.cli import main
from minilite.format.builder import ModelBuilder


@pytest.fixture(autouse=True)
def model(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A convolution of floats, as m.tflite in the folder where commands run, and an input for it."""
    rng, builder = np.random.default_rng(0), ModelBuilder()
    graph = builder.subgraph()
    weights = graph.constant("w", rng.normal(size=(32, 3, 3, 32)).astype(np.float32))
    x = graph.input("x", (1, 16, 16, 32))
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    graph.output(graph.node("CONV_2D", [x, weights, -1], out=("y", (1, 16, 16, 32)), options=options))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    pathlib.Path("m.tflite").write_bytes(builder.build())
    np.save("x.npy", rng.normal(size=(1, 16, 16, 32)).astype(np.float32))
    return builder.build()


def facts(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_run_gives_what_the_option_of_an_interpreter_gives(model: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    made = []
    for more in ([], ["--fast-convolutions"]):
        assert main(["run", "m.tflite", "x.npy", "--out", "y.npy", *more]) == 0
        made.append(np.load("y.npy"))
    capsys.readouterr()
    for result, fast in zip(made, (False, True), strict=True):
        wanted = Interpreter(model_content=model, fast_convolutions=fast).run({"x": np.load("x.npy")})
        np.testing.assert_array_equal(result, next(iter(wanted.values())))
    assert not np.array_equal(*made)


def test_profile_names_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    for more, wanted in ((["--fast-convolutions"], True), ([], False)):
        text = json.dumps(facts(capsys, "profile", "m.tflite", "--runs", "2", *more))
        assert ("Winograd's tiles of 4 x 4" in text) == wanted


def test_compare_says_that_results_are_near(capsys: pytest.CaptureFixture[str]) -> None:
    against = ("compare", "m.tflite", "x.npy", "--against", "reference", "--fast-convolutions")
    assert main([*against, "--tolerance", "0.001"]) == 0
    assert "fast convolutions" in capsys.readouterr().out
    assert main([*against, "--tolerance", "0"]) == 1
    capsys.readouterr()


def test_what_it_does_not_go_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--fast-convolutions"]) == 2
    assert "--fast-convolutions goes with a MODEL" in capsys.readouterr().err
    assert main(["run", "m.tflite", "x.npy", "--record", "r.npz", "--fast-convolutions"]) == 0
    capsys.readouterr()
    assert main(["compare", "r.npz", "m.tflite", "--fast-convolutions"]) == 2
    assert "a recording goes with its model alone" in capsys.readouterr().err


def test_recordings_keep_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "m.tflite", "x.npy", "--record", "r.npz", "--fast-convolutions"]) == 0
    assert main(["replay", "r.npz", "m.tflite", "--tolerance", "0"]) == 0
    capsys.readouterr()
