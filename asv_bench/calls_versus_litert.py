"""Single calls on a model of one node, minilite beside LiteRT in one process and taking turns.

usage: python asv_bench/calls_versus_litert.py [--repeat 3]

Each line: minilite's cost over LiteRT's, the lowest and the highest of so many measurements (below 1 minilite is
ahead), the same of a second interpreter of minilite's (the noise), and the limit that is aimed at. The last line is a
whole `run` in units of a bare call of cffi's, which is what any call into C costs. asv tracks the same as
`peers.Ratio`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from benchmarks import common, operations, peers

LIMITS = {
    "set_tensor": 1.5,
    "get_tensor": 1.5,
    "set_tensor, 2 KiB": 1.5,
    "get_tensor, 2 KiB": 1.5,
    "set_tensor, 64 KiB": 1.0,
    "get_tensor, 64 KiB": 1.0,
    "set_tensor, 1024 KiB": 1.0,
    "get_tensor, 1024 KiB": 1.0,
    "get_input_details": 1.0,
    "view": 1.0,
    "signature runner": 1.0,
}
"""What is aimed at: minilite's cost over LiteRT's."""
RUN = 3 / 0.16
"""The limit of `run`: 3 us where a bare getter takes 0.16."""


def nanoseconds(call: Callable[[], Any], times: int = 2000, rounds: int = 40) -> float:
    """The least time of a call, each a mean over `times` calls."""
    found = []
    for _ in range(rounds):
        start = time.thread_time_ns()
        for _ in range(times):
            call()
        found.append((time.thread_time_ns() - start) / times)
    return min(found)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="measurements of each call")
    repeat = parser.parse_args().repeat
    print(f"{'call':24}{'of LiteRT':>14}{'noise':>8}{'limit':>8}")
    for call, limit in LIMITS.items():
        found = [peers.ratio(call, "litert") for _ in range(repeat)]
        print(
            f"{call:24}{min(found):8.2f} -{max(found):5.2f}{peers.ratio(call, 'minilite'):8.2f}{limit:8.2f}", flush=True
        )
    from minilite._core import lib

    getter, run = nanoseconds(lib.ml_debug_build), nanoseconds(operations.CALLS["run, chain 1"](common.interpreter))
    print(f"run: {run / 1000:.2f} us, {run / getter:.1f} times a bare getter's {getter / 1000:.3f} us, limit {RUN:.1f}")


if __name__ == "__main__":
    main()
