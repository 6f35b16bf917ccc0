"""minilite tile: files within a budget, refusals, and what is printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.compare import run_minilite

import minilite
from minilite.cli import main
from minilite.format.builder import ModelBuilder

SAME = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three convolutions, whose middle tensors are large."""
    monkeypatch.chdir(tmp_path)
    rng, builder = np.random.default_rng(0), ModelBuilder()
    g = builder.subgraph()
    x = g.input("x", (1, 32, 32, 2))
    for number, (channels, depth) in enumerate(((24, 2), (24, 24), (2, 24))):
        w = g.constant(f"w{number}", rng.normal(size=(channels, 3, 3, depth)).astype(np.float32))
        x = g.node("CONV_2D", [x, w], out=(f"y{number}", (1, 32, 32, channels)), options=SAME)
    g.output(x)
    Path("m.tflite").write_bytes(builder.build())
    return tmp_path / "m.tflite"


def arena(path: str | Path) -> int:
    interpreter = minilite.Interpreter(str(path))
    interpreter.allocate_tensors()
    assert interpreter.plan is not None
    return interpreter.plan.arena_bytes


def tile(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["tile", "m.tflite", "o.tflite", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_file_fits_and_computes_the_same(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = arena(model)
    x = np.random.default_rng(1).normal(size=(1, 32, 32, 2)).astype(np.float32)
    expected = run_minilite(model.read_bytes(), [x])[0]
    for share in (0.8, 0.5):
        facts = tile(capsys, "--budget", str(int(before * share)))
        assert facts["arena_bytes_before"] == before
        assert facts["arena_bytes"] == arena("o.tflite") <= facts["budget"]
        assert facts["groups"]
        assert run_minilite(Path("o.tflite").read_bytes(), [x])[0].tobytes() == expected.tobytes()


def test_a_model_that_fits_is_copied(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tile(capsys, "--budget", "1MB")["groups"] == []
    assert Path("o.tflite").read_bytes() == model.read_bytes()
    assert main(["tile", "m.tflite", "o.tflite", "--budget", "1MB"]) == 0
    assert "which fits: o.tflite is a copy" in capsys.readouterr().out


def test_the_text_names_the_nodes(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tile", "m.tflite", "o.tflite", "--budget", "150kB"]) == 0
    out = capsys.readouterr().out
    assert "nodes  tiles  live bytes  more work" in out
    assert out.endswith("wrote o.tflite\n")


def test_a_budget_that_no_tiles_reach(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tile", "m.tflite", "o.tflite", "--budget", "10kB"]) == 1
    message = capsys.readouterr().err
    assert f"m.tflite takes {arena(model)} bytes, the smallest that tiles reach is" in message
    smallest = int(message.split(" tiles reach is ")[1].split(",")[0])
    assert not Path("o.tflite").exists()
    assert tile(capsys, "--budget", str(smallest))["arena_bytes"] == smallest


def test_little_more_work(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Less work, larger arenas."""
    assert tile(capsys, "--budget", "160kB", "--most-work", "0.3")["more_work"] <= 0.3
    assert main(["tile", "m.tflite", "o.tflite", "--budget", "100kB", "--most-work", "0.01"]) == 1


def test_for_tflm(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Persistent memory grows with each node, so that less is gained."""
    plain = tile(capsys, "--budget", "1MB", "--for", "tflm")["arena_bytes_before"]
    facts = tile(capsys, "--budget", str(plain * 9 // 10), "--for", "tflm")
    assert facts["arena_bytes"] <= plain * 9 // 10
    assert main(["tile", "m.tflite", "o.tflite", "--budget", "10kB", "--for", "tflm"]) == 1
    assert "bytes in TensorFlow Lite Micro, the smallest that tiles reach is" in capsys.readouterr().err


def test_a_model_that_no_tiles_make_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    builder = ModelBuilder()
    g = builder.subgraph()
    g.output(g.node("LOGISTIC", [g.input("x", (100,))], out=("y", (100,))))
    Path("m.tflite").write_bytes(builder.build())
    assert main(["tile", "m.tflite", "o.tflite", "--budget", "100"]) == 1
    assert "and no tiles make it smaller" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m.tflite", "m.tflite", "--budget", "1MB"], "would be written over m.tflite"),
        (["m.tflite", "no/o.tflite", "--budget", "1MB"], "there is no folder 'no'"),
        (["m.tflite", "o.tflite", "--budget", "0"], "budget"),
        (["m.tflite", "o.tflite", "--budget", "some"], "takes bytes such as 8000000"),
        (["m.tflite", "o.tflite", "--budget", "1MB", "--most-work", "-1"], "takes a share of the model's work"),
        (["m.tflite", "o.tflite"], "--budget"),
    ],
)
def test_wrong_arguments(model: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = model.read_bytes()
    try:
        status: Any = main(["tile", *arguments])
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    assert message in capsys.readouterr().err
    assert model.read_bytes() == before
