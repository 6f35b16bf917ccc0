"""minilite profile: measures the time of every node of a model, and its share of the peak of one core."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from minilite.cli import arguments, feeding
from minilite.cli.arguments import UsageError
from minilite.cli.output import print_json, width
from minilite.engine.engine import engine_of
from minilite.interpreter import Interpreter
from minilite.profiling.profile import profile
from minilite.progress import progress
from minilite.terminal import say
from minilite.text import count, wrapped
from minilite.writing import write_whole


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "profile",
        help="time every node of a model",
        description="Run a model and print what every node takes: median time and its spread, share, multiply-adds, bytes, and how near that "
        "is to what one core can do.",
    )  # fmt: skip
    parser.add_argument("model", metavar="MODEL", help="a .tflite file")
    feeding.add_inputs(parser)
    arguments.add_shape(parser)
    arguments.add_signature(parser)
    parser.add_argument("--runs", metavar="N", type=arguments.positive, default=50, help="timed runs (default: 50)")
    parser.add_argument(
        "--trace", metavar="OUT.json", type=Path, help="write a Chrome trace of the runs: for Perfetto or speedscope"
    )
    arguments.add_threads(parser)
    arguments.add_level(parser)
    arguments.add_planner(parser)
    arguments.add_max_arena(parser)
    arguments.add_fast_convolutions(parser)
    arguments.add_cache_dir(parser)
    arguments.add_json(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> None:
    """Runs, and prints the table."""
    if options.trace is not None and not options.trace.parent.is_dir():
        message = f"--trace {options.trace}: there is no folder {str(options.trace.parent)!r}"
        raise UsageError(message)
    interpreter = Interpreter(
        options.model,
        num_threads=options.threads,
        planner=options.planner,
        level=options.level,
        max_arena=options.max_arena,
        signature=options.signature,
        fast_convolutions=options.fast_convolutions,
        cache_dir=options.cache_dir,
    )
    feeding.prepare(interpreter, options)
    session, trace = engine_of(interpreter).session(), options.trace is not None
    found = profile(session, options.runs, options.threads or 1, trace=trace, progress=progress)
    if options.trace is not None:
        write_whole(options.trace, found.trace())
    if options.json:
        print_json({"model": options.model} | found.facts())
        return
    threads = f"{count(found.threads, 'thread')}, level {found.level}"
    say(wrapped(f"{Path(options.model).name}: {count(found.runs, 'run')}, {threads}", width()))
    if told := arguments.signature_line(interpreter.model, options.signature):
        say(wrapped(told, width()))
    say(found.text(width()))
    if options.trace is not None:
        lost = f", {found.timing.lost} events left out" if found.timing.lost else ""
        say(wrapped(f"wrote {options.trace}{lost}", None))
