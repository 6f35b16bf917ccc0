"""Measures how many items a second a Predictor gives by batch, threads and processes, and what a worker's memory is.

usage: python -m asv_bench.workers [--rounds 7] [--processes | --memory] [MODEL ...]

Two tables in Markdown, those of docs/sizing.md. The first one gives items a second as multiples of one process with one
thread and batch 1, by medians of rounds in which all settings take turns; it needs a machine that has nothing else to
do. The second one (with --processes it alone) is of several processes at batch 1, as items per second of processor
time, which other work on the machine changes little: what they give when each has a core.

With --memory one table: the proportional set size (PSS: a page that n processes share counts 1 / n) of each further
worker, where workers are forked from a process that has run the model, started anew, or threads. Without models
networks of the benchmarks, seeded.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from asv_bench.benchmarks import common
from minilite import Predictor
from minilite.format.builder import ModelBuilder
from minilite.inputs.random_values import random_values

NETWORKS = ("layers int8", "layers float32", "large layers int8", "large layers float32")
BATCHES = (1, 4, 16, 64)
ROWS = 64
"""Rows per call."""
SECONDS = 0.12
"""The least time of a setting's turn."""
FURTHER = 4
"""Workers after the first one whose memory is measured."""
WIDE, DEEP = 1024, 8
"""The model of the table of memory: so many products of a row with a square matrix, 32 MiB of float32 weights."""


class Setting(NamedTuple):
    """How rows are run."""

    batch: int = 1
    threads: int = 1
    callers: int = 1
    """Threads of a process that call the Predictor at the same time, each with a clone of its own."""
    processes: int = 1


def heavy() -> bytes:
    """A model that is mostly weights."""
    rng = np.random.default_rng(0)
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, WIDE))
    for number in range(DEEP):
        weights = graph.constant(f"w{number}", rng.normal(0, 0.03, (WIDE, WIDE)).astype(np.float32))
        x = graph.node("FULLY_CONNECTED", [x, weights, -1], out=(f"y{number}", (1, WIDE)))
    graph.output(x)
    return builder.build()


def rows_of(predictor: Predictor, count: int) -> dict[str, Any]:
    """Columns of random rows."""
    rng = np.random.default_rng(0)
    tensors = predictor._entry.inputs
    return {name: random_values(tensor, (count, *tensor.shape[1:]), rng) for name, tensor in tensors.items()}


def items_per_second(predictor: Predictor, setting: Setting, seconds: float) -> tuple[float, float]:
    """The items per second of all callers of this process together, by the clock and by one core's time."""
    columns = rows_of(predictor, ROWS)
    found = [(0.0, 0)] * setting.callers
    gate = threading.Barrier(setting.callers)

    def call(number: int) -> None:
        gate.wait()
        begun, items = time.perf_counter(), 0
        while (took := time.perf_counter() - begun) < seconds:
            predictor(columns)
            items += ROWS
        found[number] = items / took, items

    callers = [threading.Thread(target=call, args=(number,)) for number in range(setting.callers)]
    used = time.process_time()
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    used = time.process_time() - used
    return sum(rate for rate, _ in found), sum(items for _, items in found) / used


def work(first: Predictor, link: Connection) -> None:
    """A worker: answers settings with items a second, until it gets None. `first` is for one thread and batch 1."""
    made = {(1, 1): first}
    while (setting := link.recv()) is not None:
        key = setting.batch, setting.threads
        if key not in made:
            made[key] = Predictor(first._path, batch=setting.batch, num_threads=setting.threads)
        link.send(items_per_second(made[key], setting, SECONDS))


class Workers:
    """Processes that wait for settings."""

    def __init__(self, first: Predictor, count: int, method: str = "fork") -> None:
        context: Any = multiprocessing.get_context(method)
        self.links, self.processes = [], []
        for _ in range(count):
            ours, theirs = context.Pipe()
            self.processes.append(context.Process(target=work, args=(first, theirs), daemon=True))
            self.processes[-1].start()
            self.links.append(ours)

    def rate(self, setting: Setting) -> tuple[float, float]:
        """Items a second of as many workers as the setting has processes, by the clock and by processor time."""
        links = self.links[: setting.processes]
        for link in links:
            link.send(setting)
        clock, used = zip(*(link.recv() for link in links), strict=True)
        return sum(clock), sum(used)

    def end(self) -> None:
        for link in self.links:
            link.send(None)
        for process in self.processes:
            process.join()


def rates(path: str, settings: Sequence[Setting], rounds: int) -> dict[Setting, list[tuple[float, float]]]:
    """Items a second, a list of rounds for each setting; all settings in each round."""
    workers = Workers(Predictor(path, batch=1), max(setting.processes for setting in settings))
    for setting in settings:
        workers.rate(setting)  # warms up
    found: dict[Setting, list[tuple[float, float]]] = {setting: [] for setting in settings}
    for number in range(rounds):
        for setting in settings if number % 2 else settings[::-1]:
            found[setting].append(workers.rate(setting))
    workers.end()
    return found


