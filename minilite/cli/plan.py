"""minilite plan: plans a model's memory by any strategy; writes plans into the model's file."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.cli import arguments, plan_memory, plan_sizes, plan_tflm
from minilite.cli.arguments import UsageError
from minilite.cli.output import print_json, width
from minilite.engine.engine import engine_of
from minilite.engine.tensor_arguments import tensor_number
from minilite.errors import InputError
from minilite.format.dtypes import array_type
from minilite.format.metadata import Metadata
from minilite.format.reader import load_model
from minilite.interpreter import Interpreter
from minilite.memory import FOREVER, UsageRecord, offline, plan, read_csv, strategies, tflm
from minilite.progress import progress, working
from minilite.report import cut, table
from minilite.terminal import complain, say
from minilite.text import exactly, wrapped
from minilite.writing import write_whole

if TYPE_CHECKING:
    from minilite.engine.model_plan import ModelPlan
    from minilite.memory import MemoryPlan

_MODEL_ONLY = ("shape", "signature", "max_arena", "write_offline", "fit", "sweep")
_ONE_PLAN = ("strategy", "capacity", "svg", "write_offline", "map")
_SECONDS = 10.0
_NODES = 1_000_000
"""The budget of the exact search in a comparison, in search nodes, so that the result is always the same."""


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "plan",
        help="plan a model's memory, or a problem from a CSV file",
        description="Plan the memory of MODEL, or of the usage records in a CSV file, and print where everything lies.",
    )
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a .tflite file")
    parser.add_argument(
        "--problem", metavar="FILE.csv", help="plan these records instead: columns id,lower,upper,size[,offset]"
    )
    parser.add_argument(
        "--strategy",
        metavar="NAME",
        type=arguments.strategy,
        help="planning strategy (default: default; exact for offline plans)",
    )
    parser.add_argument("--compare", action="store_true", help="plan by every strategy and print their arenas")
    arguments.add_shape(parser)
    arguments.add_signature(parser)
    arguments.add_max_arena(parser)
    parser.add_argument(
        "--alignment", metavar="N", type=arguments.positive, help="of offsets (default: 64; problems: 1)"
    )
    parser.add_argument("--capacity", metavar="N", type=arguments.positive, help="bytes the arena may take")
    parser.add_argument("--seconds", metavar="S", type=_seconds, help="CPU time an exact search may take (models: 10)")
    parser.add_argument(
        "--write-offline", metavar="OUT.tflite", type=Path, help="write the model with a memory plan for TFLM in it"
    )
    parser.add_argument("--svg", metavar="OUT.svg", type=Path, help="draw the plan, or what --sweep has found")
    parser.add_argument(
        "--map", action="store_true", help="print the arena node by node, as TFLM's PrintMemoryPlan does"
    )
    parser.add_argument(
        "--bind", metavar="TENSOR", action="append", default=[],
        help="plan without this tensor, by name or number, as if it were bound to an array; may be repeated",
    )  # fmt: skip
    plan_sizes.add_arguments(parser)
    plan_tflm.add_arguments(parser)
    plan_memory.add_arguments(parser)
    arguments.add_json(parser)
    parser.set_defaults(execute=execute)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        message = f"takes seconds above 0, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return seconds


def execute(options: argparse.Namespace) -> int:
    """Plans, prints, and writes the requested files."""
    if (options.model is None) == (options.problem is None):
        message = "takes a MODEL or --problem FILE.csv, one of the two"
        raise UsageError(message)
    if options.model is not None and options.model.endswith(".csv"):
        message = f"{options.model} is not a model: give usage records with --problem {options.model}"
        raise UsageError(message)
    plan_tflm.check_options(options)
    plan_memory.check_options(options)
    plan_sizes.check_options(options)
    if options.target:
        plan_tflm.show(options)
        return 0
    if options.memory:
        plan_memory.show(options)
        return 0
    if options.fit is not None or options.sweep:
        return (plan_sizes.sweep if options.sweep else plan_sizes.fit)(options)
    if options.compare:
        _compare(options)
        return 0
    started = time.process_time()
    found: ModelPlan | None = None
    with working("planning"):
        if options.problem is not None:
            title, made = Path(options.problem).name, _problem(options)
        elif options.write_offline:
            title, made = Path(options.model).name, _offline(options)
        else:
            title, (made, found) = Path(options.model).name, _model(options)
    spent = time.process_time() - started
    if options.json:
        print_json({**_facts(options, made, spent), **_facts_of_model(found)})
    else:
        if options.model and (told := arguments.signature_line(load_model(options.model), options.signature)):
            say(wrapped(told, width()))
        if options.model and not options.write_offline and offline.NAME in load_model(options.model).metadata:
            say(wrapped("the file has a memory plan for TFLM, which this one replaces here", width()))
        say(_summary(title, made, spent, found))
        if options.write_offline and not options.map:
            say(wrapped("scopes are TFLM's: 1 lies before node 0, and each node is one more", width()) + "\n")
        say(_map(made) if options.map else _places(made, "scope" if options.write_offline else "node"))
    if not options.json and options.capacity is not None and made.arena_bytes > options.capacity:
        say(f"does not fit {options.capacity} bytes: the budget ran out, it is not known whether another plan does")
    if options.svg is not None:
        told = ", ".join(filter(None, (title, made.title, f"strategy {made.strategy}")))
        write_whole(options.svg, replace(made, title=told).to_svg())
        plan_sizes.tell_written(options, options.svg)
    return 0


def _problem(options: argparse.Namespace) -> MemoryPlan:
    return plan(
        _problem_records(options), options.strategy or "default", options.alignment or 1,
        capacity=options.capacity, max_seconds=options.seconds,
    )  # fmt: skip


def _problem_records(options: argparse.Namespace) -> list[UsageRecord]:
    for name in _MODEL_ONLY:
        if getattr(options, name):
            message = f"--{name.replace('_', '-')} goes with a MODEL"
            raise UsageError(message)
    records = read_csv(options.problem)
    for text in options.bind:
        if text not in {str(record.tensor) for record in records}:
            message = f"--bind {text}: the problem has no record of this tensor"
            raise UsageError(message)
    return [record for record in records if str(record.tensor) not in options.bind]


def _model(options: argparse.Namespace) -> tuple[MemoryPlan, ModelPlan]:
    """Plans the records of the engine's plan, which comes second, by the given strategy."""
    records, names, found = _model_records(options)
    made = plan(
        records, options.strategy or "default", options.alignment or 64,
        capacity=options.capacity, max_seconds=options.seconds or _SECONDS, names=names,
    )  # fmt: skip
    return replace(made, title=found.inputs_text()), found


