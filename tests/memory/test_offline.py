"""Memory plans in the file: read, refused, honoured by the engine, written for TFLM."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from minilite import Interpreter
from minilite.cli import main
from minilite.errors import ArenaError, InputError, ModelFormatError
from minilite.format.builder import ModelBuilder, with_metadata
from minilite.format.dtypes import TensorType
from minilite.format.reader import read_model
from minilite.memory import FOREVER, UsageRecord, check, offline, tflm

STRATEGIES = ("default", "naive", "tflite", "greedy_by_size", "greedy_by_breadth", "exact", "equality")


def chain(size: int = 8) -> bytes:
    """x -> a -> b -> y by nodes that share nothing, x read again at the end: tensors 0, 1, 2, 3; a constant is tensor
    4."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, size), signature=(-1, size))
    a = graph.node("SOFTMAX", [x], out=("a", (1, size)), options={"beta": 1.0})
    b = graph.node("SOFTMAX", [a], out=("b", (1, size)), options={"beta": 1.0})
    y = graph.node("SOFTMAX", [b], out=("y", (1, size)), options={"beta": 1.0})
    graph.constant("c", np.zeros(3, np.float32))
    graph.output(y)
    return builder.build()


def planned(source: bytes, *offsets: int, head: Sequence[int] | None = None) -> bytes:
    """Returns the model with these offsets as its plan, without checking them."""
    words = (*(head if head is not None else (1, 1, len(offsets))), *offsets)
    return with_metadata(source, offline.NAME, struct.pack(f"<{len(words)}i", *words))


def ready(model: bytes, **options: object) -> Interpreter:
    interpreter = Interpreter(model_content=model, **options)  # type: ignore[arg-type]
    interpreter.allocate_tensors()
    return interpreter


def places(interpreter: Interpreter, count: int = 4) -> list[int]:
    assert interpreter.plan is not None
    return [interpreter.plan.tensor(t).offset for t in range(count)]


def result(interpreter: Interpreter, rows: int = 1) -> np.ndarray:
    x = np.linspace(-2, 2, rows * 8, dtype=np.float32).reshape(rows, 8)
    interpreter.set_tensor(0, x)
    interpreter.invoke()
    return interpreter.get_tensor(3)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_offsets_are_honoured_and_the_rest_is_fitted_around(strategy: str) -> None:
    interpreter = ready(planned(chain(), 48, 16, -1, 112, -1), planner=strategy, in_place="none")
    x, a, b, y = places(interpreter)
    assert (x, a, y) == (48, 16, 112)
    assert b % 64 == 0
    records = [UsageRecord(t, size, first, last) for t, size, first, last, _ in interpreter.plan.records()]
    assert check(records, [row[4] for row in interpreter.plan.records()]) is None
    np.testing.assert_array_equal(result(interpreter), result(ready(chain())))


def test_planned_inputs_are_freed_after_their_last_reader() -> None:
    assert places(ready(planned(chain(), 0, 64, 0, 64, -1))) == [0, 64, 0, 64]
    assert ready(planned(chain(), 0, 64, 0, 64, -1)).plan.arena_bytes == 128


