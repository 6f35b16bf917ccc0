"""Threads make any calls on one interpreter, or each on one that it has alone: calls are served, or refused for a true
reason; results and memory stay as they are.

    python tests/trust threads [--seconds 60] [--threads 8] [--seed 0] [--models A,B] [--calls A,B] [--alone 24]

All threads use one interpreter of each model in turn, by calls of at_any_time.py; in the end it gives what a fresh one
gives. With --alone there are so many interpreters, each used by one thread at a time; after each call a run has to give
a fresh interpreter's results, and, in a minute or more, the memory of the process has to be flat: the most of the
second half is above that of the first, its beginning left out, by at most 2 % or 4 MiB.

Prints how often each call had which outcome. Ends with status 1 if a call was answered wrongly or memory grew, and if
the process did not come to an end; a crash ends it by its signal, with the stack of every thread.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import gc
import itertools
import mmap
import queue
import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from trust.at_any_time import AT_ANY_TIME, BUSY, FINE, VIEW, answer
from trust.sequence_models import MODELS
from trust.sequence_oracle import LIMITS, Run, expected, fresh, run_plainly

import minilite

SIZES = (1, 2, 5, 40, 300)
GRACE = 60
"""Seconds that the last calls may take."""
SAMPLES, LEAST_BYTES, LEAST_SECONDS = 20, 4 << 20, 60

Outcomes = collections.Counter[tuple[str, str]]


def wrong_results(one: minilite.Interpreter, name: str, run: Run) -> str:
    """Returns the difference of a run from a fresh interpreter's, if any. The interpreter remembers nothing of
    others."""
    one.reset_all_variables()
    one.reset_resources()
    found, wanted = run_plainly(one, name, run), expected(name, (run,))
    return "" if found.equals(wanted) else f"{name}: {run} gave {found}, not {wanted}"


def in_threads(works: Sequence[Callable[[], None]]) -> None:
    """Does each work in a thread of its own."""
    threads = [threading.Thread(target=work) for work in works]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


class Threads:
    """The faults that threads have found, by call."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.count, self.seed, self.calls = given.threads, given.seed, given.calls.split(",")
        self.outcomes, self.wrong = Outcomes(), list[str]()

    def call(self, one: minilite.Interpreter, name: str, dice: random.Random, outcomes: Outcomes) -> str:
        """Makes a drawn call. Returns its outcome."""
        kind = dice.choice(self.calls)
        call = AT_ANY_TIME[kind]
        found = answer(lambda: call.make(one, name, dice, SIZES), call.reasons(name))
        outcomes[kind, found if found in FINE else "WRONG"] += 1
        if found not in FINE:
            self.wrong.append(f"{name}: {kind}: {found}")
        return found

    def work(self, number: int, end: float, turn: Callable[[random.Random, Outcomes], None]) -> Callable[[], None]:
        """Makes the calls of one thread until the end."""

        def work() -> None:
            dice, outcomes = random.Random(f"{self.seed}:{number}"), Outcomes()
            while time.monotonic() < end:
                turn(dice, outcomes)
            self.outcomes.update(outcomes)

        return work

    def share(self, name: str, seconds: float) -> None:
        """All threads use one interpreter."""
        one = fresh(name, num_threads=2, **LIMITS)
        one.allocate_tensors()
        end = time.monotonic() + seconds
        in_threads([self.work(n, end, lambda d, o: self.call(one, name, d, o) and None) for n in range(self.count)])
        self.wrong += filter(None, (wrong_results(one, name, Run(size, 0)) for size in SIZES))

    def take_alone(self, names: Sequence[str], count: int, seconds: float) -> None:
        """Each interpreter is used by one thread at a time; clones share a model with the first one of their name."""
        free: queue.SimpleQueue[tuple[str, minilite.Interpreter]] = queue.SimpleQueue()
        first = {name: fresh(name, **LIMITS) for name in names}
        for number, name in zip(range(count), itertools.cycle(names), strict=False):
            free.put((name, first[name].clone() if number % 2 else fresh(name, num_threads=1 + number % 3, **LIMITS)))
        end = time.monotonic() + seconds

        def turn(dice: random.Random, outcomes: Outcomes) -> None:
            name, one = free.get()
            found = self.call(one, name, dice, outcomes)
            if found in (BUSY.name, VIEW.name):
                self.wrong.append(f"{name}: {found}, with nobody else in the way")
            if text := wrong_results(one, name, Run(dice.choice(SIZES), dice.randrange(4))):
                self.wrong.append(text)
            free.put((name, one))

        in_threads([*(self.work(n, end, turn) for n in range(self.count)), lambda: self.watch(seconds)])

    def watch(self, seconds: float) -> None:
        """Notes whether the memory of the process is flat."""
        sizes = []
        for _ in range(SAMPLES):
            time.sleep(seconds / SAMPLES)
            gc.collect()
            pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
            sizes.append(pages * mmap.PAGESIZE)
        half = len(sizes) // 2
        before, after = max(sizes[2:half]), max(sizes[half:])
        print(f"at most {before / 2**20:.1f} MiB in the first half, {after / 2**20:.1f} in the second")
        if seconds >= LEAST_SECONDS and after - before > max(LEAST_BYTES, before // 50):
            self.wrong.append("memory is NOT flat")

    def report(self) -> None:
        """Prints all outcomes."""
        for kind in self.calls:
            counts = sorted(
                ((count, what) for (call, what), count in self.outcomes.items() if call == kind), reverse=True
            )
            print(f"{kind:10}", ", ".join(f"{what} {count}" for count, what in counts) or "-")
        for text, count in collections.Counter(self.wrong).most_common(10):
            print(f"\n{count} times {text[:2000]}", end="")
        print(f"\n{self.outcomes.total()} calls, {len(self.wrong)} answered wrongly")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", default=",".join(MODELS), help="names, separated by commas (all)")
    parser.add_argument("--calls", default=",".join(AT_ANY_TIME), help="names, separated by commas (all)")
    parser.add_argument("--alone", type=int, metavar="N", help="N interpreters, each used by one thread at a time")
    given = parser.parse_args(arguments)
    names = given.models.split(",")
    if unknown := {*names, *given.calls.split(",")} - {*MODELS, *AT_ANY_TIME}:
        parser.error(f"no such model or call: {', '.join(sorted(unknown))}")
    faulthandler.enable()
    faulthandler.dump_traceback_later(given.seconds + GRACE, exit=True)
    sys.setswitchinterval(1e-4)
    threads = Threads(given)
    if given.alone:
        threads.take_alone(names, given.alone, given.seconds)
    else:
        for name in names:
            threads.share(name, given.seconds / len(names))
    faulthandler.cancel_dump_traceback_later()
    threads.report()
    return int(bool(threads.wrong))
