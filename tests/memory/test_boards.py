"""Models in the memories of a board: traffic, where TFLM's parts lie, the header, the command."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import minilite
from minilite.cli import main
from minilite.errors import ArenaError, InputError
from minilite.format.builder import ModelBuilder
from minilite.format.model import Model
from minilite.format.reader import load_model, read_model
from minilite.memory import Memory, boards, offline

DIGITS = Path(minilite.__file__).with_name("data") / "digits.tflite"
FAST, SLOW = Memory("fast", 1 << 10, 0x3FCA0000, 16), Memory("slow", 1 << 16, 0x3C000000, 16)


def branches(reads: int = 3) -> Model:
    """x -> RELU -> a, which so many nodes read; their outputs are the graph's."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    a = graph.node("RELU", [graph.input("x", (64,))], out=("a", (64,)))
    graph.tensor("unused", (8,))
    graph.output(*(graph.node("RELU", [a], out=(f"y{number}", (64,))) for number in range(reads)))
    return read_model(builder.build())


def test_traffic_counts_the_writer_all_readers_and_the_program() -> None:
    records, accesses = boards.board_records(branches())
    assert [record.tensor for record in records] == [0, 1, 3, 4, 5]
    assert boards.traffic_of(records, accesses) == [512, 4 * 256, 512, 512, 512]
    found = boards.board_plan(branches(), [FAST, SLOW])
    moved = found.moved_by_node()
    assert sum(moved[boards.PROGRAM]) == 4 * 256
    assert sum(moved[0, 1]) == 512
    sums = [sum(column) for column in zip(*moved.values(), strict=True)]
    assert tuple(sums) == found.plan.moved()


def test_an_operand_that_is_read_twice_by_a_node_counts_once() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (64,))
    graph.output(graph.node("ADD", [x, x], out=("y", (64,))))
    records, accesses = boards.board_records(read_model(builder.build()))
    assert boards.traffic_of(records, accesses) == [512, 512]


def test_scratch_is_moved_twice_by_its_node() -> None:
    records, accesses = boards.board_records(load_model(DIGITS))
    scratch = [position for position, record in enumerate(records) if record.tensor < 0]
    assert scratch
    node = next(n.index for n in load_model(DIGITS).subgraphs[0].nodes if n.op == "MEAN")
    for position in scratch:
        assert [(a.node, a.bytes) for a in accesses if a.record == position] == [(node, 2 * records[position].size)]


def test_the_persistent_part_lies_at_the_end_of_the_last_memory() -> None:
    found = boards.board_plan(branches(), [FAST, SLOW])
    assert found.home == "slow"
    assert found.arena_base is not None
    assert found.arena_base % 16 == 0
    assert found.arena_base + found.arena_bytes <= (SLOW.base or 0) + SLOW.capacity
    assert found.arena_bytes >= found.persistent
    for position in range(len(found.plan.records)):
        if found.plan.memories[found.plan.rooms[position]].name == "slow":
            assert found.plan.address(position) + found.plan.records[position].size <= found.arena_base
    swapped = boards.board_plan(branches(), [FAST, SLOW], offline=True)
    assert swapped.home == "fast"  # the highest
    assert swapped.arena_base == SLOW.base
    assert swapped.plan.memories[0].capacity <= FAST.capacity - swapped.persistent
    assert all(buffer.offset >= 0 for buffer in swapped.buffers)


def test_buffers_are_those_that_tflm_asks_for_in_its_order() -> None:
    found = boards.board_plan(branches(), [FAST, SLOW])
    assert [buffer.tensor for buffer in found.buffers] == [0, 1, 2, 3, 4, 5]
    assert (found.buffers[2].offset, found.buffers[2].position) == (0, -1)


def test_the_header_compiles_and_has_each_offset(tmp_path: Path) -> None:
    found = boards.board_plan(load_model(DIGITS), [FAST, SLOW])
    text = boards.header(found, "2 digits/of*/it")
    (tmp_path / "plan.h").write_text(text)
    lines = re.findall(r"^    (-?\d+), /\* (\d+): (.*) \*/$", text, re.MULTILINE)
    assert [int(offset) for offset, _, _ in lines] == [buffer.offset for buffer in found.buffers]
    program = '#include "plan.h"\n#include <stdio.h>\nint main(void) { printf("%d %d\\n", MODEL_2_DIGITS_OF_IT_BUFFERS,'
    program += " (int)(sizeof model_2_digits_of_it_offsets / 4)); return 0; }\n"
    (tmp_path / "main.c").write_text(program)
    try:
        subprocess.run(["cc", "main.c", "-o", "main"], cwd=tmp_path, check=True)
    except FileNotFoundError:
        pytest.skip("there is no C compiler")
    done = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(lines))] * 2


