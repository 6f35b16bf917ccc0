"""Many interpreters run and resize at random on many threads, for long: memory and results stay as they are.

    python tools/soak.py [--seconds 600] [--interpreters 24] [--threads 8] [--seed 0]

A thread takes an interpreter that nobody else uses, resizes it to a drawn size, runs both of its signatures, and
compares the results with those of a first run at that size, bit for bit. Prints memory in use twenty times. Ends with
status 1 if a result differed, a call failed, or memory was not flat: the most of the second half is above that of the
first, its beginning left out, by more than 2 % and 4 MiB.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import faulthandler
import gc
import mmap
import queue
import random
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hammer
import numpy as np

import minilite

SIZES = (1, 2, 7, 100, 1000, 4096, 10_000, 65_536)
GRACE = 60
"""Seconds that the last calls may take."""
SAMPLES = 20
LEAST_BYTES = 4 << 20


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * mmap.PAGESIZE


class Used:
    """An interpreter and its signatures."""

    def __init__(self, one: minilite.Interpreter) -> None:
        self.one, self.loop, self.clip = one, one.get_signature_runner("loop"), one.get_signature_runner("clip")

    def outputs(self, size: int) -> list[Any]:
        """The results at that size, of runs that remember nothing."""
        self.one.reset_all_variables()
        self.one.reset_resources()
        found, rows = self.loop(x=hammer.ramp(size)), self.clip(y=hammer.ramp(min(size, 4096)))
        return [found["looped"], found["places"], found["kept"], rows["clipped"]]


class Soak:
    """The interpreters, and what threads have found with them."""

    def __init__(self, interpreters: int) -> None:
        self.free: queue.SimpleQueue[Used] = queue.SimpleQueue()
        fresh = minilite.Interpreter(model_content=hammer.model())
        for number in range(interpreters):  # clones of one, or of a model each
            own = minilite.Interpreter(model_content=hammer.model(), num_threads=1 + number % 3)
            self.free.put(Used(own if number % 2 else fresh.clone()))
        self.first = {size: Used(fresh).outputs(size) for size in SIZES}
        self.runs, self.wrong = 0, list[str]()

    def work(self, end: float, dice: random.Random) -> int:
        """Takes interpreters and runs them until the end. How many runs there were."""
        runs = 0
        while time.monotonic() < end:
            used, size = self.free.get(), dice.choice(SIZES)
            try:
                pairs = zip(used.outputs(size), self.first[size], strict=True)
                if not all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in pairs):
                    self.wrong.append(f"{size} values: other results than those of the first run")
                if dice.random() < 0.02:
                    used.one.trim()
            except Exception:  # noqa: BLE001 - that is what is looked for
                self.wrong.append(traceback.format_exc())
            self.free.put(used)
            runs += 1
        return runs


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--interpreters", type=int, default=24)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    faulthandler.enable()
    faulthandler.dump_traceback_later(given.seconds + GRACE, exit=True)
    soak, end = Soak(given.interpreters), time.monotonic() + given.seconds
    with concurrent.futures.ThreadPoolExecutor(given.threads) as pool:
        dice = (random.Random(f"{given.seed}:{number}") for number in range(given.threads))
        futures = [pool.submit(soak.work, end, each) for each in dice]
        sizes = []
        for _ in range(SAMPLES):
            time.sleep(given.seconds / SAMPLES)
            gc.collect()
            sizes.append(resident())
            print(f"{sizes[-1] / 2**20:.1f} MiB, {sys.getallocatedblocks()} blocks", flush=True)
        runs = sum(future.result() for future in futures)
    faulthandler.cancel_dump_traceback_later()
    for text in soak.wrong[:10]:
        print(text)
    half = len(sizes) // 2
    before, after = max(sizes[2:half]), max(sizes[half:])
    flat = after - before <= max(LEAST_BYTES, before // 50)
    print(
        f"{runs} runs of {given.interpreters} interpreters by {given.threads} threads, {len(soak.wrong)} wrong; "
        f"at most {before / 2**20:.1f} MiB in the first half, {after / 2**20:.1f} in the second: {'flat' if flat else 'NOT flat'}"
    )
    return int(bool(soak.wrong) or not flat)


if __name__ == "__main__":
    sys.exit(main())
