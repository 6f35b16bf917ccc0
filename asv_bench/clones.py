"""Measures how many runs N threads do together, each with a clone of one interpreter, as multiples of one thread's.

usage: python -m asv_bench.clones [--threads 2,4] [--rounds 9] [MODEL ...]

Prints a table in Markdown. Each run has one thread. First come the microseconds of processor time that a run takes on
one thread. Then, for every number of threads: runs per second by the clock; the same by processor time, which other
work on the machine changes little, for as many cores as can be busy; and how often a thread waited in 1,000 runs, for a
lock or for others. Numbers are medians of rounds in which all settings take turns. On a Python without its global lock,
runs by the clock should be at least 0.9 times the number of threads or of cores, whichever is smaller. Without a MODEL
it measures networks of the benchmarks, whose weights are seeded.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from asv_bench.benchmarks import common
from asv_bench.workers import NETWORKS
from minilite.cli.feeding import set_inputs
from minilite.interpreter import Interpreter

SECONDS = 0.25
"""The length of a setting's turn."""
LEAST = 0.9
"""The aim, as a share of what the cores can give."""


class Turn(NamedTuple):
    """What some threads did together."""

    by_clock: float
    """Runs per second."""
    by_processor: float
    """Runs per second of processor time."""
    waits: float
    """How often a thread gave its core away to wait, per run."""


def turn(clones: Sequence[Interpreter], seconds: float) -> Turn:
    """Runs each clone in a thread of its own."""
    done: list[tuple[int, float, float, int]] = []
    gate = threading.Barrier(len(clones))

    def call(clone: Interpreter) -> None:
        invoke, runs = clone.invoke, 0
        gate.wait()
        waits, used = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw, time.thread_time()
        begun = time.perf_counter()
        while (took := time.perf_counter() - begun) < seconds:
            invoke()
            runs += 1
        used = time.thread_time() - used
        done.append((runs, took, used, resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - waits))

    callers = [threading.Thread(target=call, args=(clone,)) for clone in clones]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    runs = sum(one[0] for one in done)
    return Turn(
        sum(one[0] / one[1] for one in done), runs / sum(one[2] for one in done), sum(one[3] for one in done) / runs
    )


def measured(model: bytes | str, counts: Sequence[int], rounds: int) -> dict[int, list[Turn]]:
    """The turns of one thread and of each number of threads."""
    first = Interpreter(model, num_threads=1)
    first.allocate_tensors()
    clones = [first, *(first.clone() for _ in range(max(counts) - 1))]
    for clone in clones:
        clone.allocate_tensors()
        set_inputs(clone, {}, 0)
        clone.invoke()
    order = [1, *counts]
    found: dict[int, list[Turn]] = {count: [] for count in order}
    for _ in range(rounds):
        order.reverse()
        for count in order:
            found[count].append(turn(clones[:count], SECONDS))
    return found


def row(name: str, found: dict[int, list[Turn]], cores: int) -> str:
    """A line of the table."""
    one = found.pop(1)
    cells = [name, f"{1e6 / statistics.median(each.by_processor for each in one):.1f}"]
    for count, turns in found.items():
        clock = statistics.median(each.by_clock / alone.by_clock for each, alone in zip(turns, one, strict=True))
        used = statistics.median(each.by_processor / alone.by_processor for each, alone in zip(turns, one, strict=True))
        waits = statistics.median(each.waits for each in turns)
        cells.append(f"{clock:.2f}, {used * min(count, cores):.2f}, {1000 * waits:.1f}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="a .tflite file")
    parser.add_argument("--threads", default="2,4", help="numbers of threads (2,4)")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each setting (9)")
    args = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    counts = list(map(int, args.threads.split(",")))
    print(f"| model | us per run | {' | '.join(f'{count} threads' for count in counts)} |")
    print(f"|---|{'---:|' * (1 + len(counts))}")
    print(f"| at least | | {' | '.join(f'{LEAST * min(count, cores):.2f}' for count in counts)} |", flush=True)
    models = [(Path(path).stem, path) for path in args.models] or [(name, common.model(name)) for name in NETWORKS]
    for name, model in models:
        print(row(name, measured(model, counts, args.rounds), cores), flush=True)


if __name__ == "__main__":
    main()
