"""Single operators beside LiteRT's (XNNPACK where it takes them), interleaved in one process: CPU time of the calling thread.

usage: python -m asv_bench.single_operators [NAME...]

Prints, for each, microseconds of a run on either side, and LiteRT's over ours, the fastest rounds' and the medians': above 1 minilite
is ahead.
"""

from __future__ import annotations

import statistics
import sys

from asv_bench.benchmarks import timing
from asv_bench.benchmarks.operators import SINGLES, Single, model, ready

ROUNDS, SLICE = 21, 2_000_000
"""Rounds of each, and the nanoseconds that a side's turn takes at least."""


def compare(single: Single) -> tuple[list[float], list[float]]:
    """Microseconds of rounds, ours and LiteRT's, which take turns."""
    from ai_edge_litert.interpreter import Interpreter

    import minilite

    content, arrays = model(single)
    sides = [ready(make, content, arrays) for make in (minilite.Interpreter, Interpreter)]
    ours, theirs = timing.in_turn(sides, ROUNDS, SLICE)
    return [time / 1000 for time in ours], [time / 1000 for time in theirs]


def main(names: list[str]) -> None:
    print(f"{'':24} {'minilite us':>12} {'LiteRT us':>10} {'best':>6} {'median':>7}")
    for name in names or SINGLES:
        ours, theirs = compare(SINGLES[name])
        best, median = min(theirs) / min(ours), statistics.median(theirs) / statistics.median(ours)
        print(f"{name:24} {min(ours):12.2f} {min(theirs):10.2f} {best:6.2f} {median:7.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
