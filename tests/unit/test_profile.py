"""Time and work by node: every node that runs is counted as often as it runs, and its multiply-adds are those of its
shapes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import floats, integer, ready
from test_limits import squaring_loop

from minilite import KernelError
from minilite.cli import main
from minilite.format.builder import ModelBuilder
from minilite.report.profile import NodeTime, Peaks, alone, node_times, profile
from minilite.report.work import multiplications


def dense(rows: int = 5) -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (rows, 8))
    w = graph.constant("w", np.ones((3, 8), np.float32))
    y = graph.node("FULLY_CONNECTED", [x, w, -1], out=("y", (rows, 3)))
    graph.output(graph.node("RELU", [y], out=("z", (rows, 3))))
    return builder.build()


def timed(interpreter: Any, repeat: int) -> list[NodeTime]:
    return node_times(interpreter._session(), range(repeat))


def test_every_node_that_runs_is_timed_as_often_as_it_runs() -> None:
    interpreter = ready(dense())
    found = timed(interpreter, 3)
    assert [(n.node, n.op, n.runs, n.shape, n.macs) for n in found] == [
        (0, "FULLY_CONNECTED", 3, (5, 3), 5 * 3 * 8),
        (1, "RELU", 0, (5, 3), 0),  # it is part of the node before it
    ]
    assert [n.nbytes for n in found] == [4 * (40 + 24 + 15), 0]
    assert found[0].kernel == "fully_connected f32 f32 f32? -> f32"
    assert interpreter.counters["invokes"] == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_are_those_of_work_that_threads_share_whatever_their_number(threads: int) -> None:
    (small, _), (large, _) = (timed(ready(dense(rows), num_threads=threads), 2) for rows in (5, 1 << 15))
    assert (small.blocks, small.shared_ns) == (0, 0)
    assert large.blocks == 2 * 16
    assert 0 < large.shared_ns <= large.ns
    assert alone([small]) == 1.0
    assert alone([large]) == 1 - large.shared_ns / large.ns


def test_a_loop_counts_the_nodes_of_its_subgraphs_each_time() -> None:
    interpreter = ready(squaring_loop(5))
    interpreter.set_tensor(0, integer(0))
    interpreter.set_tensor(1, floats(1, 2, 3))
    found = timed(interpreter, 2)
    runs = {(n.frame, n.op): n.runs for n in found}
    assert runs == {(0, "WHILE"): 2, (1, "LESS"): 12, (2, "ADD"): 10, (2, "RELU"): 10}
    whole = next(n.ns for n in found if n.op == "WHILE")
    assert whole >= sum(n.ns for n in found if n.op != "WHILE")


def test_a_run_that_fails_raises_and_the_next_is_not_timed() -> None:
    interpreter = ready(squaring_loop(5), max_iterations=2)
    with pytest.raises(KernelError, match="max_iterations is 2"):
        timed(interpreter, 1)
    interpreter.set_tensor(0, integer(4))
    interpreter.invoke()


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
        ("RELU", [(4,)], [(4,)], 0),
    ],
)
def test_multiplications(op: str, inputs: Any, outputs: Any, macs: int) -> None:
    assert multiplications(op, inputs, outputs) == macs


def test_the_text_names_every_node_and_the_peak() -> None:
    text = profile(timed(ready(dense()), 2), 2, Peaks("scalar"))
    assert re.search(r"^ +0 +FULLY_CONNECTED +5x3 +fully_connected f32", text, re.MULTILINE)
    assert re.search(r"^ +1 +RELU +5x3 +part of 0", text, re.MULTILINE)
    assert "0.00 million multiply-adds" in text
    assert "level scalar: " in text


def test_the_command(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "dense.tflite"
    path.write_bytes(dense())
    assert main(["profile", str(path), "--repeat", "2", "--shape", "x=7,8"]) == 0
    printed = capsys.readouterr().out
    assert "dense.tflite: 2 runs, 1 thread\n" in printed
    assert "7x3" in printed
