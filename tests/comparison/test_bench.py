"""minilite bench: every step is measured as often as it should be, in turns; steps that cannot be measured are
named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import peer

from minilite.cli import main
from minilite.comparison import bench as module
from minilite.comparison.bench import ROUNDS, bench, bench_facts
from minilite.errors import InputError
from minilite.format.builder import ModelBuilder

STEPS = ["load", "allocate", "first_run", "run", "resize_new", "resize_seen"]


@pytest.fixture
def model(tmp_path: Path) -> str:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.node("TANH", [graph.input("x", (2, 3))], out=("y", (2, 3))))
    path = tmp_path / "m.tflite"
    path.write_bytes(builder.build())
    return str(path)


@pytest.fixture
def fixed(tmp_path: Path) -> str:
    """A model that takes no other size."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    constant = graph.constant("c", np.ones((2, 3), np.float32))
    graph.output(
        graph.node("CONCATENATION", [graph.input("x", (2, 3)), constant], out=("y", (4, 3)), options={"axis": 0})
    )
    graph.output(graph.node("ADD", [1, constant], out=("z", (2, 3))))
    path = tmp_path / "fixed.tflite"
    path.write_bytes(builder.build())
    return str(path)


X = {0: np.ones((2, 3), np.float32)}


@peer.needed
def test_every_step_is_measured_in_turns(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_peak", lambda runtime: 7)
    found = bench(model, arrays=X, litert=True, runs=4)
    assert found.names[0] == "minilite"
    assert found.names[1].startswith("ai-edge-litert ")
    lengths = {step: [len(each) for each in samples] for step, samples in found.samples.items()}
    rounds = {"run": 4, "resize_seen": 2 * ROUNDS}
    assert lengths == {step: [rounds.get(step, ROUNDS)] * 2 for step in STEPS}
    assert len({tuple(sorted(shapes.items())) for shapes in found.sizes}) == ROUNDS  # new ones each time
    facts = bench_facts(found)
    for step in STEPS:
        ours, theirs = found.samples[step]
        assert facts["ratios"][step]["median"] == np.median(theirs / ours)
        assert facts["runtimes"][0]["steps"][step]["median"] == np.median(ours)
    assert (found.notes, found.peak_bytes) == ((), (7, 7))


def test_calls_take_turns() -> None:
    calls: list[str] = []
    module._in_turn([lambda: calls.append("a"), lambda: calls.append("b")], range(4))
    assert "".join(calls) == "abbaabba"


def test_alone_there_is_no_ratio(model: str) -> None:
    found = bench(model, arrays=X, runs=1)
    assert found.names == ("minilite",)
    assert found.ratio("run") is None
    assert bench_facts(found)["ratios"] == {}
    (peak,) = found.peak_bytes
    assert peak is None or 0 <= peak < 1 << 28


def test_what_takes_one_size_alone_is_not_resized(fixed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_peak", lambda runtime: None)
    found = bench(fixed, arrays={1: X[0]}, runs=1)
    assert list(found.samples) == STEPS[:4]
    assert found.notes == ("resizing was not measured: the model takes no larger size of its first input",)


def test_without_litert_and_with_a_broken_child_it_says_so(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="failed in a process of its own"):
        module._peak(module.Runtime("minilite", lambda: None, ("-c", "raise SystemExit('no')")))
    monkeypatch.setattr("minilite.comparison.litert_process.PACKAGES", {"no_such_package": "none"})
    with pytest.raises(InputError, match="LiteRT is not installed"):
        bench(model, arrays=X, litert=True)


@peer.needed
def test_the_command(model: str, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_peak", lambda runtime: 3 << 20)
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["bench", model, "--runs", "2", "--against", "litert", "--shape", "4,3"]) == 0
    printed = capsys.readouterr().out
    assert "m.tflite: 4x3, 2 runs, 1 thread, level " in printed
    rows = "load", "allocate", "first run", "run", "resize new", "resize seen", "memory"
    assert all(f"\n  {row} " in printed for row in rows)
    assert max(map(len, printed.splitlines())) <= 60
    assert main(["bench", model, "--runs", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 2
