"""minilite bench: every step is measured as often as it should be, in turns; steps that cannot be measured are
named."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import peer

from minilite.cli import main
from minilite.comparison import bench as module
from minilite.comparison.bench import ROUNDS, bench, bench_facts
from minilite.engine.sizes import other_sizes
from minilite.errors import InputError, ShapeError
from minilite.format.builder import ModelBuilder
from minilite.format.reader import load_model
from minilite.interpreter import Interpreter

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
    """Returns a model that takes no other size than the file's."""
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
    monkeypatch.setattr(module, "_peak", lambda *_: 7)
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


def test_models_of_one_size_are_not_resized(fixed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_peak", lambda *_: None)
    found = bench(fixed, arrays={1: X[0]}, runs=1)
    assert list(found.samples) == STEPS[:4]
    assert found.notes == ("resizing was not measured: the model takes no other size of its inputs",)
    found = bench(fixed, arrays={1: X[0]}, runs=1, axis="batch")
    assert found.notes == ("resizing was not measured: the model takes no other batch of its inputs",)
    with pytest.raises(InputError, match="no input has a side"):
        bench(fixed, arrays={1: X[0]}, runs=1, axis="side")


@pytest.fixture
def classifier(tmp_path: Path) -> str:
    """Images of any side; a constant shape at the end says that the batch is 1."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    axes = graph.constant("axes", np.array([1, 2], np.int32))
    mean = graph.node("MEAN", [graph.input("image", (1, 8, 6, 3)), axes], out=("mean", (1, 1, 1, 3)))
    scores = graph.constant("shape", np.array([1, 3], np.int32))
    graph.output(graph.node("RESHAPE", [mean, scores], out=("scores", (1, 3))))
    path = tmp_path / "classifier.tflite"
    path.write_bytes(builder.build())
    return str(path)


def test_where_no_other_batch_is_taken_sides_are_resized(classifier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_peak", lambda *_: None)
    (index,) = Interpreter(classifier).model.subgraphs[0].inputs
    arrays = {index: np.ones((1, 8, 6, 3), np.float32)}
    found = bench(classifier, arrays=arrays, runs=1)
    assert (list(found.samples), found.notes) == (STEPS, ())
    assert [shapes[index] for shapes in found.sizes] == [(1, 8 + n, round((8 + n) * 6 / 8), 3) for n in range(1, 11)]
    assert bench(classifier, arrays=arrays, runs=1, axis="batch").sizes == []


SIZES_TAKEN = {
    "every size": (lambda size: True, range(41, 51)),
    "multiples of 8": (lambda size: size % 8 == 0, range(48, 121, 8)),
    "up to a limit": (lambda size: size <= 43, [41, 42, 43, *range(39, 32, -1)]),
    "smaller ones alone": (lambda size: 36 < size <= 40, [39, 38, 37]),
    "one other": (lambda size: size in (40, 41), []),
    "none": (lambda size: False, []),
}


@pytest.mark.parametrize("kind", SIZES_TAKEN)
def test_sizes_beside_the_present_one_are_those_that_the_model_takes(kind: str) -> None:
    taken, expected = SIZES_TAKEN[kind]
    builder = ModelBuilder()
    main = builder.subgraph()
    main.output(main.node("RELU", [main.input("x", (1, 40, 2))], out=("y", (1, 40, 2))))
    graph = load_model(builder.build()).subgraphs[0]

    def plan_for(shapes: dict[int, tuple[int, ...]]) -> Any:
        if shapes[0][0] != 1 or not taken(shapes[0][1]):
            message = "refused"
            raise ShapeError(message)
        return SimpleNamespace(arena_bytes=64, lower_bound=64, input_bytes=0)

    found = other_sizes(plan_for, graph, {0: (1, 40, 2)}, 10)
    assert [shapes[0] for shapes in found] == [(1, size, 2) for size in expected]


@pytest.mark.skipif(module._memory("VmHWM") is None, reason="the system does not say how much memory a process has")
@pytest.mark.parametrize("length", [16, 1 << 24])
def test_memory_is_that_of_the_given_shapes(length: int, tmp_path: Path) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.node("TANH", [graph.input("x", (1 << 12,))], out=("y", (1 << 12,))))
    path = tmp_path / "m.tflite"
    path.write_bytes(builder.build())
    (peak,) = bench(str(path), arrays={0: np.zeros(length, np.float32)}, runs=1).peak_bytes
    assert peak is not None
    assert 4 * length <= peak < 4 * 2 * length + (16 << 20)


def test_without_litert_and_with_a_broken_child_it_says_so(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="failed in a process of its own"):
        module._peak(module.Runtime("minilite", lambda: None, ("-c", "raise SystemExit('no')")), {})
    monkeypatch.setattr("minilite.comparison.litert_process.PACKAGES", {"no_such_package": "none"})
    with pytest.raises(InputError, match="LiteRT is not installed"):
        bench(model, arrays=X, litert=True)


@peer.needed
def test_the_command(model: str, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_peak", lambda *_: 3 << 20)
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["bench", model, "--runs", "2", "--against", "litert", "--shape", "4,3"]) == 0
    printed = capsys.readouterr().out
    assert "m.tflite: 4x3, 2 runs, 1 thread, level " in printed
    rows = "load", "allocate", "first run", "run", "resize new", "resize seen", "memory"
    assert all(f"\n  {row} " in printed for row in rows)
    assert max(map(len, printed.splitlines())) <= 60
    assert main(["bench", model, "--runs", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 2
