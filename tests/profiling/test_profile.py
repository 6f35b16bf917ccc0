"""Time and work by node: every node that runs is counted as often as it runs, and its multiply-adds are those of its
shapes."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import floats, integer, ready
from state.test_memory_limits import squaring_loop

from minilite import InputError, Interpreter, KernelError, StateError
from minilite._native.kernels import multiplies, multiply_adds
from minilite.cli import main
from minilite.engine.engine import engine_of
from minilite.format.builder import ModelBuilder
from minilite.profiling.profile import profile


def dense(rows: int = 5) -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (rows, 8))
    w = graph.constant("w", np.ones((3, 8), np.float32))
    y = graph.node("FULLY_CONNECTED", [x, w, -1], out=("y", (rows, 3)))
    graph.output(graph.node("RELU", [y], out=("z", (rows, 3))))
    return builder.build()


def chain(nodes: int) -> bytes:
    """Nodes that stay on the calling thread."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (4,))
    for number in range(nodes):
        x = graph.node("TANH", [x], out=(f"y{number}", (4,)))
    graph.output(x)
    return builder.build()


def test_every_node_that_runs_is_timed_as_often_as_it_runs() -> None:
    interpreter = ready(dense())
    found = interpreter.profile(3)
    assert [(n.node, n.op, n.times, n.shape, n.macs) for n in found.nodes] == [
        (0, "FULLY_CONNECTED", 1, (5, 3), 5 * 3 * 8),
        (1, "RELU", 0, (5, 3), 0),  # it is part of the node before it
    ]
    assert [n.nbytes for n in found.nodes] == [4 * (40 + 24 + 15), 0]
    assert found.nodes[0].kernel == "fully_connected float32"
    assert (found.runs, found.threads, interpreter.counters["invokes"]) == (3, 1, 4)  # one warms up


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_are_counted_for_shared_work_at_any_number_of_threads(threads: int) -> None:
    small, large = (ready(dense(rows), num_threads=threads).profile(2) for rows in (5, 1 << 15))
    assert (small.nodes[0].blocks, small.nodes[0].shared_ns, small.alone) == (0, 0, 1)
    node = large.nodes[0]
    assert node.blocks == 16
    assert 0 < node.shared_ns <= node.ns
    assert large.alone == 1 - node.shared_ns / node.ns


def test_profile_counts_nodes_of_loops_per_iteration() -> None:
    interpreter = ready(squaring_loop(5))
    interpreter.set_tensor(0, integer(0))
    interpreter.set_tensor(1, floats(1, 2, 3))
    found = interpreter.profile(2)
    times = {(n.frame, n.op): n.times for n in found.nodes}
    assert times == {(0, "WHILE"): 1, (1, "LESS"): 6, (2, "ADD"): 5, (2, "RELU"): 5}
    samples = found.timing.times[:, :, 0]
    assert (samples[:, 0] >= samples[:, 1:].sum(axis=1)).all()  # with the nodes of its subgraphs
    assert [n.op for n in found.main] == ["WHILE"]


def test_wrong_uses_leave_the_interpreter_usable() -> None:
    interpreter = ready(squaring_loop(5), max_iterations=2)
    with pytest.raises(KernelError, match="max_iterations is 2"):
        interpreter.profile(1)
    interpreter.set_tensor(0, integer(4))
    interpreter.invoke()
    with pytest.raises(InputError, match="runs is 0, must be from 1 to"):
        interpreter.profile(0)
    with pytest.raises(StateError, match="allocate_tensors"):
        Interpreter(model_content=dense()).profile(1)

    def broken() -> int:
        raise LookupError("no time")

    with pytest.raises(LookupError, match="no time"):
        profile(engine_of(interpreter).session(), 1, clock=broken)
    with pytest.raises(InputError, match="trace=True"):
        interpreter.profile(1).write_trace("unused.json")


class Clock:
    """A clock of nodes that take known times, give or take 3 %; in each of the runs in `slow` another process takes
    the core for a millisecond in one of the nodes."""

    def __init__(self, costs: list[int], slow: set[int]) -> None:
        self.costs, self.slow = costs, slow
        self.random = random.Random(1)
        self.reads = self.now = 0

    def __call__(self) -> int:
        per_run = len(self.costs) + 3  # the run begins, its frame begins, each node ends, the run ends
        run, place = divmod(self.reads, per_run)
        if place == 0 and run in self.slow:
            self.victim = 2 + self.random.randrange(len(self.costs))
        if 2 <= place < per_run - 1:
            self.now += round(self.costs[place - 2] * self.random.uniform(0.97, 1.03))
            self.now += 1_000_000 if run in self.slow and place == self.victim else 0
        self.reads += 1
        return self.now


COSTS = [40_000, 900, 12_000, 300, 5_000]


