"""minilite plan --memory: a model, or a problem, in several memories: what lies where, and the bytes moved."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minilite.cli.arguments import UsageError
from minilite.cli.output import print_json, width
from minilite.engine.tensor_arguments import tensor_number
from minilite.format.builder import with_metadata
from minilite.format.model import Model
from minilite.format.reader import load_model, read_model
from minilite.memory import MemoriesPlan, Memory, UsageRecord, offline, plan_memories, read_csv, tflm
from minilite.memory.boards import PROGRAM, BoardPlan, board_plan, header, offline_offsets_of
from minilite.names import short_names
from minilite.progress import working
from minilite.terminal import say
from minilite.text import cut, html_table, table, wrapped
from minilite.writing import write_whole

_NOT_OF_MEMORIES = (
    "signature",
    "strategy", "compare", "shape", "max_arena", "capacity", "alignment", "map", "bind", "fit", "axis", "step", "sweep", "target",
)  # fmt: skip
_SPEC = re.compile(r"(\w+)=(\d+|0[xX][0-9a-fA-F]+)([KM]i?B?)?(?:@(\d+|0[xX][0-9a-fA-F]+))?")
_UNITS = {
    "": 1,
    "K": 1 << 10,
    "Ki": 1 << 10,
    "KiB": 1 << 10,
    "M": 1 << 20,
    "Mi": 1 << 20,
    "MiB": 1 << 20,
    "KB": 1000,
    "MB": 1000_000,
}
_MOST_NODES = 12
_SECONDS = 10.0


def add_memory(parser: argparse.ArgumentParser) -> None:
    """Adds --memory."""
    parser.add_argument(
        "--memory", metavar="NAME=SIZE[@ADDRESS]", action="append", default=[], type=_memory,
        help="plan into several memories, the fastest first: fast=256K@0x3FCA0000; K and M are 1024-fold",
    )  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --memory, --put, --header."""
    add_memory(parser)
    parser.add_argument(
        "--put", metavar="TENSOR=NAME", action="append", default=[],
        help="with --memory: this tensor, by name or number, must lie in that memory; may be repeated",
    )  # fmt: skip
    parser.add_argument("--header", metavar="OUT.h", type=Path, help="with --memory: write the offsets as a C header")


def _memory(text: str) -> Memory:
    found = _SPEC.fullmatch(text)
    if found is None or (found[3] or "") not in _UNITS:
        message = f"takes NAME=SIZE or NAME=SIZE@ADDRESS, as in fast=256K@0x3FCA0000, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    capacity = int(found[2], 0) * _UNITS[found[3] or ""]
    return Memory(found[1], capacity, int(found[4], 0) if found[4] else None, tflm.ALIGNMENT)


def check_options(options: argparse.Namespace) -> None:
    """Refuses options that do not go together. Raises: UsageError."""
    for name in ("put", "header"):
        if getattr(options, name) and not options.memory:
            message = f"--{name} goes with --memory"
            raise UsageError(message)
    for name in _NOT_OF_MEMORIES if options.memory else ():
        if getattr(options, name) not in (None, False, []):
            message = f"--{ {'target': 'for'}.get(name, name) } does not go with --memory"
            raise UsageError(message)
    based = [memory.name for memory in options.memory if memory.base is not None]
    for name in ("header", "write_offline"):
        if options.memory and getattr(options, name) and len(based) < len(options.memory):
            message = f"--{name.replace('_', '-')} needs addresses: --memory NAME=SIZE@ADDRESS"
            raise UsageError(message)
    for name in ("header", "write_offline", "put"):
        if options.memory and options.problem is not None and getattr(options, name):
            message = f"--{name.replace('_', '-')} goes with a MODEL"
            raise UsageError(message)


def show(options: argparse.Namespace) -> None:
    """Plans, prints, and writes the requested files."""
    seconds = options.seconds or _SECONDS
    if options.problem is not None:
        with working("planning"):
            made = plan_memories(read_csv(options.problem), options.memory, max_seconds=seconds)
        _tell(options, made, None, None)
        return
    source = Path(options.model).read_bytes()
    model = read_model(source)
    with working("planning"):
        found = board_plan(
            model, options.memory, offline=options.write_offline is not None, must=_chosen(options, model),
            max_seconds=seconds,
        )  # fmt: skip
    if options.write_offline is not None:
        payload = offline.offline_payload(model, offline_offsets_of(model, found))
        write_whole(options.write_offline, with_metadata(source, offline.NAME, payload))
    if options.header is not None:
        write_whole(options.header, header(found, Path(options.model).stem))
    _tell(options, found.plan, found, model)


def _chosen(options: argparse.Namespace, model: Model) -> dict[int, str]:
    """Returns the memories of --put by tensor. Raises: UsageError."""
    graph = model.subgraphs[0]
    names = {tensor.name for tensor in graph.tensors}
    found = {}
    for text in options.put:
        tensor, _, memory = text.rpartition("=")
        index = tensor_number(graph, tensor) if tensor in names else int(tensor) if tensor.isdecimal() else -1
        if not 0 <= index < len(graph.tensors) or graph.tensors[index].data is not None:
            message = f"--put {text}: the model has no tensor of this name or number that takes memory in a run"
            raise UsageError(message)
        found[index] = memory
    return found


def _tell(options: argparse.Namespace, made: MemoriesPlan, found: BoardPlan | None, model: Model | None) -> None:
    if options.csv is not None:
        write_whole(options.csv, made.to_csv())
    if options.svg is not None:
        write_whole(options.svg, made.to_svg())
    if options.json:
        print_json(_facts(options, made, found))
        return
    title = Path(options.problem or options.model).name
    total = sum(made.traffic)
    say(wrapped(f"{title}: {len(made.records)} records in {len(made.memories)} memories, {total} bytes moved", width()))
    say(made.table())
    for text in _arena(found, options.write_offline is not None) if found is not None else ():
        say(wrapped(text, width()))
    say("")
    say(_places(made))
    if found is not None and model is not None:
        say("")
        say(_nodes(found, model))


