"""minilite against LiteRT with XNNPACK, both in one process and taking turns.

usage: versus_litert.py [--rounds 200]

    invoke          one node, from Python
    further node    what each ADD of one row of 16 floats adds to a run: (101 nodes - 1 node) / 100
    resize same     resize_tensor_input to the shape in force + allocate_tensors
    resize seen     the same between two shapes that the interpreter has had before
    resize new      the same through 64 shapes, more than an interpreter keeps plans
    load            Interpreter(model_content=...) + allocate_tensors

Each line: the median of all rounds on either side, and their ratio, LiteRT's cost / minilite's, as the median over rounds with
its quartiles: above 1 minilite is ahead. Times are CPU time of the calling thread, one thread each.
"""

from __future__ import annotations

import argparse
import itertools
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from ai_edge_litert.interpreter import Interpreter as LiteRT
from benchmarks import common

from minilite import Interpreter as Minilite

Cost = Callable[[], float]
"""Measures once: nanoseconds."""
SCATTERED = [step * 37 % 64 for step in range(64)]


def timed(call: Callable[[], Any], repeat: int) -> float:
    """Nanoseconds of the calling thread per call."""
    turns = range(repeat)
    start = time.thread_time_ns()
    for _ in turns:
        call()
    return (time.thread_time_ns() - start) / repeat


def invoke(make: Any) -> Cost:
    interpreter, _, _ = common.ready("chain 1", make)
    return lambda: timed(interpreter.invoke, 1000)


def further_node(make: Any) -> Cost:
    short, _, _ = common.ready("chain 1", make)
    long, _, _ = common.ready("chain 101", make)
    return lambda: (timed(long.invoke, 200) - timed(short.invoke, 200)) / 100


def resizing(name: str, kind: str) -> Callable[[Any], Cost]:
    def prepare(make: Any) -> Cost:
        interpreter, source, _ = common.ready(name, make)
        steps = {"same": itertools.repeat(0), "seen": itertools.cycle([1, 0]), "new": itertools.cycle(SCATTERED)}[kind]
        for step in (1, 0):
            common.resize(interpreter, source, common.shape(name, step))
        repeat = len(SCATTERED) if kind == "new" else 20
        return lambda: timed(lambda: common.resize(interpreter, source, common.shape(name, next(steps))), repeat)

    return prepare


def load(name: str) -> Callable[[Any], Cost]:
    content = common.model(name)
    return lambda make: lambda: timed(lambda: make(model_content=content, num_threads=1).allocate_tensors(), 1)


CASES: list[tuple[str, Callable[[Any], Cost], int]] = [
    ("invoke, 1 node", invoke, 1),
    ("further node", further_node, 1),
    *(
        (f"resize {kind}, {name}", resizing(name, kind), 1)
        for name in ("conv", "chain 100")
        for kind in ("same", "seen", "new")
    ),
    *((f"load, {name}", load(name), 4) for name in ("conv", "chain 100", "chain 1000")),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="times each case is measured on either side")
    rounds = parser.parse_args().rounds
    print(f"minilite {version('minilite')}, LiteRT {version('ai-edge-litert')}, {platform.platform()}, {rounds} rounds")
    print(f"{'':24}{'LiteRT us':>12}{'minilite us':>12}{'ratio':>8}  quartiles")
    for name, prepare, divisor in CASES:
        theirs, ours = prepare(LiteRT), prepare(Minilite)
        theirs(), ours()
        turns = range(max(4, rounds // divisor))
        pairs = [(theirs(), ours()) if turn % 2 else (ours(), theirs())[::-1] for turn in turns]
        left, right = (statistics.median(side) / 1000 for side in zip(*pairs, strict=True))
        low, middle, high = statistics.quantiles([a / b for a, b in pairs if b > 0] or [0.0, 0.0], n=4)
        print(f"{name:24}{left:12.3f}{right:12.3f}{middle:8.2f}  {low:.2f} to {high:.2f}", flush=True)


if __name__ == "__main__":
    main()
