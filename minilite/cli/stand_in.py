"""minilite as: run a program that imports LiteRT, with minilite in its place."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from minilite.cli.arguments import UsageError
from minilite.stand_in import NAMES, install_as


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "as",
        help="run a Python program with minilite in the place of LiteRT",
        description="Run a Python program, unchanged, whose imports of a package of LiteRT's get minilite.",
    )
    parser.add_argument("package", metavar="PACKAGE", help=f"what the program imports: {', '.join(NAMES)}, or all")
    parser.add_argument("program", metavar="SCRIPT", help="a Python file")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="the program's own arguments")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> None:
    """Runs the program as if it were called itself."""
    import runpy  # long to import

    if options.package not in (*NAMES, "all"):
        message = f"cannot stand in for '{options.package}', only for {', '.join(NAMES)}, or all"
        raise UsageError(message)
    install_as(*(() if options.package == "all" else (options.package,)))
    script = Path(options.program)
    if not script.is_file():
        message = f"{script} is not a file: takes a Python program"
        raise UsageError(message)
    sys.argv = [str(script), *options.arguments]
    sys.path[0:1] = [str(script.parent)]
    runpy.run_path(str(script), run_name="__main__")