def test_tensors_may_be_told_where_to_lie() -> None:
    assert set(boards.board_plan(branches(), [FAST, SLOW]).plan.rooms) == {0}  # all of it is fast
    assert boards.board_plan(branches(), [FAST, SLOW], must={0: "slow"}).plan.rooms == (1, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("error", "text", "memories", "options"),
    [
        (InputError, "memory 'slow' has no base", [FAST, SLOW._replace(base=None)], {}),
        (InputError, "memory 'fast' has no base", [Memory("fast", 4096)], {"offline": True}),
        (ArenaError, "memory 'slow': TFLM's persistent part takes .* bytes, its capacity is 64", [FAST, SLOW._replace(capacity=64)], {}),
        (InputError, "tensor 2 has no place to choose", [FAST, SLOW], {"must": {2: "fast"}}),
        (InputError, "memory 'tcm', there are fast, slow", [FAST, SLOW], {"must": {0: "tcm"}}),
        (ArenaError, "offsets of 32 bits: the memories lie .* bytes apart", [FAST._replace(base=1 << 33, capacity=4096), SLOW], {"offline": True}),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(
    error: type[Exception], text: str, memories: list[Memory], options: dict[str, object]
) -> None:
    with pytest.raises(error, match=text):
        boards.board_plan(branches(), memories, **options)  # type: ignore[arg-type]


def test_scratch_that_tflm_would_place_between_the_memories_is_refused() -> None:
    """The lowest memory has room for the scratch only where tensors lie."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 8, 8))
    axis = graph.constant("axis", np.array([1], np.int32))
    graph.output(graph.node("MEAN", [x, axis], out=("y", (1, 8)), options={"keep_dims": False}))
    model = read_model(builder.build())
    low, high = Memory("low", 32, 0, 16), Memory("high", 1 << 16, 1 << 20, 16)
    assert boards.board_plan(model, [high, low], offline=True).plan.check() is None
    with pytest.raises(ArenaError):
        boards.board_plan(model, [high, low._replace(capacity=16)], offline=True)


MEMORIES = ("--memory", "fast=1K@0x3FCA0000", "--memory", "slow=64K@0x3C000000")


def test_command_prints_memories_tensors_and_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = {name: tmp_path / f"out.{name}" for name in ("csv", "svg", "h", "tflite")}
    written = ("--csv", str(paths["csv"]), "--svg", str(paths["svg"]), "--header", str(paths["h"]))
    assert main(["plan", str(DIGITS), *MEMORIES, *written]) == 0
    printed = capsys.readouterr().out
    for text in ("in 2 memories", "optimal", "bytes moved", "moved in slow", "TFLM's arena: ", "0x3fca0000"):
        assert text in printed
    assert paths["csv"].read_text().startswith("id,lower,upper,size,memory,offset,address,traffic\n")
    assert paths["svg"].read_text().count("<svg ") == 3
    assert "#define DIGITS_FAST_BASE 0x3fca0000u" in paths["h"].read_text()
    assert main(["plan", str(DIGITS), *MEMORIES, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["proved_optimal"]
    assert sum(memory["moved"] for memory in facts["memories"]) == sum(record["moved"] for record in facts["records"])
    assert facts["cost"] == facts["memories"][1]["moved"]
    wide = ("--memory", "fast=8K@0x3FCA0000", *MEMORIES[2:])  # TFLM's persistent part lies at its end
    assert main(["plan", str(DIGITS), *wide, "--write-offline", str(paths["tflite"])]) == 0
    assert "the arena spans what lies between the memories" in " ".join(capsys.readouterr().out.split())
    model = load_model(paths["tflite"])
    offsets = offline.offline_offsets(model)
    assert offsets is not None
    placed = [offset for offset in offsets[0] if offset >= 0]
    assert placed
    assert all(offset < 1 << 16 or 0 <= offset - 0x3CA0000 < 1 << 13 for offset in placed)


def test_command_puts_a_tensor_where_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    name = load_model(DIGITS).subgraphs[0].tensors[load_model(DIGITS).subgraphs[0].inputs[0]].name
    for memory in ("fast", "slow"):
        assert main(["plan", str(DIGITS), *MEMORIES, "--put", f"{name}={memory}", "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert [record["memory"] for record in facts["records"] if record["name"] == name] == [memory]


def test_command_plans_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text("id,lower,upper,size\n0,0,2,100\n1,1,3,50\n2,2,4,100\n")
    assert main(["plan", "--problem", str(problem), "--memory", "fast=112", "--memory", "slow=1K"]) == 0
    printed = capsys.readouterr().out
    assert "cost 100, optimal" in printed


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([str(DIGITS), "--memory", "fast"], "takes NAME=SIZE or NAME=SIZE@ADDRESS"),
        ([str(DIGITS), "--memory", "fast=12Q"], "got 'fast=12Q'"),
        ([str(DIGITS), "--memory", "fast=1K", "--header", "x.h"], "--header needs addresses"),
        ([str(DIGITS), "--header", "x.h"], "--header goes with --memory"),
        ([str(DIGITS), *MEMORIES, "--strategy", "exact"], "--strategy does not go with --memory"),
        ([str(DIGITS), *MEMORIES, "--for", "tflm"], "--memory does not go with --for tflm"),
        ([str(DIGITS), *MEMORIES, "--put", "nothing=fast"], "--put nothing=fast: the model has no tensor of this name"),
        (["--problem", "p.csv", "--memory", "fast=1K", "--put", "1=fast"], "--put goes with a MODEL"),
    ],
)
def test_command_refuses_what_does_not_go_together(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        ended = main(["plan", *arguments])
    except SystemExit as exit_:
        ended = exit_.code
    assert ended == 2
    assert text in capsys.readouterr().err
