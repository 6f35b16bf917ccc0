"""Measures the gain of a second thread in wall-clock time, interleaved: on models compared with two processes, or on
one node compared with LiteRT.

usage: python -m asv_bench.two_threads [--cores A,B] [--seconds 10] [MODEL ...]

For models a table in Markdown: microseconds of a run with one thread and how many times faster two are, by the fastest
runs and by the medians; how many times the work of one process two of one thread each do side by side, which is what
the machine has to give; what of the work is the calling thread's alone, and whose operators that is. Without models:
one node of 1 x 1 convolution at several sizes, microseconds of a run of both runtimes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.sharedctypes import SynchronizedArray
from pathlib import Path

import numpy as np

from asv_bench.benchmarks import timing
from asv_bench.benchmarks.operators import ready
from minilite.cli.feeding import set_inputs
from minilite.format.builder import ModelBuilder
from minilite.interpreter import Interpreter
from minilite.profiling.profile import NodeTime

SHAPES = [(14, 256, 256), (28, 256, 256), (56, 64, 256), (7, 960, 320)]
"""Height and width of the image, its channels, and the convolution's channels."""
ROUNDS, SLICE = 41, 4_000_000
"""Turns of each, and the nanoseconds that a turn takes at least."""
LEAST_ROUNDS, SHORT_SLICE, PAUSE = 5, 2_000_000, 0.002
"""For models: turns at least, the nanoseconds of a turn, and the seconds that a companion sleeps before it looks
again."""
REST, WORK, END = range(3)
"""Commands to a companion."""


def convolution(side: int, inputs: int, outputs: int) -> bytes:
    rng = np.random.default_rng(1)
    builder = ModelBuilder()
    g = builder.subgraph()
    x = g.input("x", (1, side, side, inputs))
    weights = g.constant("weights", rng.normal(size=(outputs, 1, 1, inputs)).astype(np.float32))
    bias = g.constant("bias", rng.normal(size=outputs).astype(np.float32))
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "fused_activation_function": "NONE"}
    g.output(*g.node("CONV_2D", [x, weights, bias], out=[("y", (1, side, side, outputs))], options=options))
    return builder.build()


def print_nodes() -> None:
    """One node at several sizes, minilite and LiteRT."""
    from ai_edge_litert.interpreter import Interpreter as Peer

    print(f"{'image, channels':20} {'runtime':9} {'one, us':>9} {'two, us':>9} {'medians':>8} {'fastest':>8}")
    for side, inputs, outputs in SHAPES:
        content = convolution(side, inputs, outputs)
        image = np.random.default_rng(2).normal(size=(1, side, side, inputs)).astype(np.float32)
        made = [ready(make, content, [image], threads) for make in (Interpreter, Peer) for threads in (1, 2)]
        rounds = timing.in_turn(made, ROUNDS, SLICE, time.perf_counter_ns)
        for name, one, two in (("minilite", *rounds[:2]), ("litert", *rounds[2:])):
            medians = [statistics.median(each) / 1000 for each in (one, two)]
            ratios = medians[0] / medians[1], min(one) / min(two)
            label = f"{side}x{side}x{inputs} to {outputs}"
            print(f"{label:20} {name:9} {medians[0]:9.1f} {medians[1]:9.1f} {ratios[0]:8.2f} {ratios[1]:8.2f}")


def loaded(path: str, threads: int) -> Interpreter:
    """Ready for its next run, its workers started."""
    interpreter = Interpreter(path, num_threads=threads)
    interpreter.allocate_tensors()
    set_inputs(interpreter, {}, 0)
    interpreter.invoke()
    return interpreter


def pin(first: int, second: int) -> None:
    """The calling thread on one core, the process's other threads on another."""
    mine = str(threading.get_native_id())
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), {first if thread.name == mine else second})


def least_busy(seconds: float = 0.3) -> list[int]:
    """The two processors of this process that have least to do for so long."""

    def idle() -> dict[int, int]:
        lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
        return {int(line[0][3:]): int(line[4]) for line in lines if line[0][:3] == "cpu" and line[0] != "cpu"}

    before = idle()
    time.sleep(seconds)
    after = idle()
    return sorted(os.sched_getaffinity(0), key=lambda core: before[core] - after[core])[:2]


