"""Times real models on minilite and on LiteRT, both in one process and in turns, and prints a table in milliseconds.

usage: python -m asv_bench.real_models [--rounds 40] [--write] MODEL ...

MODEL is the path of a .tflite file, or NAME=PATH with the name to print. Each line is one model: a steady `invoke()`
at the input shapes in the file, on random inputs, one thread on either side, LiteRT with its default delegate
XNNPACK. Both times are medians over the rounds. The last column is LiteRT's time over minilite's, the median of the
ratio in each round: above 1 minilite is faster, below 1 (bold) LiteRT is. `--write` puts the table into the README,
between its marks. Times are processor time of the calling thread.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

from asv_bench import builds
from asv_bench.benchmarks import timing
from asv_bench.performance import processor, put
from minilite import __version__ as minilite_version

README = builds.ROOT / "README.md"
SLICE = 30_000_000
"""Nanoseconds that a side's turn takes at least."""
INTEGERS = {"int8", "uint8", "int16"}


def filled(interpreter: Any) -> Any:
    """The interpreter, allocated, with random inputs that are the same for both sides."""
    interpreter.allocate_tensors()
    rng = np.random.default_rng(0)
    for detail in interpreter.get_input_details():
        kind, shape = np.dtype(detail["dtype"]), tuple(detail["shape"])
        if kind.kind == "f":
            value = rng.random(shape)
        elif kind.kind in "SO":
            value = np.full(shape, b"a")
        elif kind.kind == "b" or kind.itemsize > 2:  # an index, or a number of things
            value = rng.integers(0, 2, shape)
        else:
            info = np.iinfo(kind)
            value = rng.integers(max(info.min, -128), min(info.max, 255) + 1, shape)
        interpreter.set_tensor(detail["index"], value.astype(kind, copy=False))
    return interpreter


def kind_of(interpreter: Any) -> str:
    """The element type that a model computes in: the one that most of its tensors have."""
    details = [d for d in interpreter.get_tensor_details() if np.prod(d["shape"], initial=1) > 1]
    types = [np.dtype(d["dtype"]).name for d in details if np.dtype(d["dtype"]).name in INTEGERS | {"float32"}]
    return max(set(types), key=types.count) if types else ""


def row(model: str, rounds: int) -> str:
    """A model's line of the table. `model` is a path, or a name to print and a path: NAME=PATH."""
    from ai_edge_litert.interpreter import Interpreter as LiteRT

    from minilite import Interpreter

    name, _, path = model.rpartition("=")
    ours = filled(Interpreter(path, num_threads=1))
    theirs = filled(LiteRT(model_path=path, num_threads=1))
    for _ in range(3):
        ours.invoke()
        theirs.invoke()
    mine, other = timing.in_turn((ours.invoke, theirs.invoke), rounds, SLICE)
    ratio = statistics.median(b / a for a, b in zip(mine, other, strict=True))
    shape = " x ".join(str(n) for n in ours.get_input_details()[0]["shape"])
    left, right = (digits(statistics.median(side) / 1e6) for side in (mine, other))
    faster = f"{ratio:.2f}" if ratio >= 1 else f"**{ratio:.2f}**"
    return f"| {name or Path(path).stem} | {kind_of(ours)} | {shape} | {left} | {right} | {faster} |"


def digits(milliseconds: float) -> str:
    """Three significant digits."""
    return f"{milliseconds:.3g}" if milliseconds < 100 else f"{milliseconds:.0f}"


def heading() -> str:
    """Where the table was measured, and its first two lines."""
    from minilite._native.kernels import level_names

    versions = f"minilite {minilite_version}, LiteRT {importlib.metadata.version('ai-edge-litert')}"
    level = os.environ.get("MINILITE_ISA") or next(n for n in reversed(level_names()) if n != "amx")
    where = f"*{processor()}, level {level}, one thread, {versions}, Python {platform.python_version()}.*"
    columns = "| model | type | input | minilite, ms | LiteRT, ms | LiteRT / minilite |\n|---|---|---|---:|---:|---:|"
    return f"{where}\n\n{columns}"


def main() -> int:
    """Prints the table, and writes it into the README where asked."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=40, help="turns of each side")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    args = parser.parse_args()
    lines = [heading()]
    print(lines[0], flush=True)
    for model in args.models:
        lines.append(row(model, args.rounds))
        print(lines[-1], flush=True)
    if args.write:
        README.write_text(put(README.read_text(), "speed", "\n".join(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
