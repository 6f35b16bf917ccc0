"""minilite plan --fit and --sweep: finds the largest size of inputs that fits, and plans many sizes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minilite.cli import arguments
from minilite.cli.arguments import UsageError
from minilite.cli.output import print_json, width
from minilite.engine import sizes
from minilite.engine.engine import engine_of
from minilite.errors import InputError
from minilite.interpreter import Interpreter
from minilite.numeric import byte_count
from minilite.progress import progress, working
from minilite.report.sizes_svg import plot
from minilite.terminal import complain, say
from minilite.text import count, cut, duration, shape_text, table, wrapped
from minilite.writing import csv_text, write_whole

if TYPE_CHECKING:
    from minilite.engine.sizes import Fit, PlannedSize, Shape

_POINTS, _MOST = 32, 10_000
"""The largest number of sizes in a sweep without a given step, and in any sweep."""
_NODE = re.compile(r"^subgraph 0, node (\d+) \((\w+)(?: '.*?')?\): ")
"""The coordinates at the start of a refusal."""
_RANGE = re.compile(r"(\d+)\.\.(\d+)(?::(\d+))?")
_NOT_OF_SIZES = ("strategy", "capacity", "alignment", "seconds", "write_offline", "compare", "map", "bind", "problem")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --fit, --axis, --step, --sweep, --csv."""
    parser.add_argument(
        "--fit", metavar="BYTES", help="find the largest size whose arena fits: 8000000, 8MB (the same), 8MiB (8388608)"
    )
    parser.add_argument(
        "--axis",
        choices=sizes.AXES,
        help="of which size, with --fit (default: one that the file leaves open, else batch)",
    )
    parser.add_argument(
        "--step", metavar="N", type=arguments.positive,
        help="between sizes, with --fit (default: as near as the model accepts)",
    )  # fmt: skip
    parser.add_argument(
        "--sweep", metavar="[NAME=]1,16..512,16..512,3", action="append", default=[],
        help="plan many sizes; ranges move together from end to end, 16..512:8 in steps of 8; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--csv", metavar="OUT.csv", type=Path, help="write what --sweep or --memory has found as a table"
    )


def check_options(options: argparse.Namespace) -> None:
    """Refuses options that do not go together. Raises: UsageError."""
    if options.fit is not None and options.sweep:
        message = "--fit and --sweep: one of the two"
        raise UsageError(message)
    for name, goes in (("axis", options.fit), ("step", options.fit), ("csv", options.sweep)):
        if getattr(options, name) is not None and not goes and not options.memory:
            message = f"--{name} goes with {'--sweep or --memory' if name == 'csv' else '--fit'}"
            raise UsageError(message)
    if options.fit is None and not options.sweep:
        return
    mode = "--sweep" if options.sweep else "--fit"
    for name in _NOT_OF_SIZES:
        if getattr(options, name) not in (None, False, []):
            message = f"--{name.replace('_', '-')} does not go with {mode}"
            raise UsageError(message)
    if options.fit is not None and options.svg is not None:
        message = "--svg does not go with --fit: --sweep draws sizes"
        raise UsageError(message)


def fit(options: argparse.Namespace) -> int:
    """Finds the largest size and prints it, with its neighbours. Returns exit status 1 if no size fits."""
    interpreter = Interpreter(options.model, max_arena=options.max_arena, signature=options.signature)
    given = arguments.shapes(interpreter, options.shape)
    try:
        byte_count(options.fit)
    except InputError as error:
        message = f"--fit: {error}"
        raise UsageError(message) from None
    with working("planning"):
        found = interpreter.fit(options.fit, options.axis, shapes=given, step=options.step)
    if options.json:
        print_json(_fit_facts(options, found))
    else:
        say(_fit_text(Path(options.model).name, found))
    return int(found.best is None)


