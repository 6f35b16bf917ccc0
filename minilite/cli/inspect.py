"""minilite inspect: nodes, tensors, storage and offsets of a model; --check: whether its operators run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from minilite.cli import arguments
from minilite.errors import MiniliteError
from minilite.format.reader import load_model
from minilite.interpreter import Interpreter
from minilite.report import inspection
from minilite.report.check import check


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser("inspect", help="show nodes, tensors, storage and offsets of a model")
    parser.add_argument("model", metavar="MODEL", help="a .tflite file")
    parser.add_argument(
        "--check",
        action="store_true",
        help="only say of each operator whether it is supported, and what is missing; exit status 2 if one is not",
    )
    arguments.add_shape(parser)
    arguments.add_planner(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Prints the model as planned for its shapes; where no plan can be made, as the file has it, and then why. Returns the exit
    status: 2 where operators were asked about and one is not supported."""
    if options.check:
        text, supported = check(load_model(options.model), Path(options.model).name)
        print(text)
        return 0 if supported else 2
    interpreter = Interpreter(options.model, planner=options.planner)
    title = Path(options.model).name
    try:
        for index, shape in arguments.shapes(interpreter, options.shape).items():
            interpreter.resize_tensor_input(index, shape)
        interpreter.allocate_tensors()
    except MiniliteError:
        print(inspection(interpreter.model, title), flush=True)
        raise
    print(inspection(interpreter.model, title, interpreter.plan))
    return 0