@pytest.mark.parametrize("where", ["anywhere", "one node"])
def test_medians_are_stable_if_a_fifth_of_the_runs_are_interrupted(where: str) -> None:
    runs, interpreter = 50, ready(chain(len(COSTS)))
    clocks = Clock(COSTS, set()), Clock(COSTS, set(range(0, runs, 5)))
    if where == "one node":
        clocks[1].random.randrange = lambda stop: 1  # type: ignore[method-assign]
    quiet, busy = (profile(engine_of(interpreter).session(), runs, clock=clock) for clock in clocks)
    for before, after in zip(quiet.nodes, busy.nodes, strict=True):
        assert after.ns == pytest.approx(before.ns, rel=0.1)
    means = [found.timing.times[:, :, 0].mean(axis=0) for found in (quiet, busy)]
    assert (means[1] / means[0]).max() > 10  # what the table of means would say
    assert busy.nodes_ns == pytest.approx(busy.time.median, rel=0.05)
    assert busy.time.most > 1_000_000 > busy.time.high
    for node, cost in zip(quiet.nodes, COSTS, strict=True):
        assert node.ns == pytest.approx(cost, rel=0.03)
        assert node.time.least <= node.time.low <= node.ns <= node.time.high <= node.time.most
        assert 0 < node.time.percent < 6


def test_a_node_ends_when_the_next_one_begins() -> None:
    ticks = iter(range(0, 1 << 20, 7))
    found = profile(engine_of(ready(chain(3))).session(), 2, clock=lambda: next(ticks))
    assert found.timing.times[:, :, 0].tolist() == [[7, 7, 7]] * 2
    assert found.timing.spans.tolist() == [[0, 35], [42, 77]]


# Traces ---------------------------------------------------------------------------------------------------------------


def traced(interpreter: Interpreter, path: Path, runs: int = 2) -> list[dict[str, Any]]:
    interpreter.profile(runs, trace=True).write_trace(path)
    events: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    return events


def inside(inner: dict[str, Any], outer: dict[str, Any]) -> bool:
    end, last = inner["ts"] + inner["dur"], outer["ts"] + outer["dur"]
    return bool(outer["ts"] <= inner["ts"] and end <= last + 1e-6)


def test_a_trace_has_runs_nodes_and_the_blocks_of_threads(tmp_path: Path) -> None:
    interpreter = ready(dense(1 << 15), num_threads=2)
    events = traced(interpreter, tmp_path / "out.json")
    kinds = {kind: [e for e in events if e.get("cat") == kind] for kind in ("run", "node", "block")}
    assert [e["name"] for e in kinds["run"]] == ["run 0", "run 1"]
    assert [e["name"] for e in kinds["node"]] == ["0 FULLY_CONNECTED"] * 2
    assert kinds["node"][0]["args"] == {
        "output": "y",
        "shape": "32768x3",
        "kernel": "fully_connected float32",
    }
    assert all(inside(node, run) for node, run in zip(kinds["node"], kinds["run"], strict=True))
    if not interpreter.counters["runs_alone"]:  # blocks are noted where they are given to threads
        assert len(kinds["block"]) == 2 * 16
    assert all(any(inside(block, node) for node in kinds["node"]) for block in kinds["block"])
    threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert threads[0] == "the caller's thread"
    assert {e["tid"] for e in kinds["block"]} <= set(threads) <= {0, 1}
    assert {e["tid"] for e in kinds["run"] + kinds["node"]} == {0}