def _model_records(options: argparse.Namespace) -> tuple[list[UsageRecord], dict[int, str], ModelPlan]:
    """Returns the records of the engine's plan, after sharing in place, their names, and that plan. A plan in the file
    is ignored."""
    model = load_model(options.model)
    bare = {name: payload for name, payload in model.metadata.items() if name != offline.NAME}
    interpreter = Interpreter(
        model._replace(metadata=Metadata(bare)), max_arena=options.max_arena, signature=options.signature
    )
    shapes = arguments.shapes(interpreter, options.shape)
    found = _bound(interpreter, options, shapes) if options.bind else interpreter.plan_for(shapes)
    records = [UsageRecord(tensor, size, first, last) for tensor, size, first, last, _ in found.records()]
    return records, found.record_names(), found


def _bound(interpreter: Interpreter, options: argparse.Namespace, shapes: Mapping[int, arguments.Shape]) -> ModelPlan:
    """Returns the plan with each tensor of --bind bound to an array of its size. Raises: UsageError; InputError for
    tensors that cannot be bound."""
    graph, plan = engine_of(interpreter).graph, interpreter.plan_for(shapes)
    names = {tensor.name for tensor in graph.tensors}
    for text in options.bind:
        index = tensor_number(graph, text) if text in names else int(text) if text.isdecimal() else -1
        if not 0 <= index < len(graph.tensors):
            message = f"--bind {text}: the model has no tensor of this name, and numbers go to {len(graph.tensors) - 1}"
            raise UsageError(message)
        dtype = array_type(graph.tensors[index].type)
        interpreter.bind_tensor(index, np.empty(-(-plan.tensor(index).bytes // dtype.itemsize), dtype))
    arguments.resize(interpreter, options.shape)
    interpreter.allocate_tensors()  # bindings take effect here
    found = interpreter.plan
    assert found is not None
    return found


def _compare(options: argparse.Namespace) -> None:
    """Plans the same records by every strategy, and prints the arena bytes and their distance from the lower bound,
    without times."""
    for name in _ONE_PLAN:
        if getattr(options, name) not in (None, False):
            message = f"--{name.replace('_', '-')} goes with one plan, --compare makes one by every strategy"
            raise UsageError(message)
    records = _problem_records(options) if options.problem is not None else _model_records(options)[0]
    alignment = options.alignment or (1 if options.problem is not None else 64)
    limits = {"max_seconds": options.seconds} if options.seconds is not None else {"max_nodes": _NODES}
    made, refused = [], []
    names = strategies()
    for strategy in progress(names, "strategy"):
        try:
            made.append(plan(records, strategy, alignment, **limits))
        except InputError as error:  # the strategy takes no fixed records
            refused.append((strategy, str(error).split(", and ")[0].removeprefix(f"strategy '{strategy}' ")))
    made.sort(key=lambda found: found.arena_bytes)
    bound = made[0].lower_bound
    if options.json:
        print_json(_comparison(options, len(records), alignment, made, refused))
        return
    say(
        wrapped(
            f"{Path(options.problem or options.model).name}: {len(records)} records, alignment {alignment}", width()
        )
    )
    say(f"lower bound {exactly(bound)}")
    rows: list[list[str | int]] = [[found.strategy, found.arena_bytes, *_gap(found)] for found in made]
    rows += [[strategy, "", "", reason] for strategy, reason in refused]
    say(table(("strategy", "bytes", "above bound", ""), rows, width=width()))


def _comparison(
    options: argparse.Namespace, records: int, alignment: int, made: list[MemoryPlan], refused: list[tuple[str, str]]
) -> dict[str, Any]:
    """Returns the comparison as plain values, the smallest first."""
    plans = [
        {
            "strategy": found.strategy,
            "arena_bytes": found.arena_bytes,
            "above_bound": found.arena_bytes - found.lower_bound,
            "proved_optimal": found.proved_optimal,
            "refused": None,
        }
        for found in made
    ]
    none = {"arena_bytes": None, "above_bound": None, "proved_optimal": False}
    return {
        "model": options.model,
        "problem": options.problem,
        "records": records,
        "alignment": alignment,
        "lower_bound": made[0].lower_bound,
        "strategies": plans + [{"strategy": strategy, **none, "refused": reason} for strategy, reason in refused],
    }


def _facts(options: argparse.Namespace, made: MemoryPlan, seconds: float) -> dict[str, Any]:
    """Returns a plan as plain values."""
    records = [
        {
            "tensor": record.tensor,
            "name": made.label(at),
            "offset": offset,
            "bytes": record.size,
            "first_node": record.first_node,
            "last_node": None if record.last_node >= FOREVER else record.last_node,
        }
        for at, (record, offset) in enumerate(zip(made.records, made.offsets, strict=True))
    ]
    return {
        "model": options.model,
        "problem": options.problem,
        "strategy": made.strategy,
        "alignment": made.alignment,
        "arena_bytes": made.arena_bytes,
        "lower_bound": made.lower_bound,
        "proved_optimal": made.proved_optimal,
        "searched": made.searched,
        "cpu_seconds": seconds,
        "records": records,
    }


def _facts_of_model(found: ModelPlan | None) -> dict[str, Any]:
    """Returns what only a model's plan has."""
    tiles = [
        {"first_node": first, "last_node": last, "rows": group.rows, "columns": group.columns}
        for first, last, group in (found.tile_nodes() if found is not None else ())
    ]
    return {"input_bytes": found.input_bytes if found is not None else 0, "tiles": tiles}


def _gap(made: MemoryPlan) -> tuple[int, str]:
    """Returns the bytes above the bound, also as text."""
    gap = made.arena_bytes - made.lower_bound
    if gap == 0 or made.lower_bound == 0:
        return gap, "at the bound" if gap == 0 else ""
    return gap, f"{100 * gap / made.lower_bound:.2f} %" + (", optimal" if made.proved_optimal else "")


def _offline(options: argparse.Namespace) -> MemoryPlan:
    """Plans by TFLM's lifetimes and writes the file."""
    for name in ("shape", "signature"):
        if getattr(options, name):
            message = f"--{name}: an offline plan is made for subgraph 0 and the file's own shapes"
            raise UsageError(message)
    if options.alignment not in (None, tflm.ALIGNMENT):
        message = f"--alignment {options.alignment}: offline plans are aligned to {tflm.ALIGNMENT}"
        raise UsageError(message)
    data, made = offline.write_offline(
        Path(options.model).read_bytes(), options.strategy or "exact",
        max_seconds=options.seconds or _SECONDS, capacity=options.capacity,
    )  # fmt: skip
    write_whole(options.write_offline, data)
    left = len(made.plan.records) - len(made.offsets)
    tell = complain if options.json else say
    tell(wrapped(f"{options.write_offline}: {len(made.offsets)} tensors fixed, {left} left to run time", None))
    return made.plan


def _summary(title: str, made: MemoryPlan, seconds: float, found: ModelPlan | None) -> str:
    gap = made.arena_bytes - made.lower_bound
    percent = f", {100 * gap / made.lower_bound:.2f} %" if made.lower_bound else ""
    unit = "node" if made.strategy == "exact" else "pass"
    beside = found.input_bytes if found is not None else 0
    tiles = found.tiles_text() if found is not None else ""
    many = "" if made.searched == 1 else "s" if unit == "node" else "es"
    rows = [
        ("arena", exactly(made.arena_bytes)),
        ("lower bound", exactly(made.lower_bound)),
        ("gap", f"{exactly(gap)}{percent}"),
        *([("inputs beside", exactly(beside))] if beside else []),
        *([("tiles", tiles)] if tiles else []),
        ("proved optimal", "yes" if made.proved_optimal else "no"),
        ("searched", f"{made.searched} {unit}{many}"),
        ("CPU time", f"{seconds:.3f} s"),
    ]
    head = f"{title}: {len(made.records)} records, strategy {made.strategy}, alignment {made.alignment}"
    return "\n".join([wrapped(head, width()), *(f"{name:<15} {value}" for name, value in rows), ""])


def _places(made: MemoryPlan, moment: str) -> str:
    """Returns the table of places; `moment` is what a record's first and last one are numbers of."""
    labels = made.short_labels()
    rows = [
        (
            str(record.tensor),
            str(offset),
            str(record.size),
            str(record.first_node),
            _last(record),
            cut(labels[at], 48),
        )
        for at, (record, offset) in enumerate(zip(made.records, made.offsets, strict=True))
    ]
    heads = ("tensor", "offset", "bytes", f"first {moment}", f"last {moment}", "name")
    return table(heads, rows, width=width())


def _map(made: MemoryPlan) -> str:
    """Returns the memory map; its rows show the arena in fewer characters if the lines would not fit."""
    columns = 80
    longest = max(map(len, made.memory_map(columns).splitlines()[len(made.records) :]), default=0)
    lines = made.memory_map(max(1, columns - max(0, longest - width()))).splitlines()
    return "\n".join([*(wrapped(line, width()) for line in lines[: len(made.records)]), *lines[len(made.records) :]])


def _last(record: UsageRecord) -> str:
    return "end" if record.last_node >= FOREVER else str(record.last_node)
