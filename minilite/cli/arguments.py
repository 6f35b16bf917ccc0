"""Arguments that several commands take."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from minilite.errors import InputError
from minilite.interpreter import Interpreter

Shape = tuple[int, ...]


def positive(text: str) -> int:
    """A whole number of at least 1."""
    return _whole(text, 1)


def natural(text: str) -> int:
    """A whole number of at least 0."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        message = f"takes a whole number of at least {least}, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return number


def add_shape(parser: argparse.ArgumentParser) -> None:
    """--shape, to be read by `shapes`."""
    parser.add_argument(
        "--shape", metavar="NAME=1,64,64,3", action="append", default=[], help="resize an input; may be repeated"
    )


def add_planner(parser: argparse.ArgumentParser) -> None:
    """--planner."""
    parser.add_argument("--planner", metavar="NAME", default="default", help="planning strategy (default: %(default)s)")


def by_input(interpreter: Interpreter, option: str, pairs: Sequence[str]) -> dict[int, str]:
    """NAME=VALUE arguments by tensor number of the main subgraph's inputs. Names may hold '='. Raises: InputError."""
    names = {detail["name"]: int(detail["index"]) for detail in interpreter.get_input_details()}
    found: dict[int, str] = {}
    for pair in pairs:
        fitting = [name for name in names if pair.startswith(f"{name}=")]
        if not fitting:
            known = ", ".join(names) or "none"
            message = f"--{option} {pair}: takes NAME=VALUE with the name of an input; the model has {known}"
            raise InputError(message)
        name = max(fitting, key=len)
        if names[name] in found:
            message = f"--{option} {pair}: input '{name}' is given twice"
            raise InputError(message)
        found[names[name]] = pair[len(name) + 1 :]
    return found


def shapes(interpreter: Interpreter, pairs: Sequence[str]) -> dict[int, Shape]:
    """--shape arguments by tensor number; an empty list of dimensions is a scalar. Raises: InputError."""
    found = {}
    for index, text in by_input(interpreter, "shape", pairs).items():
        try:
            found[index] = tuple(int(dim) for dim in text.split(",")) if text.strip() else ()
        except ValueError:
            message = f"--shape: '{text}' is not a list of dimensions such as 1,64,64,3"
            raise InputError(message) from None
    return found