def test_a_trace_that_is_full_counts_what_it_leaves_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minilite.profiling.profile.EVENTS", 5)
    interpreter = ready(chain(3))
    found = interpreter.profile(4, trace=True)
    assert (len(found.timing.events), found.timing.lost) == (5, 7)
    found.write_trace(tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["otherData"]["events_lost"] == 7


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "macs"),
    [
        ("CONV_2D", [(1, 9, 9, 4), (6, 3, 3, 4), (6,)], [(1, 7, 7, 6)], 7 * 7 * 6 * 36),
        ("CONV_2D", [(1, 9, 9, 4), (6, 3, 3, 2), (6,)], [(1, 7, 7, 6)], 7 * 7 * 6 * 18),
        ("DEPTHWISE_CONV_2D", [(1, 9, 9, 4), (1, 3, 3, 8), (8,)], [(1, 7, 7, 8)], 7 * 7 * 8 * 9),
        ("BATCH_MATMUL", [(2, 3, 4), (2, 4, 5)], [(2, 3, 5)], 2 * 3 * 4 * 5),
        ("BATCH_MATMUL", [(2, 4, 3), (1, 4, 5)], [(2, 3, 5)], 2 * 3 * 4 * 5),
        ("TRANSPOSE_CONV", [(4,), (6, 3, 3, 4), (1, 5, 5, 4)], [(1, 7, 7, 6)], 25 * 4 * 6 * 9),
        ("CONV_3D", [(1, 4, 4, 4, 2), (2, 2, 2, 2, 3)], [(1, 3, 3, 3, 3)], 27 * 3 * 16),
        ("CONV_3D_TRANSPOSE", [(5,), (2, 2, 2, 3, 4), (1, 3, 3, 3, 4)], [(1, 4, 4, 4, 3)], 27 * 4 * 8 * 3),
        ("FULLY_CONNECTED", [(5, 8), (3, 8), ()], [(5, 3)], 5 * 3 * 8),
        ("SVDF", [(2, 7), (6, 7), (6, 4), (), (2, 24)], [(2, 3)], 2 * 6 * (7 + 4)),
        ("UNIDIRECTIONAL_SEQUENCE_RNN", [(5, 2, 7), (3, 7), (3, 3), (3,), (2, 3)], [(5, 2, 3)], 10 * (21 + 9)),
        ("LSTM", [(2, 7), (2, 3), (12, 10), (12,), (2, 3)], [(2, 3)] * 4, 2 * 120),
        (
            "UNIDIRECTIONAL_SEQUENCE_LSTM",
            [(5, 2, 7), *4 * [(3, 7)], *4 * [(3, 3)], *3 * [()], *4 * [(3,)], (), (), (2, 3), (2, 3), *4 * [()]],
            [(5, 2, 3)],
            10 * 4 * (21 + 9),
        ),
        ("CONV_2D", [(2**31 - 1,) * 4] * 2, [(2**31 - 1,) * 4], 2**63 - 1),  # does not fit
        ("SVDF", [(1, 1), *2 * [(2**31 - 1,) * 4]], [(1, 1)], 2**63 - 1),
        ("UNIDIRECTIONAL_SEQUENCE_RNN", [(1, 1, 1), *3 * [(2**31 - 1,) * 2]], [(1, 1, 1)], 2**63 - 1),
        ("CONV_2D", [], [], 0),  # a file may say so
        ("CONV_2D", [(1,) * 9] * 2, [(1,) * 9], None),  # more dimensions than the core has
        ("RELU", [(4,)], [(4,)], None),
        ("of nobody", [(4,)], [(4,)], None),
    ],
)
def test_multiply_adds(op: str, inputs: Any, outputs: Any, macs: int | None) -> None:
    assert multiply_adds(op, inputs, outputs, custom=False) == macs
    assert multiplies(op, custom=False) == (op not in ("RELU", "of nobody"))


def test_multiply_adds_of_attention() -> None:
    q, k, v, y = (1, 5, 4, 8), (1, 9, 2, 8), (1, 9, 2, 6), (1, 5, 4, 6)
    op = "odml.scaled_dot_product_attention"
    assert multiply_adds(op, [q, k, v, ()], [y], custom=True) == 5 * 4 * 9 * (8 + 6)
    assert multiply_adds(op, [q, k, v, ()], [y], custom=False) is None
    wide = (1, 1, 1, 2**31 - 1)
    assert multiply_adds(op, [wide, (1, 2**31 - 1, 1, 1), wide, ()], [wide], custom=True) == 2 * (2**31 - 1) ** 2


def test_the_text_names_every_node_and_the_peak() -> None:
    found = ready(dense()).profile(2)
    text = str(found)
    assert re.search(r"^ +0 +FULLY_CONNECTED +5x3 .* fully_connected float32$", text, re.MULTILINE)
    assert re.search(r"^ +1 +RELU +5x3 .* part of 0$", text, re.MULTILINE)
    assert re.search(r"nodes .*, [0-9]+ multiply-adds$", text, re.MULTILINE)
    assert f"level {found.level}: " in text
    for width in (60, 80, 100):
        assert max(map(len, found.text(width).splitlines())) <= width
        assert "fully_connected float32" in found.text(width)  # kernels are named in full


def test_the_command(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")  # in narrow tables shapes are left out
    path = tmp_path / "dense.tflite"
    path.write_bytes(dense())
    np.save(tmp_path / "x.npy", np.ones((7, 8), np.float32))
    line = ["profile", str(path), str(tmp_path / "x.npy"), "--runs", "2", "--trace", str(tmp_path / "t.json")]
    assert main(line) == 0
    printed = capsys.readouterr().out
    assert "dense.tflite: 2 runs, 1 thread, level " in printed
    assert "7x3" in printed
    assert f"wrote {tmp_path / 't.json'}" in printed
    assert len(json.loads((tmp_path / "t.json").read_text())["traceEvents"]) == 2 + 2 + 2
    assert main(["profile", str(path), "--trace", str(tmp_path / "none" / "t.json")]) == 2
    assert "there is no folder" in capsys.readouterr().err