def ratio(found: dict[Setting, list[tuple[float, float]]], setting: Setting, *, by: int = 0) -> str:
    """The median over rounds, as a multiple of one process with one thread and batch 1; `by` the clock (0) or processor
    time (1)."""
    pairs = zip(found[setting], found[Setting()], strict=True)
    return f"{statistics.median(each[by] / one[by] for each, one in pairs):.2f}"


def print_rates(models: Sequence[tuple[str, str]], rounds: int, batches: Sequence[int]) -> None:
    cores = len(os.sched_getaffinity(0))
    ways = [Setting(), Setting(threads=cores), Setting(callers=cores), Setting(processes=cores)]
    many = [Setting(processes=count) for count in range(1, cores + 1)]
    if batches:
        print(f"| model | us an item | batch | one | {cores} threads | {cores} callers | {cores} processes |")
        print(f"|---|{'---:|' * 6}", flush=True)
    scaled = []
    for name, path in models:
        settings = [way._replace(batch=batch) for batch in batches for way in ways]
        found = rates(path, list(dict.fromkeys([*settings, *many])), rounds)
        each = f"{1e6 / statistics.median(rate for rate, _ in found[Setting()]):.0f}"
        for batch in batches:
            cells = [ratio(found, way._replace(batch=batch)) for way in ways]
            print(f"| {name} | {each} | {batch} | {' | '.join(cells)} |", flush=True)
        scaled.append(f"| {name} | {' | '.join(ratio(found, each, by=1) for each in many)} |")
    print(f"\n| processes | {' | '.join(str(each.processes) for each in many)} |\n|---|{'---:|' * len(many)}")
    print(f"| at least | {' | '.join(f'{0.9 * each.processes:.2f}' for each in many)} |")
    print("\n".join(scaled))


def pss(process: int) -> int:
    """Bytes of a process; of what it shares with n others, 1 / n."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("Pss:")))


class Callers:
    """Threads of this process that have called one Predictor and wait."""

    def __init__(self, path: str, count: int) -> None:
        self.predictor = Predictor(path, batch=1)
        self.gate, self.ended = threading.Barrier(count + 1), threading.Event()
        self.threads = [threading.Thread(target=self._call) for _ in range(count)]
        for each in self.threads:
            each.start()
        self.gate.wait()

    def _call(self) -> None:
        self.predictor(rows_of(self.predictor, 1))
        self.gate.wait()
        self.ended.wait()

    def end(self) -> None:
        self.ended.set()
        for each in self.threads:
            each.join()


def bytes_of(path: str, method: str, count: int) -> int:
    """What this process and so many workers take together."""
    if method == "threads":
        callers = Callers(path, count)
        found = pss(os.getpid())
        callers.end()
        return found
    first = Predictor(path, batch=1)
    first(rows_of(first, 1))  # what it packs is there before workers are forked
    workers = Workers(first, count, method)
    workers.rate(Setting(processes=count))
    found = sum(map(pss, [os.getpid(), *(process.pid or 0 for process in workers.processes)]))
    workers.end()
    return found


def answer(path: str, method: str, count: int, link: Connection) -> None:
    link.send(bytes_of(path, method, count))


def further(path: str, method: str) -> float:
    """Bytes that each worker after the first one adds to all processes together; each time in a new process."""
    found = []
    for count in (1, 1 + FURTHER):
        context: Any = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=answer, args=(path, method, count, theirs))
        process.start()
        found.append(ours.recv())
        process.join()
    return float(found[1] - found[0]) / FURTHER


def print_memory(models: Sequence[tuple[str, str]]) -> None:
    methods = {"forked": "fork", "started anew": "spawn", "threads": "threads"}
    print("| model | file, MiB | " + " | ".join(f"{name}, MiB more" for name in methods) + " |")
    print("|---|---:|---:|---:|---:|", flush=True)
    for name, path in models:
        cells = [f"{Path(path).stat().st_size / 2**20:.1f}"]
        cells += [f"{further(path, method) / 2**20:.1f}" for method in methods.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="a .tflite file whose inputs begin with 1")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each setting (7)")
    parser.add_argument("--processes", action="store_true", help="the table of processes alone")
    parser.add_argument("--memory", action="store_true", help="the memory of further workers")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = [(Path(path).stem, path) for path in args.models]
        for name in [] if models else ["32 MiB of weights"] if args.memory else NETWORKS:
            path = Path(folder) / f"{name.replace(' ', '_')}.tflite"
            path.write_bytes(heavy() if args.memory else common.model(name))
            models.append((name, str(path)))
        print_memory(models) if args.memory else print_rates(models, args.rounds, () if args.processes else BATCHES)


if __name__ == "__main__":
    main()
