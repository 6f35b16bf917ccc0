"""minilite bench: measures loading, running and resizing a model, alone or in turns with LiteRT."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from minilite.cli import arguments, feeding
from minilite.cli.output import print_json, width
from minilite.comparison.bench import bench, bench_facts
from minilite.engine import sizes
from minilite.engine.engine import engine_of
from minilite.interpreter import Interpreter
from minilite.progress import progress
from minilite.terminal import say
from minilite.text import Cell, count, duration, shape_text, table, wrapped


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "bench",
        help="measure loading, running and resizing, also beside LiteRT",
        description="Measure what a user of a model waits for: loading, allocating, the first run, runs, resizing to sizes that were used before "
        "and to new ones, and the memory of a process.",
    )  # fmt: skip
    parser.add_argument("model", metavar="MODEL", help="a .tflite file")
    feeding.add_inputs(parser)
    arguments.add_shape(parser)
    arguments.add_signature(parser)
    parser.add_argument(
        "--axis", choices=sizes.AXES,
        help="which size is changed where resizing is measured (default: one that the file leaves open, else the first of batch, side and length "
        "of which the model takes others)",
    )  # fmt: skip
    parser.add_argument("--against", choices=("litert",), help="measure LiteRT too, in turns, and print ratios")
    parser.add_argument("--runs", metavar="N", type=arguments.positive, default=100, help="runs (default: 100)")
    arguments.add_threads(parser)
    arguments.add_level(parser)
    arguments.add_json(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> None:
    """Measures, and prints a table for each runtime, or one of both."""
    interpreter = Interpreter(
        options.model, num_threads=options.threads, level=options.level, signature=options.signature
    )
    feeding.prepare(interpreter, options)
    inputs = engine_of(interpreter).graph.inputs
    arrays = {index: interpreter.get_tensor(index) for index in inputs}
    found = bench(
        options.model, arrays=arrays, litert=options.against is not None, threads=options.threads or 1,
        level=options.level, runs=options.runs, axis=options.axis, signature=options.signature, progress=progress,
    )  # fmt: skip
    plan = interpreter.plan
    head = {"model": options.model, "runs": options.runs, "threads": options.threads or 1}
    head |= {"level": plan.level if plan is not None else None}
    if options.json:
        print_json(head | bench_facts(found))
        return
    shapes = ", ".join(shape_text(array.shape) for array in arrays.values()) or "no inputs"
    threads = count(head["threads"], "thread")
    say(
        wrapped(
            f"{Path(options.model).name}: {shapes}, {count(options.runs, 'run')}, {threads}, level {head['level']}",
            width(),
        )
    )
    if told := arguments.signature_line(interpreter.model, options.signature):
        say(wrapped(told, width()))
    say(_text(found))


def _text(found: Any) -> str:
    """Returns medians and percentiles; with a second runtime also the ratio."""
    header = ["", *(found.names if len(found.names) > 1 else ["median"])]
    header += ["90 %", "99 %"] if len(found.names) == 1 else ["ratio", "quartiles"]
    rows: list[list[Cell]] = [[step.replace("_", " "), *_cells(found, step)] for step in found.samples]
    peaks = [f"{peak / 2**20:.1f} MiB" if peak is not None else "?" for peak in found.peak_bytes]
    rows.append(["memory", *peaks, *_peak_ratio(found)])
    lines = [table(header, rows, width=width())]
    if len(found.names) > 1:
        note = f"medians; ratio: {found.names[1]} / {found.names[0]}, above 1 the latter is faster or smaller"
        lines.append(wrapped(note, width()))
    return "\n".join([*lines, *(wrapped(note, width()) for note in found.notes)])


def _cells(found: Any, step: str) -> list[Cell]:
    each = found.samples[step]
    cells: list[Cell] = [duration(float(np.median(samples))) for samples in each]
    ratio = found.ratio(step)
    if ratio is None:
        return [*cells, *(duration(float(np.percentile(each[0], percent))) for percent in (90, 99))]
    median, low, high = ratio
    return [*cells, f"{median:.2f}", f"{low:.2f} to {high:.2f}"]


def _peak_ratio(found: Any) -> list[Cell]:
    both = [peak for peak in found.peak_bytes if peak]
    return [f"{both[1] / both[0]:.2f}", None] if len(both) == 2 else [None, None]
