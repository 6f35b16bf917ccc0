"""What a second thread gives: one node of 1 x 1 convolution at several sizes, both runtimes, wall time, interleaved in one process.

usage: python -m asv_bench.two_threads [--cores 0,1]

Prints microseconds of a run with one and with two threads, and how many times faster two are, of the medians and of the fastest.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

import numpy as np

from asv_bench.benchmarks import timing
from asv_bench.benchmarks.operators import ready
from minilite.format.builder import ModelBuilder

SHAPES = [(14, 256, 256), (28, 256, 256), (56, 64, 256), (7, 960, 320)]
"""Height and width of the image, its channels, and the convolution's channels."""
ROUNDS, SLICE = 41, 4_000_000
"""Turns of each, and the nanoseconds that a turn takes at least."""


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cores", default="0,1", help="the processors to stay on (0,1)")
    os.sched_setaffinity(0, {int(core) for core in parser.parse_args().cores.split(",")})
    from ai_edge_litert.interpreter import Interpreter as Peer

    from minilite import Interpreter

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


if __name__ == "__main__":
    main()
