"""The minilite command: run, batch, inspect, check, plan, tile, profile, bench, compare, replay, report, cache, as
and completion."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from minilite.cli.arguments import UsageError, meant
from minilite.cli.help import SYNONYMS, Help, examples, group_of
from minilite.errors import MiniliteError, UnsupportedOpError, visible
from minilite.terminal import complain, say

_FULL = (errno.ENOSPC, errno.EFBIG)
"""Errors of the system that only writing can have."""
COMMANDS = {
    "run": "run",
    "batch": "batch",
    "inspect": "inspect",
    "check": "check",
    "plan": "plan",
    "tile": "tile",
    "profile": "profile",
    "bench": "bench",
    "compare": "compare",
    "replay": "replay",
    "report": "report",
    "cache": "cache",
    "as": "stand_in",
    "completion": "completion",
}
"""The module of each command. It has `add_parser(commands)`, which sets the parser's default `execute`: a function of
the options that may return an exit status."""
_OF_ALL = ("completion", "-h", "--help")
"""First words that need the parsers of all commands."""
BAD, WRONG, INTERRUPTED = 1, 2, 130
"""Exit statuses other than 0: a bad model or bad data; wrong usage; Ctrl-C."""


class Parser(argparse.ArgumentParser):
    """Reports wrong usage in one line."""

    def __init__(self, **options: Any) -> None:
        self.arguments: list[argparse.Action] = []
        """The arguments in the order in which they were added."""
        self._titled: dict[str, Any] = {}
        super().__init__(**{"formatter_class": Help, **options})
        self.color = False  # Python 3.14 would colour by escape sequences

    def add_argument(self, *names: Any, **how: Any) -> argparse.Action:
        title = group_of(names, how)
        if title and title not in self._titled:
            self._titled[title] = self.add_argument_group(title)
        action: argparse.Action = (
            self._titled[title].add_argument(*names, **how) if title else super().add_argument(*names, **how)
        )
        self.arguments.append(action)
        return action

    def error(self, message: str) -> NoReturn:
        told = message.removeprefix("argument ")  # an option names itself, whatever command it is of
        complain(visible(f"{self.prog if told == message else 'minilite'}: {told}"))
        sys.exit(WRONG)

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ARG002 - help, on standard output
        say(message, end="")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from minilite import __version__
        from minilite._native.kernels import level_names

        say(f"minilite {__version__}, instructions: {', '.join(level_names())}")
        parser.exit()


def parsers(names: Sequence[str]) -> tuple[Parser, Mapping[str, Parser]]:
    """Returns the parser, and the parsers of these commands; imports only their modules."""
    parser = Parser(prog="minilite", description="Run .tflite models and look inside them.")
    parser.add_argument(
        "-V",
        "--version",
        action=_Version,
        nargs=0,
        help="print the version and the levels of this machine",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in names:
        import_module(f"{__name__}.{COMMANDS[name]}").add_parser(commands)
        commands.choices[name].epilog = examples(name)
    return parser, commands.choices


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Returns the arguments; files may come before and after options."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if given[:1] == ["help"]:
        given = [*(word for word in given[1:2] if word in COMMANDS), "--help"]
    first = given[0]
    parser, known = parsers([*COMMANDS] if first in _OF_ALL else [name for name in COMMANDS if name == first])
    if given[0].endswith(".tflite"):
        parser.error(f"{given[0]} is not a command: minilite run {given[0]}")
    if not first.startswith("-") and first not in COMMANDS:
        known_word = f", did you mean {SYNONYMS[first]}?" if first in SYNONYMS else meant(first, COMMANDS)
        close = known_word or f": there are {', '.join(COMMANDS)}"
        parser.error(f"there is no command '{given[0]}'{close}")
    options, rest = parser.parse_known_args(given)
    if rest and (not hasattr(options, "data") or any(text.startswith("-") and text != "-" for text in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}{_option_meant(known[first], rest)}")
    if rest:
        options.data = [*options.data, *rest]
    return options


def _option_meant(parser: Parser, rest: Sequence[str]) -> str:
    """Suggests the option that the first unknown one resembles."""
    unknown = [text.partition("=")[0] for text in rest if text.startswith("-")]
    if not unknown:
        return ""
    return meant(unknown[0], (option for action in parser.arguments for option in action.option_strings))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns the exit status: 0; 1 for a bad model or bad data; 2 for wrong usage. Both print one
    line on stderr (and one per unsupported operator), except that `inspect --check` prints its table."""
    try:
        options = _parsed(arguments)
        status: int = options.execute(options) or 0
    except BrokenPipeError:  # the reader has closed the pipe
        return 0
    except KeyboardInterrupt:
        complain("minilite: interrupted")
        return INTERRUPTED
    except UnsupportedOpError as error:  # one line per operator
        complain(f"minilite: {error}")
        return BAD
    except (MiniliteError, OSError, MemoryError) as error:
        complain(f"minilite: {_line(error)}")
        return WRONG if isinstance(error, UsageError) else BAD
    return status


def _line(error: Exception) -> str:
    """Returns an error as one line; errors of the system in the same form as minilite's."""
    if isinstance(error, OSError) and not isinstance(error, MiniliteError) and error.strerror:
        verb = "write" if error.errno in _FULL else "open"
        where = f"could not {verb} {str(error.filename)!r}: " if error.filename is not None else ""
        return f"{where}{error.strerror.lower()}"
    return " ".join(str(error).split()) or type(error).__name__