def board_of(path: str, memories: Sequence[Memory]) -> BoardPlan:
    """Plans a model into these memories, by TensorFlow Lite Micro's lifetimes."""
    return board_plan(load_model(path), memories, max_seconds=_SECONDS)


def board_text(found: BoardPlan, model: Model) -> str:
    """Returns the memories, what lies where, and the nodes that move most."""
    made = found.plan
    return "\n\n".join([made.table(), _places(made), _nodes(found, model)])


def board_facts(found: BoardPlan) -> dict[str, Any]:
    """Returns the memories and what lies where, as plain values."""
    return {"memories": _memories(found.plan), "records": _records(found.plan)}


def board_html(found: BoardPlan) -> str:
    """Returns a drawing of the memories, and their table, as markup."""
    made = found.plan
    sums = zip(made.memories, made.plans, made.moved(), strict=True)
    rows = [[memory.name, memory.capacity, each.arena_bytes, len(each.records), moved] for memory, each, moved in sums]
    return made.to_svg() + "\n" + html_table(("memory", "capacity", "bytes", "records", "bytes moved"), rows)


def _arena(found: BoardPlan, offline: bool) -> list[str]:
    """Returns what TFLM's arena is then."""
    told = [
        f"TFLM's persistent part: {found.persistent} bytes at the end of '{found.home}' (32-bit, reference kernels)"
    ]
    if found.arena_base is not None:
        told.append(f"TFLM's arena: {found.arena_bytes} bytes at {found.arena_base:#x}")
    if found.unknown_scratch:
        told.append(f"not known, and left out: the scratch of {', '.join(found.unknown_scratch)}")
    if offline:
        told.append(
            "the arena spans what lies between the memories, where TFLM's greedy planner writes working arrays while it "
            "plans: where that is no memory, use --header"
        )
    return told


def _first(made: MemoriesPlan) -> list[int]:
    """Returns positions of records, by memory, then by offset."""
    return sorted(range(len(made.records)), key=lambda i: (made.rooms[i], made.offsets[i], made.records[i].first_node))


def _places(made: MemoriesPlan) -> str:
    based = any(memory.base is not None for memory in made.memories)
    names = short_names(made.names)
    rows = [
        (
            made.memories[made.rooms[i]].name,
            f"{made.address(i):#x}" if based else str(made.offsets[i]),
            made.records[i].size,
            made.records[i].first_node,
            made.records[i].last_node,
            made.traffic[i],
            cut(names.get(made.records[i].tensor, made.label(i)) if made.records[i].tensor >= 0 else "scratch", 48),
        )
        for i in _first(made)
    ]
    head = ("memory", "address" if based else "offset", "bytes", "first", "last", "moved", "name")
    return table(head, rows, width=width())


def _nodes(found: BoardPlan, model: Model) -> str:
    """Returns the nodes that move most bytes to and from any memory but the first."""
    names = [memory.name for memory in found.plan.memories]
    moved = sorted(found.moved_by_node().items(), key=lambda item: (-sum(item[1][1:]), item[0]))
    rows: list[Sequence[str | int]] = []
    for (subgraph, node), sums in moved[:_MOST_NODES]:
        at = "program" if (subgraph, node) == PROGRAM else f"{subgraph}:{node}"
        op = "" if at == "program" else model.subgraphs[subgraph].nodes[node].op
        rows.append((at, op, *sums))
    text = table(("node", "operator", *(f"moved in {name}" for name in names)), rows, width=width())
    left = len(moved) - len(rows)
    return f"{text}\n  and {left} more" if left > 0 else text


def _facts(options: argparse.Namespace, made: MemoriesPlan, found: BoardPlan | None) -> dict[str, Any]:
    """Returns the plan as plain values."""
    nodes = {} if found is None else found.moved_by_node()
    return {
        "model": options.model,
        "problem": options.problem,
        "cost": made.cost,
        "lower_bound": made.lower_bound,
        "proved_optimal": made.proved_optimal,
        "cut": made.cut,
        "memories": _memories(made),
        "records": _records(made),
        "nodes": [{"subgraph": key[0], "node": key[1], "moved": sums} for key, sums in sorted(nodes.items())],
        "home": found.home if found else None,
        "arena_base": found.arena_base if found else None,
        "arena_bytes": found.arena_bytes if found else None,
        "persistent": found.persistent if found else None,
        "unknown_scratch": list(found.unknown_scratch) if found else [],
    }


def _memories(made: MemoriesPlan) -> list[dict[str, Any]]:
    return [
        {
            "memory": memory.name,
            "base": memory.base,
            "capacity": memory.capacity,
            "bytes": each.arena_bytes,
            "lower_bound": each.lower_bound,
            "moved": moved,
        }
        for memory, each, moved in zip(made.memories, made.plans, made.moved(), strict=True)
    ]


def _records(made: MemoriesPlan) -> list[dict[str, Any]]:
    return [_record_facts(made, i, record) for i, record in enumerate(made.records)]


def _record_facts(made: MemoriesPlan, position: int, record: UsageRecord) -> dict[str, Any]:
    return {
        "tensor": record.tensor,
        "name": made.label(position),
        "memory": made.memories[made.rooms[position]].name,
        "offset": made.offsets[position],
        "bytes": record.size,
        "first_node": record.first_node,
        "last_node": record.last_node,
        "moved": made.traffic[position],
    }
