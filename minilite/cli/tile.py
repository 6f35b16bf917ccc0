"""minilite tile: writes a model whose memory is smaller, because nodes run patch by patch."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite.cli.arguments import UsageError, add_json, share_of, size_in_bytes
from minilite.cli.output import print_json, width
from minilite.cli.writing import check_apart, no_file_at
from minilite.errors import ArenaError
from minilite.format.model import Model
from minilite.format.reader import load_model, read_model
from minilite.interpreter import Interpreter
from minilite.memory.tflm_arena import BUILDS, tflm_arena
from minilite.memory.tiled import find_tiles, tiled, whole_nodes
from minilite.progress import working
from minilite.terminal import say
from minilite.text import table, wrapped
from minilite.writing import write_whole

if TYPE_CHECKING:
    from minilite._native.tiles import Tiling

_TRIES = 12
_BOARD = "32-bit"


class Tried(NamedTuple):
    """A file that was tried: the bytes of its arena, its groups, and itself."""

    arena_bytes: int
    tiling: Tiling | None
    data: bytes


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "tile",
        help="write a model whose arena fits a budget, by patches",
        description="Write MODEL to OUT so that its arena takes at most --budget bytes: nodes around the peak run "
        "patch by patch. OUT is a plain .tflite file of the same results, for any runtime.",
    )
    parser.add_argument("model", metavar="MODEL", help="a .tflite file")
    parser.add_argument("out", metavar="OUT.tflite", type=Path, help="the file to write")
    parser.add_argument(
        "--budget", metavar="BYTES", type=size_in_bytes, required=True,
        help="bytes that the arena may take: 200000, 200kB (the same), 200KiB (204800)",
    )  # fmt: skip
    parser.add_argument(
        "--most-work", metavar="S", type=share_of("the model's work", "0.1"), default=None,
        help="the most multiply-adds beyond those of MODEL, as a share of them: 0.1 is ten percent (default: any)",
    )  # fmt: skip
    parser.add_argument(
        "--for", dest="target", choices=["tflm"],
        help="the arena is that of TensorFlow Lite Micro on a 32-bit board, persistent memory included",
    )  # fmt: skip
    add_json(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> None:
    """Searches, writes the file, and prints what it takes."""
    check_apart({"OUT": [options.out]}, [options.model])
    if wrong := no_file_at(options.out):
        message = f"{options.out}: {wrong}"
        raise UsageError(message)
    model = load_model(options.model)
    data = Path(options.model).read_bytes()
    with working("searching"):
        before = Tried(_arena(options, model), None, data)
        found = before if before.arena_bytes <= options.budget else _search(options, model, before)
    write_whole(options.out, found.data)
    if options.json:
        print_json(_facts(options, before, found))
    else:
        say(_text(options, before, found))


def _arena(options: argparse.Namespace, model: Model) -> int:
    """The bytes that a runtime needs for a model."""
    if options.target:
        return tflm_arena(model, BUILDS[_BOARD]).total
    interpreter = Interpreter(model)
    interpreter.allocate_tensors()
    assert interpreter.plan is not None
    return interpreter.plan.arena_bytes


def _search(options: argparse.Namespace, model: Model, before: Tried) -> Tried:
    """The file of least work within the budget. Raises: ArenaError with the smallest that was found."""
    smallest = before
    for one in _tries(options, model):
        if one.arena_bytes <= options.budget:
            return one
        smallest = min(smallest, one, key=lambda tried: tried.arena_bytes)
    where = " in TensorFlow Lite Micro" if options.target else ""
    text = f"{Path(options.model).name} takes {before.arena_bytes} bytes{where}, "
    if smallest is before:
        message = f"{text}and no tiles make it smaller"
    else:
        message = f"{text}the smallest that tiles reach is {smallest.arena_bytes}, --budget is {options.budget}"
    raise ArenaError(message)


def _tries(options: argparse.Namespace, model: Model) -> Iterator[Tried]:
    """Files of ever lower bounds. A file also needs room for the copies that join its patches, and runtimes plan in
    their own ways, so what it takes is only known once it is there."""
    apart = Interpreter(model, experimental_disable_delegate_node_fusion=True)  # each node runs by itself
    apart.allocate_tensors()
    plan = apart.plan
    assert plan is not None
    whole = whole_nodes(model, plan)
    most = -1.0 if options.most_work is None else options.most_work
    limit, bounds = min(options.budget, plan.lower_bound - 1), set[int]()
    for _ in range(_TRIES):
        tiling = find_tiles(plan, limit, most, whole)
        if not tiling.groups:
            return
        if tiling.bound not in bounds:
            data = tiled(model, plan, tiling.groups)
            numbers = [number for number, _ in plan.nodes()]  # in the file
            groups = (g._replace(first=numbers[g.first], last=numbers[g.last]) for g in tiling.groups)
            yield Tried(_arena(options, read_model(data)), tiling._replace(groups=tuple(groups)), data)
        bounds.add(tiling.bound)
        if tiling.bound > limit:  # the lowest
            return
        limit = min(tiling.bound - 1, limit * 15 // 16)


def _facts(options: argparse.Namespace, before: Tried, found: Tried) -> dict[str, Any]:
    tiling = found.tiling
    return {
        "model": options.model,
        "out": str(options.out),
        "budget": options.budget,
        "target": options.target,
        "arena_bytes_before": before.arena_bytes,
        "arena_bytes": found.arena_bytes,
        "more_work": tiling.more / tiling.work if tiling else 0.0,
        "groups": [
            {"first": g.first, "last": g.last, "rows": g.rows, "columns": g.columns}
            for g in (tiling.groups if tiling else ())
        ],
        "bytes": len(found.data),
    }


def _text(options: argparse.Namespace, before: Tried, found: Tried) -> str:
    title, tiling = Path(options.model).name, found.tiling
    where = " in TensorFlow Lite Micro" if options.target else ""
    if tiling is None:
        text = f"{title}: the arena takes {before.arena_bytes} bytes{where}, which fits: {options.out} is a copy"
        return wrapped(text, width())
    share = found.arena_bytes / before.arena_bytes
    head = (
        f"{title}: the arena takes {found.arena_bytes} bytes{where}, {share:.2f} of {before.arena_bytes}, "
        f"for {tiling.more / tiling.work:.1%} more multiply-adds"
    )
    rows = [
        (f"{g.first}-{g.last}", f"{g.rows} x {g.columns}", g.live, f"{g.more / tiling.work:.1%}") for g in tiling.groups
    ]
    lines = table(("nodes", "tiles", "live bytes", "more work"), rows, width=width())
    return f"{wrapped(head, width())}\n{lines}\nwrote {options.out}"
