"""What get_state and set_state take together, and what they may: 3 us, 0.3 us per variable, two copies of the bytes.

usage: python -m asv_bench.states

The model has resource variables, as a model of streams does. The copies are memmove between two blocks of the size of
all variables together. Both are timed in turn, so that what else the machine does is felt by both; medians.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable

import numpy as np

from asv_bench.benchmarks import common
from asv_bench.benchmarks.batches import stream
from minilite._native.rates import arrays_apart

SIZES = ((1, 1), (10, 16), (1, 65536), (10, 65536), (100, 65536))
"""Variables, and the floats of each."""
HEAD = """\
| variables | floats of each | get, us | set, us | both, us | two copies, us | may take, us |
|---:|---:|---:|---:|---:|---:|---:|"""
_TURNS = 300
_SECONDS = 3.0


def _seconds(call: Callable[[], object], repeats: int) -> float:
    begun = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begun) / repeats


def row(variables: int, size: int) -> str:
    """A line in Markdown."""
    interpreter = common.interpreter(model_content=stream(variables, size))
    interpreter.run(np.ones(size, np.float32))
    state = interpreter.get_state()
    nbytes = variables * size * 4
    one, other = arrays_apart(((nbytes,), np.uint8), ((nbytes,), np.uint8))
    to, source = ctypes.c_void_p(other.ctypes.data), ctypes.c_void_p(one.ctypes.data)
    count = ctypes.c_size_t(nbytes)
    repeats = max(1, 100_000 // max(nbytes, 1000))
    calls = (
        interpreter.get_state,
        lambda: interpreter.set_state(state),
        lambda: ctypes.memmove(to, source, count),
        lambda: ctypes.memmove(to, source, 0),
    )
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + _SECONDS
    for _ in range(_TURNS):
        for call, found in zip(calls, times, strict=True):
            call()  # not counted: it brings its own bytes into the cache
            found.append(_seconds(call, repeats))
        if time.perf_counter() > end:
            break
    get, put, copy, bare = (statistics.median(found) * 1e6 for found in times)
    copies = 2 * (copy - bare)
    limit = 3 + 0.3 * variables + copies
    return f"| {variables} | {size} | {get:.2f} | {put:.2f} | {get + put:.2f} | {copies:.2f} | {limit:.2f} |"


def main() -> None:
    """Prints the table."""
    print(HEAD)
    for variables, size in SIZES:
        print(row(variables, size), flush=True)


if __name__ == "__main__":
    main()
