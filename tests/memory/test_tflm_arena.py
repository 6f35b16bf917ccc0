"""TFLM's arena: heads and persistent parts as the package tflite-micro has said, structs, tensors that no run uses.

tflm_measured.txt holds the package's figures; tests/conformance/test_tflm_allocations.py asks the package itself."""

from __future__ import annotations

import ctypes
import functools
import json
import re
from pathlib import Path

import numpy as np
import pytest

import minilite
from minilite.cli import main
from minilite.errors import InputError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.model import Model
from minilite.format.reader import load_model, read_model
from minilite.memory import offline, tflm
from minilite.memory.tflm_arena import BUILDS, tflm_arena
from minilite.memory.tflm_kernels import KERNELS, Build, struct

MEASURED = Path(__file__).with_name("tflm_measured.txt")
DIGITS = Path(minilite.__file__).with_name("data") / "digits.tflite"
MODELS = Path(__file__).resolve().parents[2].parent / "shared" / "models"
OPEN = {
    "SignalEnergy", "SignalFftAutoScale", "SignalFilterBank", "SignalFilterBankLog",
    "SignalFilterBankSpectralSubtraction", "SignalFilterBankSquareRoot", "SignalPCAN", "SignalRfft", "SignalWindow",
}  # fmt: skip
"""Operators of the measured models whose kernels keep memory that is not known."""


def measured() -> dict[str, tuple[int, int]]:
    lines = [line.split() for line in MEASURED.read_text().splitlines() if not line.startswith("#")]
    return {name: (int(head), int(persistent)) for name, head, persistent in lines}


def path_of(name: str) -> Path:
    path = DIGITS if name == DIGITS.stem else MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    return path


@pytest.mark.parametrize("name", measured())
def test_heads_and_persistent_parts_are_those_of_the_package(name: str) -> None:
    arena = tflm_arena(load_model(path_of(name)))
    head, persistent = measured()[name]
    assert arena.head == head
    if arena.unknown:
        assert set(arena.unknown) <= OPEN
        assert arena.persistent < persistent
    else:
        assert (arena.persistent, arena.total) == (persistent, head + persistent)


@functools.cache
def field(kind: str, pointer: int) -> type:
    by_kind = {"b": ctypes.c_int8, "h": ctypes.c_int16, "i": ctypes.c_int32, "c": ctypes.c_int32, "q": ctypes.c_int64}
    return by_kind.get(kind, ctypes.c_uint64 if pointer == 8 else ctypes.c_uint32)  # of the width of a pointer


def in_c(fields: str, build: Build) -> type[ctypes.Structure]:
    """The struct as the C compiler of this Python lays it out."""
    members = []
    for count, kind, inner in re.findall(r"(\d*)(?:([a-zP])|\{([^}]*)\})", fields):
        if kind == "c" and not build.compression:
            continue
        members.append((in_c(inner, build) if inner else field(kind, build.pointer)) * int(count or 1))
    return type("Struct", (ctypes.Structure,), {"_fields_": [(f"f{i}", each) for i, each in enumerate(members)]})


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
def test_structs_are_laid_out_as_in_c(build: Build) -> None:
    if ctypes.alignment(ctypes.c_int64) != 8:
        pytest.skip("numbers of 64 bits are aligned to less than 8 bytes here, on boards they are not")
    for kernel in KERNELS.values():
        for fields in filter(None, (kernel.options, kernel.state)):
            expected = in_c(fields, build)
            if ctypes.sizeof(expected):
                assert struct(fields, build) == (ctypes.sizeof(expected), ctypes.alignment(expected)), fields


def with_unused_tensors(count: int = 3, size: int = 1000) -> bytes:
    """x -> RELU -> y, both of 64 bytes, and tensors that no node mentions."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    y = graph.node("RELU", [graph.input("x", (16,))], out=("y", (16,)))
    for number in range(count):
        graph.tensor(f"unused{number}", (size,))
    graph.output(y)
    return builder.build()


def test_tensors_that_no_node_mentions_all_have_memory_at_once() -> None:
    model = read_model(with_unused_tensors())
    assert tflm_arena(model).head == 3 * 4000
    lives = {r.tensor: (r.first_node, r.last_node) for r in tflm.usage_records(model)}
    assert lives == {0: (1, 2), 1: (2, 2), 2: (0, 0), 3: (0, 0), 4: (0, 0)}


def test_an_offline_plan_puts_unused_tensors_on_top_of_each_other() -> None:
    data, made = offline.write_offline(with_unused_tensors(size=8))
    assert {number: offset for number, offset in made.offsets.items() if number > 1} == {2: 0, 3: 0, 4: 0}
    assert {made.offsets[0], made.offsets[1]} == {0, 64}
    assert tflm_arena(read_model(data), offsets=made.offsets).head == 128
    interpreter = minilite.Interpreter(model_content=data)
    interpreter.allocate_tensors()
    interpreter.invoke()


def two_calls() -> Model:
    """WHILE, twice, over the same two subgraphs."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    once = graph.node("WHILE", [graph.input("x", (8,))], out=("once", (8,)), options=options)
    graph.output(graph.node("WHILE", [once], out=("twice", (8,)), options=options))
    condition = builder.subgraph("condition")
    limit = condition.constant("limit", np.full((8,), 3, np.float32))
    below = condition.node("LESS", [condition.input("x", (8,)), limit], out=("below", (8,), TensorType.BOOL))
    axis = condition.constant("axis", np.array([0], np.int32))
    condition.output(
        condition.node("REDUCE_ALL", [below, axis], out=("all", (), TensorType.BOOL), options={"keep_dims": False})
    )
    body = builder.subgraph("body")
    body.output(
        body.node("ADD", [body.input("x", (8,)), body.constant("one", np.ones(8, np.float32))], out=("y", (8,)))
    )
    return read_model(builder.build())