def with_unread_tensors() -> bytes:
    """x -> TOPK_V2 -> SOFTMAX -> z, and two tensors that nobody reads: an input, and the indices of TOPK_V2. Tensors 0
    to 5, of which 2 is a constant."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, _ = graph.input("x", (16,)), graph.input("unused", (16,))
    count = graph.constant("count", np.array(16, np.int32))
    values, _ = graph.node("TOPK_V2", [x, count], out=[("values", (16,)), ("indices", (16,), TensorType.INT32)])
    graph.output(graph.node("SOFTMAX", [values], out=("z", (16,)), options={"beta": 1.0}))
    return builder.build()


@pytest.mark.parametrize("planner", ["default", "tflite"])
@pytest.mark.parametrize(
    ("offsets", "lives"),
    [
        ((0, 64, -1, 128, 192, 256), {0: (0, 0), 3: (0, 1), 4: (0, 0), 5: (1, FOREVER)}),  # dead before the first node
        ((-1, 64, -1, 128, 192, 256), {0: (0, FOREVER), 1: (0, 0), 3: (0, 1), 4: (0, 0), 5: (1, FOREVER)}),
        ((0, -1, -1, 64, 128, 192), {0: (0, 0), 1: (0, FOREVER), 3: (0, 1), 4: (0, 0), 5: (1, FOREVER)}),
    ],
)
def test_planned_tensors_without_readers_are_freed(
    planner: str, offsets: tuple[int, ...], lives: dict[int, tuple[int, int]]
) -> None:
    interpreter = ready(planned(with_unread_tensors(), *offsets), planner=planner)
    plan = interpreter.plan
    assert plan is not None
    assert {tensor: (first, last) for tensor, _, first, last, _ in plan.records()} == lives
    assert plan.lower_bound == 64 * max(sum(first <= n <= last for first, last in lives.values()) for n in (0, 1))


def test_overlapping_lifetimes_are_refused_with_both_names() -> None:
    with pytest.raises(ArenaError, match=r"tensor 1 \('a'\) at offset 16.*tensor 2 \('b'\) at offset 32") as refusal:
        ready(planned(chain(), 64, 16, 32, 128, -1))
    assert refusal.value.tensors == ("a", "b")


def test_the_plan_holds_for_the_files_shapes_only() -> None:
    interpreter = ready(planned(chain(), 0, 32, 0, 32, -1))
    assert places(interpreter) == [0, 32, 0, 32]
    expected = result(interpreter)
    interpreter.resize_tensor_input(0, (5, 8))
    interpreter.allocate_tensors()
    assert all(offset % 64 == 0 for offset in places(interpreter))
    assert result(interpreter, 5).shape == (5, 8)
    interpreter.resize_tensor_input(0, (1, 8))
    interpreter.allocate_tensors()
    assert places(interpreter) == [0, 32, 0, 32]
    np.testing.assert_array_equal(result(interpreter), expected)


def test_the_plan_stays_when_its_shapes_come_back() -> None:
    """A plan above its lower bound is improved when its shapes come back; the plan of the file must not be."""
    interpreter = ready(planned(chain(), 0, 320, 640, 960, -1))
    for rows in (5, 1, 5, 1, 5, 1):
        interpreter.resize_tensor_input(0, (rows, 8))
        interpreter.allocate_tensors()
        if rows == 1:
            assert places(interpreter) == [0, 320, 640, 960]
        else:
            assert all(offset % 64 == 0 for offset in places(interpreter))
            assert interpreter.plan is not None
            assert interpreter.plan.arena_bytes < 960


def test_preserving_all_tensors_sets_the_plan_aside() -> None:
    interpreter = ready(planned(chain(), 0, 32, 0, 32, -1), experimental_preserve_all_tensors=True)
    assert len(set(places(interpreter))) == 4


def test_reordering_leaves_planned_models_alone() -> None:
    assert places(ready(planned(chain(), 0, 32, 0, 32, -1), reorder=True)) == [0, 32, 0, 32]


def test_tensors_in_place_may_lie_on_each_other() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 8))
    a = graph.node("SOFTMAX", [x], out=("a", (1, 8)), options={"beta": 1.0})
    b = graph.node("RELU", [a], out=("b", (1, 8)))
    graph.output(graph.node("SOFTMAX", [b], out=("y", (1, 8)), options={"beta": 1.0}))
    model = planned(builder.build(), 0, 32, 32, 0)
    assert places(ready(model)) == [0, 32, 32, 0]
    with pytest.raises(ArenaError, match=r"'a'.*'b'"):
        ready(model, in_place="none")


@pytest.mark.parametrize(
    ("head", "offsets", "text"),
    [
        ((1, 1, 4), (0, 32, 0, 32), r"holds 4 offsets and names 4, the model has 5 tensors"),
        ((1, 1, 5), (0, 32, 0, 32), r"holds 4 offsets and names 5"),
        ((1, 1, -1), (), r"names -1"),
        ((1,), (), r"4 bytes, must be 12"),
        ((1, 1, 5), (0, -2, 0, 32, -1), r"tensor 1 \('a'\): offset -2, must be -1 or more"),
        ((1, 1, 5), (0, 34, 0, 32, -1), r"tensor 1 \('a'\): offset 34, must be a multiple of the 4 bytes of FLOAT32"),
    ],
)
def test_malformed_plans_are_refused(head: Sequence[int], offsets: Sequence[int], text: str) -> None:
    with pytest.raises(ModelFormatError, match=text):
        ready(planned(chain(), *offsets, head=head))


def test_odd_bytes_are_refused() -> None:
    with pytest.raises(ModelFormatError, match="13 bytes"):
        ready(with_metadata(chain(), offline.NAME, bytes(13)))


def test_planned_tensors_cannot_be_bound() -> None:
    interpreter = ready(planned(chain(), 0, 32, -1, 64, -1))
    with pytest.raises(InputError, match=r"tensor 3 \('y'\): it has the offset 64 in the file's memory plan"):
        interpreter.bind_tensor(3, np.zeros((1, 8), np.float32))


def test_offsets_of_constants_are_ignored() -> None:
    assert places(ready(planned(chain(), 0, 32, 0, 32, 0))) == [0, 32, 0, 32]


def test_writing_checks_what_it_writes() -> None:
    model = read_model(chain())
    assert offline.parse_offsets(model, offline.offline_payload(model, {1: 16, 3: 96})) == [-1, 16, -1, 96, -1]
    for offsets, text in (
        ({1: 8}, "'a'.*offset 8, must be a multiple of 16"),
        ({1: 2**31}, "from 0 to 2147483647"),
        ({1: -16}, "offset -16"),
        ({4: 0}, "tensor 4 cannot be planned"),
        ({1: 0, 2: 16}, "'a' and 'b'"),
    ):
        with pytest.raises(ArenaError, match=text):
            offline.offline_payload(model, offsets)


def test_lifetimes_are_those_of_tflm() -> None:
    spans = [(r.tensor, r.size, r.first_node, r.last_node) for r in tflm.usage_records(read_model(chain(5)))]
    assert spans == [(0, 32, 1, 2), (1, 32, 2, 3), (2, 32, 3, 4), (3, 32, 4, 4)]


def test_tensors_live_with_scratch_are_left_to_run_time() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    tensor = graph.input("x", (1, 4, 4))
    for number in range(4):
        tensor = graph.node("RELU", [tensor], out=(f"y{number}", (1, 4, 4)))
    axis = graph.constant("axis", np.array([1], np.int32))
    graph.output(graph.node("MEAN", [tensor, axis], out=("y", (1, 4)), options={"keep_dims": False}))
    made = tflm.plan_for_tflm(read_model(builder.build()))
    assert made.offsets
    assert set(made.offsets) <= {0, 1, 2, 3}
    assert made.plan.proved_optimal


def test_entries_that_tflm_reads_twice_are_left_out() -> None:
    builder = ModelBuilder()
    for name in ("one", "two"):
        graph = builder.subgraph(name)
        graph.output(graph.node("RELU", [graph.input("x", (4,), TensorType.FLOAT32)], out=("y", (4,))))
    assert tflm.plan_for_tflm(read_model(builder.build())).offsets == {}


def test_the_written_file_runs_and_is_smaller(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out, svg = tmp_path / "m.tflite", tmp_path / "out.tflite", tmp_path / "plan.svg"
    source.write_bytes(chain(1024))
    assert main(["plan", str(source), "--write-offline", str(out), "--svg", str(svg)]) == 0
    printed = capsys.readouterr().out
    assert "4 tensors fixed, 0 left to run time" in printed
    assert "arena           8 KiB (8192 bytes)" in printed
    assert "proved optimal  yes" in printed
    assert svg.read_text().startswith("<svg")
    before, after = ready(source.read_bytes()), ready(out.read_bytes())
    assert (after.plan.arena_bytes, after.plan.input_bytes) == (8192, 0)
    assert (before.plan.arena_bytes, before.plan.input_bytes) == (8192, 4096)
    x = np.linspace(0, 9, 1024, dtype=np.float32)[None]
    for interpreter in (before, after):
        interpreter.set_tensor(0, x)
        interpreter.invoke()
    np.testing.assert_array_equal(after.get_tensor(3), before.get_tensor(3))


def test_command_plans_models_and_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, problem = tmp_path / "m.tflite", tmp_path / "p.csv"
    model.write_bytes(planned(chain(), 0, 32, 0, 32, -1))
    problem.write_text("id,lower,upper,size\n0,0,2,10\n1,1,3,5\n2,2,4,10\n")
    assert main(["plan", str(model), "--shape", "x=4,8", "--strategy", "tflite"]) == 0
    assert "strategy tflite, alignment 64" in capsys.readouterr().out
    assert main(["plan", "--problem", str(problem), "--strategy", "exact"]) == 0
    printed = capsys.readouterr().out
    for text in ("arena           15 bytes", "lower bound     15 bytes", "gap             0 bytes", "CPU time"):
        assert text in printed
    for status, arguments, text in (
        (
            1,
            ["--problem", str(problem), "--capacity", "12"],
            "live at node 1 are tensor 0 (10 bytes), tensor 1 (5 bytes)",
        ),
        (2, ["--problem", str(problem), "--shape", "x=1"], "--shape goes with a MODEL"),
        (2, ["--problem", str(problem), str(model)], "one of the two"),
        (2, ["--problem", str(problem), "--strategy", "best"], "no planning strategy 'best'"),
        (2, [str(model), "--write-offline", "o", "--shape", "x=4,8"], "the file's own shapes"),
    ):
        try:
            ended = main(["plan", *arguments])
        except SystemExit as exit_:
            ended = exit_.code
        assert ended == status
        assert text in capsys.readouterr().err


def test_infeasible_capacity_names_the_peak(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The lower bound is within the capacity, but no layout is."""
    rows = [(0, 4, 1), (1, 5, 2), (4, 6, 1), (0, 1, 2), (5, 6, 2)]
    problem = tmp_path / "p.csv"
    problem.write_text("id,lower,upper,size\n" + "".join(f"{i},{a},{b},{s}\n" for i, (a, b, s) in enumerate(rows)))
    status = main(["plan", "--problem", str(problem), "--strategy", "exact", "--capacity", "3"])
    text = capsys.readouterr()
    assert status == 0 or "live at node" in text.err
