"""The minilite command: run, inspect, plan, profile, as."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from minilite.cli import inspect, plan, profile, run, stand_in
from minilite.errors import MiniliteError, UnsupportedOpError

COMMANDS = (run, inspect, plan, profile, stand_in)
"""Modules with `add_parser(commands)`, which sets `execute(options)`, whose answer is the exit status if it has one, as the parser's
default."""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from minilite import __version__, _native

        print(f"minilite {__version__}, instructions: {', '.join(_native.level_names())}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="minilite", description="Run .tflite models and look inside them.")
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="print the version and the levels of instructions that run here"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns the exit status: 0, or 2 with one line on stderr (one more for each unsupported operator), or with what
    `inspect --check` prints."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.execute(options) or 0
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has seen enough
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        sys.stderr.write("minilite: interrupted\n")
        return 130
    except UnsupportedOpError as error:  # a line for each operator
        sys.stderr.write(f"minilite: {error}\n")
        return 2
    except (MiniliteError, OSError, MemoryError) as error:
        sys.stderr.write(f"minilite: {' '.join(str(error).split()) or type(error).__name__}\n")
        return 2
    return status
