"""minilite against LiteRT with XNNPACK, both in one process and taking turns: microseconds of each, and their ratio.

usage: python asv_bench/versus_litert.py [--rounds 60] [--bench REGEX]

The operations are those of benchmarks/operations.py; `further node` is what each ADD of one row of 16 floats adds to a
run: (a chain of 100 - a chain of 1) / 99. Each line: the median of all rounds on either side, and minilite's cost over
LiteRT's, as the median over rounds with its quartiles: below 1 minilite is ahead. Times are CPU time of the calling
thread, one thread each.
"""

from __future__ import annotations

import argparse
import platform
import re
import statistics
from collections.abc import Sequence
from importlib.metadata import version

from ai_edge_litert.interpreter import Interpreter as LiteRT
from benchmarks import operations, timing

from minilite import Interpreter as Minilite
from minilite import __version__ as minilite_version

SLICE = 500_000
"""Nanoseconds that a side's turn takes at least."""


def compare(name: str, rounds: int) -> list[list[float]]:
    """Microseconds by round, ours and LiteRT's."""
    if name == "further node":
        short, long = (compare(f"invoke, chain {n}", rounds) for n in (1, 100))
        pairs = [zip(*sides, strict=True) for sides in zip(short, long, strict=True)]
        return [[(more - less) / 99 for less, more in side] for side in pairs]
    sides = [operations.API[name](make) for make in (Minilite, LiteRT)]
    return [[cost / 1000 for cost in side] for side in timing.in_turn(sides, rounds, SLICE)]


def row(name: str, ours: Sequence[float], theirs: Sequence[float]) -> str:
    """A line of the table."""
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True) if other > 0] * 2
    low, middle, high = statistics.quantiles(ratios or [0.0, 0.0], n=4)
    sides = f"{statistics.median(ours):12.3f}{statistics.median(theirs):12.3f}"
    return f"{name:28}{sides}{middle:8.2f}  {low:.2f} to {high:.2f}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60, help="times each operation is measured on either side")
    parser.add_argument("--bench", default="", metavar="REGEX", help="only operations whose name has this")
    args = parser.parse_args()
    versions = f"minilite {minilite_version}, LiteRT {version('ai-edge-litert')}"
    print(f"{versions}, {platform.platform()}, {args.rounds} rounds")
    print(f"{'':28}{'minilite us':>12}{'LiteRT us':>12}{'ratio':>8}  quartiles")
    for name in ("further node", *operations.API):
        if re.search(args.bench, name):
            print(row(name, *compare(name, args.rounds)), flush=True)


if __name__ == "__main__":
    main()