def test_a_subgraph_that_is_called_twice_lives_from_its_first_call_to_its_last() -> None:
    model = two_calls()
    lives = {r.tensor: (r.first_node, r.last_node) for r in tflm.usage_records(model)}
    scratch = {(s.subgraph, s.node): (s.first, s.last, s.sizes) for s in tflm.Lifetimes(model).scratch()}
    assert lives == {
        0: (1, 7), 1: (2, 13), 2: (8, 13),  # x, once, twice
        4: (3, 10), 5: (4, 11), 7: (5, 11),  # x, below, all of the condition
        8: (6, 13), 10: (7, 13),  # x, y of the body
    }  # fmt: skip
    assert scratch == {(1, 1): (5, 11, (4, 4))}


def test_variables_count_as_persistent_and_resource_handles_as_nothing() -> None:
    arena = tflm_arena(load_model(DIGITS))
    assert "variables" not in arena.shares
    assert "resource variables" not in arena.shares


def test_builds_with_smaller_pointers_keep_less() -> None:
    arenas = [tflm_arena(load_model(DIGITS), build) for build in BUILDS.values()]
    assert [arena.head for arena in arenas] == [arenas[0].head] * 3
    package, wide, narrow = (arena.persistent for arena in arenas)
    assert package > wide > narrow > 0


def test_the_number_for_a_manifest_leaves_room_to_plan() -> None:
    for build in BUILDS.values():
        arena = tflm_arena(read_model(with_unused_tensors(0)), build)
        assert arena.planning > arena.total
        assert arena.tensor_arena_size % 16 == 0
        assert 0 <= arena.tensor_arena_size - arena.planning < 16


def custom(op: str = "MyOperator") -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.node(op, [graph.input("x", (4,))], out=("y", (4,)), custom=True))
    return builder.build()


def test_operators_whose_share_is_not_known_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arena = tflm_arena(read_model(custom()))
    assert arena.unknown == arena.unknown_scratch == ("MyOperator",)
    path = tmp_path / "custom.tflite"
    path.write_bytes(custom())
    assert main(["plan", str(path), "--for", "tflm"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("at least") == len(BUILDS)
    assert "not known, and left out: what kernels of MyOperator keep" in printed
    assert "the scratch of MyOperator" in printed


def test_a_node_without_its_operands_is_refused_in_one_line() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.node("CONV_2D", [graph.input("x", (1, 4, 4, 1))], out=("y", (1, 4, 4, 1))))
    with pytest.raises(InputError, match=r"subgraph 0, node 0 \(CONV_2D\): TFLM's kernel needs an operand"):
        tflm_arena(read_model(builder.build()))


def test_command_prints_each_build_and_what_would_lower_the_arena(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "unused.tflite"
    path.write_bytes(with_unused_tensors())
    assert main(["plan", str(path), "--for", "tflm"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "package 12000 " in " ".join(printed.split())
    for text in (
        "exact",
        "computed, pointers of 4 bytes",
        "head: lower bound 12000 bytes",
        "(--write-offline OUT.tflite) makes the head 4000 bytes, 8000 fewer",
        "without the tensors and subgraphs that no run uses, the head is 128 bytes, 11872 fewer",
    ):
        assert text in printed
    assert main(["plan", str(path), "--for", "tflm", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [build["head"] for build in facts["builds"]] == [12000] * 3
    assert [build["exact"] for build in facts["builds"]] == [True, False, False]
    assert facts["head_with_offline_plan"] == 4000


@pytest.mark.parametrize(
    "more", [["--strategy", "exact"], ["--shape", "1,8,8,1"], ["--fit", "1MB"], ["--map"], ["--capacity", "5"]]
)
def test_command_refuses_options_of_other_plans(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        ended = main(["plan", str(DIGITS), "--for", "tflm", *more])
    except SystemExit as exit_:
        ended = exit_.code
    assert ended == 2
    assert f"{more[0]} does not go with --for tflm" in capsys.readouterr().err
