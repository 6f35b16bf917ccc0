"""minilite replay: makes the calls of a recording again and compares the results."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from minilite.cli import arguments
from minilite.cli.output import print_json, width
from minilite.comparison.replay import replay
from minilite.comparison.text import comparison_text
from minilite.progress import progress
from minilite.terminal import say


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "replay",
        help="run a recording again and compare what comes out",
        description="Make the calls of a recording again, on the model that was recorded, and compare the outputs of each run with "
        "those that were recorded. Exit status 1 if they differ: integers at all, floats by more than rounding.",
    )  # fmt: skip
    parser.add_argument(
        "recording", metavar="RECORDING", help="a .npz of `minilite run --record` or of Interpreter.recording"
    )
    parser.add_argument("model", metavar="MODEL", help="the .tflite file that was recorded")
    arguments.add_level(parser)
    parser.add_argument("--signature", metavar="KEY", help="compare only runs of this signature (default: all runs)")
    arguments.add_threads(parser)
    arguments.add_tolerance(parser)
    arguments.add_json(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Replays, and prints the table. Returns the exit status."""
    found = replay(
        options.recording, options.model, level=options.level, num_threads=options.threads,
        tolerance=options.tolerance, signature=options.signature, progress=progress,
    )  # fmt: skip
    found = found._replace(models=(found.models[0], Path(options.model).name))
    if options.json:
        print_json(found.to_json())
    else:
        say(comparison_text(found, width()))
    return int(not found.agrees)
