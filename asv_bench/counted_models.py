"""Counts the instructions of one run of real models, minilite's and LiteRT's, and prints a table.

usage: python -m asv_bench.counted_models [--write] MODEL ...

MODEL is the path of a .tflite file, or NAME=PATH with the name to print. Counted by valgrind's callgrind, whose
processor has AVX2 and no AVX-512, whatever the machine has: so both sides run as on a PC with AVX2 alone, minilite at
level avx2, LiteRT with XNNPACK's kernels for it. One thread, random inputs. What loading takes is left out: the count
is of six runs less that of two, by four. The last column is LiteRT's count over minilite's: below 1 (bold) LiteRT takes
fewer. `--write` puts the table into docs/performance.md, between its marks.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from asv_bench import builds
from asv_bench.performance import put

DOCUMENT = builds.ROOT / "docs" / "performance.md"
CLASSES = {"minilite": "minilite", "LiteRT": "ai_edge_litert.interpreter"}
RUNS = """
import sys
from importlib import import_module
from asv_bench.real_models import filled
one = filled(import_module(sys.argv[1]).Interpreter(sys.argv[2], num_threads=1))
for _ in range(int(sys.argv[3])):
    one.invoke()
"""


def instructions(side: str, path: str, runs: int) -> int:
    """Of a process that loads the model and runs it so often. Raises: subprocess.CalledProcessError."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    command = [*tool, sys.executable, "-c", RUNS, CLASSES[side], path, str(runs)]
    done = subprocess.run(command, env=environment, cwd=builds.ROOT, capture_output=True, text=True, check=True)
    return collected(done.stderr)


def collected(report: str) -> int:
    """The count in what callgrind prints. Raises: ValueError where there is none."""
    found = re.search(r"Collected : (\d+)", report)
    if not found:
        message = "callgrind printed no count"
        raise ValueError(message)
    return int(found[1])


def row(model: str) -> str:
    """A model's line of the table."""
    name, _, path = model.rpartition("=")
    each = {side: (instructions(side, path, 6) - instructions(side, path, 2)) / 4 for side in CLASSES}
    ratio = each["LiteRT"] / each["minilite"]
    faster = f"{ratio:.2f}" if ratio >= 1 else f"**{ratio:.2f}**"
    return f"| {name or Path(path).stem} | {each['minilite'] / 1e6:.2f} | {each['LiteRT'] / 1e6:.2f} | {faster} |"


def main() -> int:
    """Prints the table, and writes it into docs/performance.md where asked."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed")
    lines = ["| model | minilite, millions | LiteRT, millions | LiteRT / minilite |", "|---|---:|---:|---:|"]
    print(*lines, sep="\n", flush=True)
    for model in args.models:
        lines.append(row(model))
        print(lines[-1], flush=True)
    if args.write:
        DOCUMENT.write_text(put(DOCUMENT.read_text(), "counted-models", "\n".join(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
