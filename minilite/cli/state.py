"""Carries what a model keeps between runs from one `minilite run` to the next, in a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from minilite.engine import states
from minilite.errors import InputError
from minilite.inputs.foreign import foreign
from minilite.interpreter import Interpreter
from minilite.writing import write_whole


def add_state(parser: argparse.ArgumentParser) -> None:
    """--state."""
    parser.add_argument(
        "--state", metavar="FILE", type=Path,
        help="begin with the variables in this file, if it is there, and write them to it after the runs",
    )  # fmt: skip


def take(interpreter: Interpreter, path: Path | None) -> None:
    """Gives the interpreter the variables in the file, if it is there. Raises: InputError, which names the file."""
    if path is None or not path.exists():
        return
    with foreign(str(path)):
        data = path.read_bytes()
    try:
        interpreter.set_state(states.from_bytes(data))
    except InputError as error:
        message = f"--state {path}: {error}"
        raise InputError(message) from None


def keep(interpreter: Interpreter, path: Path | None) -> list[Path]:
    """Writes the interpreter's variables to the file; returns the files written."""
    if path is None:
        return []
    write_whole(path, states.as_bytes(interpreter.get_state()))
    return [path]
