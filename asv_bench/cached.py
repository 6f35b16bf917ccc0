"""Measures what a cache of packed weights saves: time until the first result, and memory that a process adds.

usage: python -m asv_bench.cached [--rounds 15] [MODEL ...]

Without MODEL it takes the seven largest of ../shared/models, and a model of 32 MB whose runs do little but read its
weights. Each is loaded, allocated and run in turns without a cache and with one, by processor time of the thread. A row
has the time until the first result without a cache, and the shares of it that are left with one: of load and
allocation, of load and first run, and of these less a later run, which is the part that a cache can save. Then come the
MiB that loading and two runs add to the memory of a process (Pss: shared pages count in parts) beside another one that
has the model, without a cache and with one (Linux).
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minilite
from asv_bench import builds
from minilite import Interpreter
from minilite.cli.feeding import set_inputs
from minilite.format.builder import ModelBuilder

MODELS = Path(__file__).resolve().parents[2] / "shared" / "models"
COUNT, LATER, ROUNDS = 7, 4, 15
"""The number of models, that of runs after the first one, of which the fastest is a later run, and that of turns."""


class Times(NamedTuple):
    """Seconds of one process's steps."""

    load: float
    first: float
    later: float


def products() -> bytes:
    """A model of eight products with matrices of 4 MB."""
    rng, builder = np.random.default_rng(0), ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 1024))
    for number in range(8):
        weights = graph.constant(f"w{number}", rng.normal(0, 0.03, (1024, 1024)).astype(np.float32))
        x = graph.node("FULLY_CONNECTED", [x, weights, -1], out=(f"y{number}", (1, 1024)))
    graph.output(x)
    return bytes(builder.build())


def timed(path: Path, folder: str) -> Times:
    """Loads, allocates and runs."""
    clock = time.thread_time
    start = clock()
    interpreter = Interpreter(path, cache_dir=folder)
    interpreter.allocate_tensors()
    loaded = clock() - start
    set_inputs(interpreter, {}, 0)
    runs = []
    for _ in range(1 + LATER):
        start = clock()
        interpreter.invoke()
        runs.append(clock() - start)
    return Times(loaded, runs[0], min(runs[1:]))


def times(path: Path, folder: str, rounds: int) -> tuple[Times, Times]:
    """The medians without a cache and with one, in turns."""
    found: tuple[list[Times], list[Times]] = ([], [])
    timed(path, folder)
    for _ in range(rounds):
        for where, side in zip(("", folder), found, strict=True):
            side.append(timed(path, where))
            give_back()
    plain, cached = (Times(*map(statistics.median, zip(*side, strict=True))) for side in found)
    later = min(plain.later, cached.later)
    return plain._replace(later=later), cached._replace(later=later)


def give_back() -> None:
    """Returns free memory to the system, so that the next model is loaded as in a process that begins."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim is not None:
        trim(0)


def pss() -> int:
    """The KiB of this process's memory; a page that n processes have counts as 1 / n."""
    return sum(map(int, re.findall(r"^Pss: +(\d+) kB$", Path("/proc/self/smaps").read_text(), re.MULTILINE)))


def ready(path: str, folder: str) -> Interpreter:
    """An interpreter that has run."""
    interpreter = Interpreter(path, cache_dir=folder)
    interpreter.allocate_tensors()
    set_inputs(interpreter, {}, 0)
    interpreter.invoke()
    return interpreter


def stay(path: str, folder: str) -> None:
    """A process that has the model: prints what it adds in MiB, and waits for the end of its input."""
    small = Path(minilite.__file__).parent / "data" / "digits.tflite"
    with tempfile.TemporaryDirectory() as other:
        ready(str(small), folder and other)
    give_back()
    before = pss()
    interpreter = ready(path, folder)
    interpreter.invoke()
    print((pss() - before) / 1024, flush=True)
    sys.stdin.read()


def added(path: Path, folder: str) -> float:
    """The MiB that the model adds to a process beside another one that has it."""
    command = [sys.executable, "-m", "asv_bench.cached", "--stay", folder, str(path)]
    processes: list[Any] = []
    answer = ""
    try:
        for _ in range(2):
            process = subprocess.Popen(
                command, cwd=builds.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            processes.append(process)
            answer = process.stdout.readline()
    finally:
        for process in processes:
            process.communicate()
    return float(answer)


def row(path: Path, rounds: int) -> str:
    """A line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        plain, cached = times(path, folder, rounds)
        memory = ["", ""] if not Path("/proc/self/smaps").exists() else [f"{added(path, f):.1f}" for f in ("", folder)]
    until, sooner = plain.load + plain.first, cached.load + cached.first
    saved = (sooner - cached.later) / (until - plain.later)
    shares = f"{cached.load / plain.load:.2f} | {sooner / until:.2f} | {saved:.2f}"
    name = path.stem if len(path.stem) <= 40 else f"{path.stem[:37]}..."
    return f"| {name} | {path.stat().st_size / 1e6:.1f} | {until * 1e3:.2f} | {shares} | {memory[0]} | {memory[1]} |"


HEADING = (
    "| model | MB | ms until the first result | share of load | of load and first run | less a later run "
    "| MiB more without a cache | with one |\n|---|" + "---:|" * 7
)


def table(models: Sequence[Path], rounds: int) -> str:
    """The table of these models."""
    return "\n".join([HEADING, *(row(path, rounds) for path in models)])


def make(rounds: int = ROUNDS) -> str | None:
    """The table of the largest models, and of products; None without them."""
    models = sorted(MODELS.glob("*.tflite"), key=lambda path: -path.stat().st_size)[:COUNT]
    if not models:
        return None
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "eight products of 1024 x 1024.tflite"
        made.write_bytes(products())
        return table([*models, made], rounds)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m asv_bench.cached", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--stay", help=argparse.SUPPRESS)
    parser.add_argument("models", nargs="*", metavar="MODEL", type=Path)
    given = parser.parse_args()
    os.environ.pop("MINILITE_CACHE_DIR", None)
    if given.stay is not None:
        return stay(str(given.models[0]), given.stay)
    made = table(given.models, given.rounds) if given.models else make(given.rounds)
    print(made or f"{MODELS} is not there")
    return None


if __name__ == "__main__":
    main()
