"""Every operator on about a million elements, in the types of each row of its kernel, beside LiteRT (XNNPACK where it
takes them).

usage: python -m asv_bench.every_operator [--most 5] [OP...]

CPU time of the calling thread, taking turns, the fastest of some runs. Prints a row per operator and types, the slowest
beside LiteRT first, then those that take more than `--most` times LiteRT's time, and what could not be compared. The
nodes are those of the tests (tests/support/large.py); inputs that LiteRT does not take leave a row out.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from asv_bench.benchmarks.operators import ready

TESTS = Path(__file__).resolve().parents[1] / "tests"
UNSAFE = {("SVDF", "s8 s8 s8 s32 s8 -> s8")}
"""Nodes that LiteRT misreads, so that it writes beyond its tensors."""
TURNS, PATIENCE = 7, 400_000_000
"""Turns of each, and the nanoseconds after which no more are taken."""


class Row(NamedTuple):
    """Microseconds of a run."""

    op: str
    types: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """How many times LiteRT's time."""
        return self.ours / self.theirs


def fastest(calls: list[Callable[[], Any]]) -> list[float]:
    """Microseconds of each, taking turns; after a first run, which packs and grows."""
    found: list[list[int]] = [[] for _ in calls]
    began = time.thread_time_ns()
    for turn in range(TURNS + 1):
        for call, mine in zip(calls, found, strict=True):
            start = time.thread_time_ns()
            call()
            mine.append(time.thread_time_ns() - start)
        if turn > 1 and time.thread_time_ns() - began > PATIENCE:
            break
    return [max(1, min(mine[1:])) / 1000 for mine in found]


def rows(ops: list[str]) -> tuple[list[Row], list[str]]:
    """The operators that were compared, and those that were not, with the reason."""
    from ai_edge_litert.interpreter import Interpreter
    from support.large import LARGE, MODELS, large_node
    from support.polls import combinations

    import minilite

    found, left = [], []
    for op in ops or [*LARGE, *MODELS]:
        for inputs, outputs in combinations(op):
            types = f"{' '.join(inputs)} -> {' '.join(outputs)}"
            if (op, types) in UNSAFE:
                left.append(f"{op} {types}: LiteRT would write beyond its tensors")
                continue
            rng = np.random.default_rng(zlib.crc32(repr((op, inputs, outputs)).encode()))
            try:
                node = large_node(op, rng, inputs, outputs)
                calls = [ready(make, node.model, node.arrays) for make in (minilite.Interpreter, Interpreter)]
                found.append(Row(op, types, *fastest(calls)))
            except (ValueError, RuntimeError, TypeError, AttributeError) as error:
                left.append(f"{op} {types}: {str(error).splitlines()[0][:90]}")
    return found, left


@contextlib.contextmanager
def quiet() -> Any:
    """Silences standard error, including what LiteRT writes to the file descriptor itself."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def main() -> int:
    """1 if an operator takes more than `--most` times as long."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("ops", nargs="*", metavar="OP")
    parser.add_argument("--most", type=float, default=5.0, help="how many times LiteRT's time is too much (5)")
    args = parser.parse_args()
    sys.path[:0] = [str(TESTS), str(TESTS / "ops")]
    with quiet():
        found, left = rows(args.ops)
    found.sort(key=lambda row: -row.ratio)
    print(f"{'operator':32} {'types':34} {'minilite us':>12} {'LiteRT us':>11} {'times':>7}")
    for row in found:
        print(f"{row.op:32} {row.types:34} {row.ours:12.1f} {row.theirs:11.1f} {row.ratio:7.2f}")
    logs = np.log([row.ratio for row in found])
    slow = [f"{row.op} {row.types} ({row.ratio:.1f})" for row in found if row.ratio > args.most]
    print(
        f"\n{len(found)} compared, {np.exp(logs.mean()):.2f} times LiteRT's time in geometric mean; above {args.most:g}: {', '.join(slow) or 'none'}"
    )
    print(f"{len(left)} not compared:", *left, sep="\n  ")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