def _fit_facts(options: argparse.Namespace, found: Fit) -> dict[str, Any]:
    return {
        "model": options.model,
        "budget": found.budget,
        "axis": found.axis,
        "step": found.step,
        "finished": found.finished,
        "monotone": found.monotone,
        "size": found.best.size if found.best else None,
        "arena_bytes": found.best.arena_bytes if found.best else None,
        "tried": [size_facts(one) for one in found.tried],
    }


def size_facts(one: PlannedSize) -> dict[str, Any]:
    """Returns a planned size as plain values."""
    return {
        "size": one.size,
        "inputs": {name: list(shape) for name, shape in one.shapes.items()},
        "arena_bytes": one.arena_bytes,
        "lower_bound": one.lower_bound,
        "seconds": one.seconds,
        "refused": one.refused,
    }


def _fit_text(title: str, found: Fit) -> str:
    best = found.best
    head = f"{title}: the largest {found.axis} within {found.budget} bytes"
    plans = count(len(found.tried), "plan")
    if best is None:
        smallest = next(one for one in found.tried if one.arena_bytes is not None)
        least = f"{found.axis} {smallest.size} takes {smallest.arena_bytes} bytes, the least of the sizes tried"
        lines = [wrapped(f"{head}: none of the sizes tried fits ({plans})", width()), wrapped(least, width())]
    else:
        lines = [wrapped(f"{head} is {best.size} ({plans})", width())]
        beyond = [one for one in found.tried if one.size > best.size]
        near = [one for one in found.tried if one.size <= best.size][-2:] + beyond[:2]
        lines.append(_size_table(near, found.budget))
    if not found.finished:
        lines.append(wrapped(f"the search ended after {plans}: a larger size may fit", width()))
    if not found.monotone:
        lines.append(wrapped(_not_monotone(found), width()))
    return "\n".join(lines)


def _not_monotone(found: Fit) -> str:
    """Names the first two sizes of which the larger one has the smaller arena."""
    accepted = [one for one in found.tried if one.arena_bytes is not None]
    largest = f"{found.best.size} is the largest size tried that fits" if found.best else "no size tried fits"
    for smaller, larger in pairwise(accepted):
        if (larger.arena_bytes or 0) < (smaller.arena_bytes or 0):
            return (
                f"the arena does not grow with the {found.axis}: {smaller.size} takes {smaller.arena_bytes} bytes, "
                f"{larger.size} takes {larger.arena_bytes}; {largest}"
            )
    refused = next(one for one in found.tried if one.refused and accepted[0].size < one.size < accepted[-1].size)
    return f"sizes in between are refused, so {largest}; {refused.size}: {cut(refused.refused or '', 200)}"


def _size_table(found: Sequence[PlannedSize], budget: int | None = None) -> str:
    rows = [
        [
            one.size,
            " ".join(f"{cut(name, 24)} {shape_text(shape)}" for name, shape in one.shapes.items()),
            one.arena_bytes,
            None if one.arena_bytes is None else one.lower_bound,
            f"{100 * one.arena_bytes / budget:.1f}" if budget and one.arena_bytes is not None else None,
            duration(one.seconds) if one.arena_bytes is not None else None,
            f"refused: {_reason(one.refused)}" if one.refused else None,
        ]
        for one in found
    ]
    head = ("size", "inputs", "arena", "lower bound", "% of budget", "planning", "")
    return table(head, rows, width=width(), spare=("planning", "lower bound", "inputs"))


def _reason(refused: str) -> str:
    """The reason without the name of the node's output, which is long, and without subgraph 0."""
    return cut(_NODE.sub(r"node \1 \2: ", refused), 120)


# Sweeps ---------------------------------------------------------------------------------------------------------------


