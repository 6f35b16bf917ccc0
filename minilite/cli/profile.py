"""minilite profile: the time of every node of a model, and how near it is to the peak of one core."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from minilite.cli import arguments
from minilite.cli.feeding import set_inputs
from minilite.cli.output import print_json, width
from minilite.interpreter import Interpreter
from minilite.progress import progress
from minilite.report.profile import Peaks, node_times, profile, profile_facts
from minilite.text import count, wrapped


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "profile",
        help="time every node of a model",
        description="Run a model on random inputs and print what every node takes: time, share, multiply-adds, bytes, and how near that is to "
        "what one core can do.",
    )  # fmt: skip
    parser.add_argument("model", metavar="MODEL", help="a .tflite file")
    arguments.add_shape(parser)
    parser.add_argument("--repeat", metavar="N", type=arguments.positive, default=20, help="runs (default: 20)")
    arguments.add_threads(parser)
    arguments.add_planner(parser)
    arguments.add_json(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> None:
    """Runs, and prints the table."""
    interpreter = Interpreter(options.model, num_threads=options.threads, planner=options.planner)
    arguments.resize(interpreter, options.shape)
    interpreter.allocate_tensors()
    set_inputs(interpreter, {}, 0)
    interpreter.invoke()
    plan = interpreter.plan
    assert plan is not None
    times = node_times(interpreter._session(), progress(range(options.repeat), "run"))
    threads, peaks = options.threads or 1, Peaks(plan.level)
    if options.json:
        head = {"model": options.model, "runs": options.repeat, "threads": threads, "level": plan.level}
        print_json(head | profile_facts(times, options.repeat, peaks))
        return
    print(wrapped(f"{Path(options.model).name}: {count(options.repeat, 'run')}, {count(threads, 'thread')}", width()))
    print(profile(times, options.repeat, peaks, width()))
