"""minilite profile: what every node of a model takes, and how near that is to what the core can do."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from minilite.cli import arguments
from minilite.cli.run import random_value
from minilite.interpreter import Interpreter


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
    parser.add_argument("--threads", metavar="N", type=arguments.positive, help="how many a run may use (default: 1)")
    arguments.add_planner(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> None:
    """Runs, and prints the table."""
    from minilite.report.profile import Peaks, node_times, profile
    from minilite.report.text import count

    interpreter = Interpreter(options.model, num_threads=options.threads, planner=options.planner)
    for index, shape in arguments.shapes(interpreter, options.shape).items():
        interpreter.resize_tensor_input(index, shape)
    interpreter.allocate_tensors()
    rng = np.random.default_rng(0)
    for detail in interpreter.get_input_details():
        kind = interpreter.model.subgraphs[0].tensors[detail["index"]].type
        interpreter.set_tensor(detail["index"], random_value(detail, kind, rng))
    interpreter.invoke()
    plan = interpreter.plan
    assert plan is not None
    times = node_times(interpreter._session(), options.repeat)
    print(f"{Path(options.model).name}: {count(options.repeat, 'run')}, {count(options.threads or 1, 'thread')}")
    print(profile(times, options.repeat, Peaks(plan.level)))
