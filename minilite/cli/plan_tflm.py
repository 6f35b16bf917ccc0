"""minilite plan --for tflm: the arena that TensorFlow Lite Micro needs, and what would make it smaller."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minilite.cli.arguments import UsageError
from minilite.cli.output import print_json, width
from minilite.format.model import Model
from minilite.format.reader import load_model
from minilite.memory import sections, tflm
from minilite.memory.tflm_arena import BUILDS, TflmArena, tflm_arena
from minilite.progress import working
from minilite.terminal import say
from minilite.text import cut, table, wrapped

_NOT_FOR_TFLM = (
    "strategy", "compare", "signature", "shape", "max_arena", "alignment", "capacity", "write_offline", "svg", "map", "bind", "fit", "axis",
    "step", "sweep", "csv", "problem", "memory",
)  # fmt: skip
_BOARD = "32-bit"
_MOST_OPERATORS, _MOST_LISTED = 6, 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --for."""
    parser.add_argument(
        "--for", dest="target", choices=["tflm"],
        help="print the arena that TensorFlow Lite Micro needs, and the number for a manifest",
    )  # fmt: skip


def check_options(options: argparse.Namespace) -> None:
    """Refuses options that do not go with --for. Raises: UsageError."""
    for name in _NOT_FOR_TFLM:
        if options.target and getattr(options, name) not in (None, False, []):
            message = f"--{name.replace('_', '-')} does not go with --for {options.target}"
            raise UsageError(message)


def show(options: argparse.Namespace) -> None:
    """Prints the arena of each build, and what would lower it."""
    model = load_model(options.model)
    with working("planning"):
        arenas = {name: tflm_arena(model, build) for name, build in BUILDS.items()}
        cheaper = _cheaper(model, arenas[_BOARD], options.seconds)
    if options.json:
        print_json(_facts(options, arenas, cheaper))
        return
    board = arenas[_BOARD]
    say(wrapped(f"{Path(options.model).name} in TensorFlow Lite Micro, with its reference kernels", width()))
    rows = [
        (name, arena.head, arena.persistent, arena.total, arena.tensor_arena_size, _basis(name, arena))
        for name, arena in arenas.items()
    ]
    say(table(("build", "head", "persistent", "total", "tensor_arena_size", "figures"), rows, width=width()))
    say("")
    say(wrapped(f"head: lower bound {board.head_bound} bytes: {_busiest(model)}", width()))
    say(wrapped(f"persistent, {_BOARD}: {_listed(board.shares)}", width()))
    most = dict(sorted(board.operators.items(), key=lambda item: -item[1])[:_MOST_OPERATORS])
    if most:
        say(wrapped(f"of which kernels of {_listed(most)}", width()))
    for text in (*_reservations(board), *_advice(cheaper, board)):
        say(wrapped(text, width()))


def _busiest(model: Model) -> str:
    """Returns where most is live at once, and the largest tensors there."""
    lifetimes = tflm.Lifetimes(model)
    records = [*lifetimes.records(), *tflm.scratch_records(lifetimes.scratch())]
    busiest = max(sections(records, tflm.ALIGNMENT), key=lambda section: section.breadth, default=None)
    if busiest is None:
        return "no tensor is computed"
    names = [tensor.name for subgraph in model.subgraphs for tensor in subgraph.tensors]
    live = sorted((records[position] for position in busiest.live), key=lambda record: -record.size)[:_MOST_LISTED]
    at = [key for key, (first, last) in lifetimes.nodes.items() if first <= busiest.first <= last]
    where = "before the start" if busiest.first == 0 else "at the start"
    if at:
        subgraph, node = at[-1]
        where = f"at subgraph {subgraph}, node {node} ({model.subgraphs[subgraph].nodes[node].op})"
    told = [f"{cut(names[r.tensor], 32) if r.tensor >= 0 else 'scratch'} {r.size}" for r in live]
    more = len(busiest.live) - len(live)
    return f"{where}, where {', '.join(told)}{f' and {more} more' if more else ''} are live"


def _listed(shares: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {size}" for name, size in shares.items() if size)


def _basis(name: str, arena: TflmArena) -> str:
    if arena.unknown or arena.unknown_scratch:
        return "at least"
    return "exact" if name == "package" else f"computed, pointers of {arena.build.pointer} bytes"


def _reservations(arena: TflmArena) -> list[str]:
    """Returns what the figures leave out."""
    found = []
    if arena.unknown:
        found.append(f"not known, and left out: what kernels of {', '.join(arena.unknown)} keep")
    if arena.unknown_scratch:
        found.append(f"not known, and left out: the scratch of {', '.join(arena.unknown_scratch)}")
    if arena.planning > arena.total:
        found.append(
            f"tensor_arena_size is above the total: while TFLM plans, its working memory needs {arena.planning} bytes"
        )
    return found


def _cheaper(model: Model, board: TflmArena, seconds: float | None) -> dict[str, int]:
    """Returns the heads that changes would give, by what is changed."""
    every = tflm.Lifetimes(model).records()
    found = {}
    made = tflm.plan_for_tflm(model, max_seconds=seconds or 10.0)
    if made.offsets:
        found["offline"] = tflm_arena(model, board.build, made.offsets).head
    mentioned = [record for record in every if record.last_node]
    if len(mentioned) < len(every):
        scratch = tflm.scratch_records(tflm.Lifetimes(model).scratch(board.build))
        found["unused"] = tflm.greedy([*mentioned, *scratch], {})
    return {name: head for name, head in found.items() if head < board.head}


def _advice(cheaper: Mapping[str, int], board: TflmArena) -> list[str]:
    """Returns what would lower the arena, in words."""
    found = []
    if "offline" in cheaper:
        found.append(
            f"lower: a plan in the file (--write-offline OUT.tflite) makes the head {cheaper['offline']} bytes, "
            f"{board.head - cheaper['offline']} fewer"
        )
    if "unused" in cheaper:
        found.append(
            f"lower: without the tensors and subgraphs that no run uses, the head is {cheaper['unused']} bytes, "
            f"{board.head - cheaper['unused']} fewer"
        )
    if not found:
        at_bound = board.head == board.head_bound
        found.append(
            "the head is at its lower bound" if at_bound else "no plan in the file would make the head smaller"
        )
    return found


def _facts(options: argparse.Namespace, arenas: Mapping[str, TflmArena], cheaper: Mapping[str, int]) -> dict[str, Any]:
    """Returns the arenas as plain values."""
    return {
        "model": options.model,
        "builds": [
            {
                "build": name,
                "pointer_bytes": arena.build.pointer,
                "head": arena.head,
                "head_lower_bound": arena.head_bound,
                "persistent": arena.persistent,
                "total": arena.total,
                "tensor_arena_size": arena.tensor_arena_size,
                "exact": _basis(name, arena) == "exact",
                "shares": arena.shares,
                "operators": arena.operators,
                "unknown_operators": list(arena.unknown),
                "unknown_scratch": list(arena.unknown_scratch),
            }
            for name, arena in arenas.items()
        ],
        "head_with_offline_plan": cheaper.get("offline"),
        "head_without_unused_tensors": cheaper.get("unused"),
    }
