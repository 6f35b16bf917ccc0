"""minilite as: runs a program that imports LiteRT on minilite instead."""

from __future__ import annotations

import argparse
import os
import runpy
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minilite.cli.arguments import UsageError
from minilite.litert.stand_in import NAMES, folders, install_as

if TYPE_CHECKING:
    from types import TracebackType


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "as",
        help="run a Python program with minilite in the place of LiteRT",
        description="Run a Python program, unchanged, whose imports of a package of LiteRT's get minilite.",
    )
    parser.add_argument("package", metavar="PACKAGE", help=f"what the program imports: {', '.join(NAMES)}, or all")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module's name, as for python -m")
    parser.add_argument("program", metavar="SCRIPT", help="a Python program: a file, or its name in PATH")
    rest = parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="the program's own arguments")
    rest.required = False  # otherwise argparse lists it as missing
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Runs the program as if it were called directly; its exceptions are shown as by Python.

    Python programs that it starts also get minilite instead of LiteRT, through PYTHONPATH.
    """
    if options.package not in (*NAMES, "all"):
        message = f"cannot stand in for '{options.package}', only for {', '.join(NAMES)}, or all"
        raise UsageError(message)
    names = () if options.package == "all" else (options.package,)

    program = options.program if options.module else _found(options.program)
    safe = getattr(sys.flags, "safe_path", False)  # Python 3.11 and later: no folder is added before the path
    if not safe:
        sys.path[0:1] = [str(Path.cwd() if options.module else Path(program).parent)]
    install_as(*names)
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders(names), *filter(None, [os.environ.get("PYTHONPATH")])])
    sys.argv = [program, *options.arguments]
    if callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the program expects the default
    try:
        if options.module:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(program, run_name="__main__")
    except Exception as error:  # noqa: BLE001 - the program's own
        shown = error.with_traceback(_of_program(error.__traceback__))
        sys.excepthook(type(shown), shown, shown.__traceback__)
        return 1
    return 0


def _found(program: str) -> str:
    """Finds the path of a Python program: a file, a folder with a __main__.py, or a program of that name in PATH.
    Raises: UsageError."""
    path = Path(program)
    if path.is_file() or (path / "__main__.py").is_file():
        return program

    known = shutil.which(program)
    if known is not None:
        with Path(known).open("rb") as file:
            if b"python" in file.read(256):
                return known
    what = f"{known} is none" if known is not None else f"{program} is no file"
    message = f"takes a Python program, by its path or its name in PATH, or -m and a module: {what}"
    raise UsageError(message)


def _of_program(trace: TracebackType | None) -> TracebackType | None:
    """Cuts a traceback, so that it begins with the program's own frames."""
    at = trace
    while at is not None and at.tb_frame.f_globals.get("__name__") in (__name__, "runpy"):
        at = at.tb_next
    return at