class Companion:
    """A process that runs a model with one thread on its core, on command."""

    def __init__(self, path: str, core: int) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.told: SynchronizedArray[float] = spawn.Array("d", 4, lock=False)  # type: ignore[assignment]
        """Its command, whether it rests, its runs so far, and the nanoseconds that they took."""
        self.process = spawn.Process(target=accompany, args=(path, core, self.told), daemon=True)
        self.process.start()
        self._await_rest()

    def beside(self, call: Callable[[], float]) -> tuple[float, float]:
        """The result of `call` while the companion works, and the nanoseconds per run of the companion meanwhile."""
        before = self.told[2]
        self.told[0] = WORK
        while self.told[2] == before:
            time.sleep(PAUSE)
        runs, took = self.told[2:]
        found = call()
        while self.told[2] == runs:
            time.sleep(PAUSE)
        meanwhile = (self.told[3] - took) / (self.told[2] - runs)
        self.told[0], self.told[1] = REST, 0
        self._await_rest()
        return found, meanwhile

    def _await_rest(self) -> None:
        while not self.told[1] and self.process.is_alive():
            time.sleep(PAUSE)

    def end(self) -> None:
        self.told[0] = END
        self.process.join()


def accompany(path: str, core: int, told: SynchronizedArray[float]) -> None:
    """The work of the companion's process."""
    os.sched_setaffinity(0, {core})
    invoke = loaded(path, 1).invoke
    while told[0] != END:
        told[1] = told[0] == REST
        if told[0] == REST:
            time.sleep(PAUSE)
            continue
        start = time.perf_counter_ns()
        invoke()
        told[3] += time.perf_counter_ns() - start
        told[2] += 1


def rounds_of(path: str, cores: Sequence[int], seconds: float) -> list[tuple[float, float, float, float]]:
    """Nanoseconds of a run: with one thread, with two, and with one in each of two processes, a round after the
    other."""
    companion = Companion(path, cores[1])
    one, two = (loaded(path, threads).invoke for threads in (1, 2))
    pin(cores[0], cores[1])
    clock = time.perf_counter_ns
    counts = [timing.times(call, SHORT_SLICE, clock) for call in (one, two)]
    found: list[tuple[float, float, float, float]] = []
    end = time.monotonic() + seconds
    while len(found) < LEAST_ROUNDS or time.monotonic() < end:
        single, shared = (timing.sample(call, n, clock) for call, n in zip((one, two), counts, strict=True))
        found.append((single, shared, *companion.beside(lambda: timing.sample(one, counts[0], clock))))
    companion.end()
    return found


def undivided(nodes: Sequence[NodeTime]) -> str:
    """Operators of nodes that are not divided, with how many these are and their share of the time, from 0.5 % on."""
    whole = sum(node.ns for node in nodes) or 1
    found: dict[str, list[float]] = {}
    for node in nodes:
        if node.times and not node.blocks:
            of = found.setdefault(node.op, [0, 0])
            of[0] += 1
            of[1] += node.ns
    ranked = sorted(found.items(), key=lambda item: -item[1][1])
    return ", ".join(f"{n:.0f} {op} {100 * ns / whole:.1f} %" for op, (n, ns) in ranked if ns / whole >= 0.005)


def row(path: str, cores: Sequence[int], seconds: float) -> str:
    """A model's row."""
    # On a busy machine a companion may come to no run in its turn.
    one, two, first, second = zip(*filter(all, rounds_of(path, cores, seconds)), strict=True)
    figures = [f"{min(one) / 1000:.0f}"]
    for of in (min, statistics.median):
        figures += [f"{of(one) / of(two):.2f}", f"{of(one) / of(first) + of(one) / of(second):.2f}"]
    found = loaded(path, 1).profile(5)
    figures += [f"{100 * found.alone:.1f} %", undivided(found.main)]
    return f"| {Path(path).stem} | {' | '.join(figures)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="a .tflite file")
    parser.add_argument("--cores", help="the two processors to stay on, as 0,1 (those that have least to do)")
    parser.add_argument("--seconds", type=float, default=10, help="of a model, at least (10)")
    args = parser.parse_args()
    given = [int(core) for core in args.cores.split(",")] if args.cores else None
    if not args.models:
        os.sched_setaffinity(0, set(given or least_busy()))
        print_nodes()
        return
    heads = [
        "model",
        "one thread, us",
        "two threads",
        "two processes",
        "medians: threads",
        "processes",
        "alone",
        "not divided",
    ]
    print(f"| {' | '.join(heads)} |\n|---|{'---:|' * 6}---|", flush=True)
    allowed = os.sched_getaffinity(0)
    for path in args.models:
        print(row(path, given or least_busy(), args.seconds), flush=True)
        os.sched_setaffinity(0, allowed)


if __name__ == "__main__":
    main()
