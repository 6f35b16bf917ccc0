"""minilite check: says which nodes of a model another machine takes, and what it needs there."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minilite.cli import arguments
from minilite.cli.output import print_json, width
from minilite.format.reader import load_model
from minilite.memory.tflm_arena import BUILDS, TflmArena, tflm_arena
from minilite.report.machines import MACHINES, Finding, facts_of, judge, table_of, verdict_of
from minilite.terminal import say
from minilite.text import cut, shape_text, table, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minilite.format.model import Model

_SHOWN = 3
"""The number of nodes that are named for an operator and a reason."""
_BOARD = "32-bit"


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "check",
        help="say which nodes of a model another machine takes",
        description="Say which nodes of a model a microcontroller, an accelerator or another runtime takes, by tables with their source. "
        "Exit status 1 if it refuses the model.",
    )  # fmt: skip
    parser.add_argument("model", metavar="MODEL", help="a .tflite file")
    parser.add_argument(
        "--for", dest="machine", metavar="MACHINE", type=_machine, required=True, help=f"one of {', '.join(MACHINES)}"
    )
    arguments.add_json(parser)
    parser.set_defaults(execute=execute)


def _machine(text: str) -> str:
    if text not in MACHINES:
        message = f"there is no table of {text!r}: there are {', '.join(MACHINES)}{arguments.meant(text, MACHINES)}"
        raise argparse.ArgumentTypeError(message)
    return text


def execute(options: argparse.Namespace) -> int:
    """Prints what is known. Returns 1 if the machine refuses the model."""
    model = load_model(options.model)
    found = judge(model, options.machine)
    arena = tflm_arena(model, BUILDS[_BOARD]) if options.machine in ("tflm", "esphome") else None
    refused = any(each.verdict == "refused" for each in found)
    if options.json:
        print_json(_facts(options, found, arena))
        return int(refused)
    say(wrapped(f"{Path(options.model).name}: {verdict_of(found, options.machine)}", width()))
    rows = _rows(found)
    if rows:
        say(table(["operator", "nodes", "first", "", "why"], rows, width=width()))
    if arena is not None and not refused:
        for line in _needs(model, arena, options.machine):
            say(wrapped(line, width()))
    say(wrapped(f"by: {table_of(options.machine).source}", width()))
    return int(refused)


def _rows(found: Sequence[Finding]) -> list[list[Any]]:
    """Returns a row for each operator and reason, refused ones first."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for each in found:
        if each.verdict != "taken":
            groups.setdefault((each.verdict, each.op, each.reason), []).append(each)
    order = ("refused", "unknown", "elsewhere")
    words = {"refused": "refused", "unknown": "not known", "elsewhere": "on the processor"}
    rows = []
    for (verdict, op, reason), nodes in sorted(groups.items(), key=lambda item: order.index(item[0][0])):
        places = " ".join(f"{each.subgraph}:{each.node}" for each in nodes[:_SHOWN] if each.node >= 0)
        more = " ..." if len(nodes) > _SHOWN else ""
        rows.append([cut(op or "(model)"), len(nodes) if op else None, places + more, words[verdict], reason])
    return rows


def _needs(model: Model, arena: TflmArena, machine: str) -> list[str]:
    """Returns what the machine has to provide."""
    least = "at least " if arena.unknown or arena.unknown_scratch else ""
    lines = [
        f"tensor_arena_size: {least}{arena.tensor_arena_size} bytes with reference kernels (minilite plan --for tflm)"
    ]
    graph = model.subgraphs[0]
    given = [graph.tensors[i] for i in graph.inputs]
    lines += [
        f"input '{cut(each.name)}' has the size in the file there, {shape_text(each.shape)}: nothing resizes it"
        for each in given
        if any(dim < 0 for dim in each.shape_signature or ())
    ]
    if machine == "esphome":
        steps = given[0].shape[1]
        lines.append(
            f"the input takes {steps} feature slices a run; ESP-NN's kernels need more scratch than these figures"
        )
        lines.append(
            "a manifest also states what no file tells: wake_word, probability_cutoff, sliding_window_size, feature_step_size"
        )
    return lines


def _facts(options: argparse.Namespace, found: Sequence[Finding], arena: TflmArena | None) -> dict[str, Any]:
    nodes = [each for each in found if each.node >= 0]
    return {
        "model": options.model,
        "machine": options.machine,
        "verdict": verdict_of(found, options.machine),
        "refused": any(each.verdict == "refused" for each in found),
        "nodes": len(nodes),
        "taken": sum(each.verdict == "taken" for each in nodes),
        "findings": facts_of(found),
        "tensor_arena_size": arena.tensor_arena_size if arena is not None else None,
        "source": table_of(options.machine).source,
    }
