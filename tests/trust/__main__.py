"""Commands that try to break minilite, and that measure how much the tests find: python tests/trust COMMAND
[ARGUMENT...]

Without a command it lists all of them. They use the minilite that this Python imports. docs/trust.md tells what each is
for.
"""

from __future__ import annotations

import ast
import datetime
import importlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMANDS = (
    "simulate", "threads", "fuzz_models", "seeds", "differ", "slices", "replays", "litert_tests", "mutants",
    "faults", "compared_faults", "coverage_table",
)  # fmt: skip
"""Modules of this folder, each with a function `main`."""


def listed() -> str:
    """The commands, each with the first sentence of its module."""
    lines = []
    for name in COMMANDS:
        text = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))) or ""
        first = text.partition("\n\n")[0]
        lines.append(f"{name:16} {' '.join(first.split())}")
    return "\n".join(lines)


def tried() -> str:
    """The version, commit and date of what is tried."""
    told = ["git", "-C", str(HERE), "describe", "--always", "--exclude", "*", "--dirty"]
    try:
        commit = subprocess.run(told, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"
    version = importlib.metadata.version("minilite-runtime")
    return f"minilite {version}, commit {commit}, {datetime.date.today()}"


def main() -> int:
    """The command. Returns its exit status."""
    sys.path[0] = str(HERE.parent)  # where `support` and `trust` are, in place of this folder
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in COMMANDS:
        print(__doc__, listed(), sep="\n")
        return int(name not in ("", "-h", "--help"))
    sys.argv[0] = f"{sys.argv[0]} {name}"
    print(tried(), flush=True)
    return int(importlib.import_module(f"trust.{name}").main(sys.argv[2:]))


if __name__ == "__main__":
    sys.exit(main())