def sweep(options: argparse.Namespace) -> int:
    """Plans every size, prints a table, and writes CSV and the plot."""
    interpreter = Interpreter(options.model, max_arena=options.max_arena, signature=options.signature)
    wanted = swept_sizes(interpreter, options.sweep, arguments.shapes(interpreter, options.shape))
    graph, session = engine_of(interpreter).graph, engine_of(interpreter).session()
    each = sizes.sweep(session.plan_for, graph, wanted)
    found = list(progress(each, "size", len(wanted)))
    if options.csv is not None:
        write_whole(options.csv, sizes_csv(found))
    if options.svg is not None:
        write_whole(options.svg, plot(Path(options.model).name, found))
    if options.json:
        print_json({"model": options.model, "sizes": [size_facts(one) for one in found]})
    else:
        refused = sum(one.refused is not None for one in found)
        more = f", {refused} refused" if refused else ""
        say(wrapped(f"{Path(options.model).name}: {count(len(found), 'size')}{more}", width()))
        say(_size_table(found))
    tell_written(options, options.csv, options.svg)
    return 0


def tell_written(options: argparse.Namespace, *paths: Path | None) -> None:
    """Names the files that were written: beside JSON on standard error."""
    for path in filter(None, paths):
        (complain if options.json else say)(wrapped(f"wrote {path}", None))


def sizes_csv(found: Sequence[PlannedSize]) -> str:
    """Returns one line per size: `size,inputs,arena_bytes,lower_bound,planning_seconds,refused`."""
    rows: list[tuple[Any, ...]] = [("size", "inputs", "arena_bytes", "lower_bound", "planning_seconds", "refused")]
    for one in found:
        shapes = " ".join(f"{name}={shape_text(shape)}" for name, shape in one.shapes.items())
        figures = ("", "") if one.arena_bytes is None else (one.arena_bytes, one.lower_bound)
        rows.append((one.size, shapes, *figures, f"{one.seconds:.9f}", one.refused or ""))
    return csv_text(rows)


def swept_sizes(
    interpreter: Interpreter, values: Sequence[str], others: Mapping[int, Shape]
) -> list[tuple[int, dict[int, Shape]]]:
    """Returns --sweep arguments as (size, shapes by tensor number); the size is the first range's. Raises:
    UsageError."""
    rows = {index: text.split(",") for index, text in arguments.by_input(interpreter, "--sweep", values).items()}
    ranges = [part for row in rows.values() for part in row if ".." in part]
    if not ranges:
        message = f"--sweep {values[0]}: has no range such as 16..512"
        raise UsageError(message)
    first = _range_of(ranges[0])
    numbers = list(range(first[0], first[1] + 1, first[2]))
    if numbers[-1] != first[1]:
        numbers.append(first[1])
    if len(numbers) > _MOST:
        message = f"--sweep {ranges[0]}: {len(numbers)} sizes, must be at most {_MOST}"
        raise UsageError(message)
    length = max(first[1] - first[0], 1)
    return [
        (number, {**others, **{i: _shape(row, (number - first[0]) / length) for i, row in rows.items()}})
        for number in numbers
    ]


def _range_of(text: str) -> tuple[int, int, int]:
    """Reads a range's ends, both inclusive, and its step. Raises: UsageError."""
    found = _RANGE.fullmatch(text.strip())
    if found is None or int(found[1]) > int(found[2]) or int(found[2]) >= 2**31 or found[3] == "0":
        message = f"--sweep: '{text}' is not a range such as 16..512 or 16..512:8, from its lower to its upper end"
        raise UsageError(message)
    low, high = int(found[1]), int(found[2])
    near = -(-(high - low) // (_POINTS - 1)) or 1
    return low, high, int(found[3]) if found[3] else 1 << (near - 1).bit_length()


def _shape(row: Sequence[str], share: float) -> Shape:
    """Returns a shape at a point between the ends of its ranges. Raises: UsageError."""
    dims = []
    for part in row:
        if ".." in part:
            low, high, _ = _range_of(part)
            dims.append(low + round(share * (high - low)))
        elif part.strip().isdecimal() and int(part) < 2**31:
            dims.append(int(part))
        else:
            message = f"--sweep: '{part}' is neither a dimension nor a range such as 16..512"
            raise UsageError(message)
    return tuple(dims)
