"""A random program of calls on an interpreter, with faults in between: its results are those of a fresh one.

    PYTHONPATH=tests:tests/property python -m tools.simulate [--seed 0] [--count 100] [--steps 40] [--seconds 0]

A seed is one program: a model, options, and steps: calls, good and bad, on it and its clones (tests/property/), runs
while a request for memory fails, runs that are cancelled, interrupted, or disturbed by calls of another thread at poll
k, custom operators that raise, resize or re-enter, forks, pickles, files that are cut or changed. After each fault the
interpreter has to give what a fresh one gives. Runs seeds --seed to --seed + --count - 1, or as many as begin within
--seconds; prints for a failure its seed, which replays it: all of a program happens in an order that the seed decides.

Requests of the core fail, and runs poll after an amount of work, in builds with ML_FAILING (csrc/os/failing.c); in
others the core's requests are granted, and short runs do not poll.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import os
import pickle
import random
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from failing.short_memory import FOREVER, Core, Seam, has_core
from property.sequence_models import MODELS, head
from property.sequence_oracle import Run, Used, arrays_of, expected, fresh, made, outcome, resize, run_plainly
from property.test_any_sequence import OPTIONS
from property.test_any_sequence import Sequence as Calls

import minilite
from minilite import KernelError, StateError
from minilite._core import ffi
from minilite.errors import MiniliteError
from minilite.format.reader import load_model

SIZES = (1, 2, 3, 5, 40)
POLL_NS = 60_000_000
"""What the clock goes by with each look at it: more than the time between two polls."""
FAULTY = ("memory", "cancel", "interrupt", "disturb", "custom", "fork", "pickle", "state", "file")
PLAIN = (
    "clone", "turn_to", "resize", "allocate", "ask_for_a_plan", "trim", "feed", "feed_what_does_not_fit", "invoke",
    "run", "run", "run", "call_a_signature", "reset_all_variables", "reset_resources", "look",
)  # fmt: skip


class WrongError(Exception):
    """What must not happen has happened."""


def demand(holds: bool, what: str) -> None:
    """Raises: WrongError."""
    if not holds:
        raise WrongError(what)


# What happens at a poll -----------------------------------------------------------------------------------------------


class Polls:
    """Calls a function at poll number k of a run."""

    def __init__(self) -> None:
        self.left, self.action, self.happened = 0, None, 0
        self._before: Any = None

        @ffi.def_extern(name="ml_hook_poll", error=-1, onerror=self._keep)  # type: ignore[untyped-decorator]
        def poll(_: Any) -> int:
            return self.poll()

    def poll(self) -> int:
        """The hook."""
        self.left -= 1
        action: Callable[[], Any] | None = self.action
        if self.left == 0 and action is not None:
            self.action, self.happened = None, self.happened + 1
            action()
        return 0

    @staticmethod
    def _keep(_: Any, error: BaseException, trace: Any) -> None:
        from minilite._native import hooks

        hooks._keep_exception(error, trace)

    def at(self, number: int, action: Callable[[], Any]) -> None:
        """What to do at that poll, counted from now."""
        self.left, self.action = number, action


# Custom operators that misbehave --------------------------------------------------------------------------------------


class Head:
    """The operator `head` of the models, which does something else first."""

    def __init__(self) -> None:
        self.first: Callable[[], Any] | None = None

    def __call__(self, node: Any, x: Any) -> Any:
        first, self.first = self.first, None
        if first is not None:
            first()
        return head(node, x)


# A program ------------------------------------------------------------------------------------------------------------


class Program:
    """The program of a seed."""

    def __init__(self, seed: int, polls: Polls, requests: Core | None) -> None:
        self.dice, self.polls, self.requests = random.Random(seed), polls, requests
        self.done: collections.Counter[str] = collections.Counter()
        self.log = hashlib.sha256()
        self.head = Head()
        self.calls = Calls()
        self.calls.name = self.dice.choice(sorted(MODELS))
        options = self.dice.choice(OPTIONS)
        self.calls.begin(options=options)
        first = self.calls.used
        custom = {"Head": self.head} if self.calls.name == "custom" else {}
        first.one = minilite.Interpreter(model_content=made(self.calls.name).model, custom_ops=custom, **options)
        self.note(self.calls.name, options)

    @property
    def used(self) -> Used:
        """The interpreter in use, and what it should know."""
        return self.calls.used

    def note(self, *what: Any) -> None:
        """Adds to the digest of what has happened."""
        self.log.update(repr(what).encode())

    def step(self) -> None:
        """One step, after which all values are what they should be."""
        kind = self.dice.choice(FAULTY) if self.dice.random() < 0.4 else "plain"
        self.done[kind] += 1
        getattr(self, kind)()
        self.calls.values_hold()
        self.note(kind, self.used.requested, self.used.in_force)

    def plain(self) -> None:
        """A call that the tests of any sequence make, if it can be made now."""
        name, calls, dice = self.dice.choice(PLAIN), self.calls, self.dice
        size, seed, wrong = dice.choice(SIZES), dice.randrange(4), dice.randrange(4)
        ready = calls.is_ready()
        self.note(name, size, seed, wrong)
        if name in ("feed", "invoke") and not ready:
            return calls.run_before_it_is_allocated()
        if name == "call_a_signature" and not made(calls.name).signatures:
            return None
        if name == "turn_to" and len(calls.all) < 2:
            return None
        given: dict[str, dict[str, Any]] = {
            "clone": {"keep": dice.random() < 0.5, "size": size, "seed": seed},
            "turn_to": {"which": seed},
            "resize": {"size": size, "by": dice.choice(("number", "name", "details"))},
            "ask_for_a_plan": {"size": size},
            "feed": {"seed": seed, "wrong": wrong, "how": "set"},
            "feed_what_does_not_fit": {"array": np.zeros(7, np.float64)},
            "invoke": {"seed": seed},
            "run": {"size": size, "seed": seed, "wrong": wrong},
            "call_a_signature": {"size": size, "seed": seed, "which": seed % 2},
        }
        getattr(calls, name)(**given.get(name, {}))
        return None

    # Faults -----------------------------------------------------------------------------------------------------------

    def a_run(self) -> Run:
        """A run that succeeds."""
        return Run(self.dice.choice(SIZES), self.dice.randrange(4))

    def settle(self) -> None:
        """After a fault nothing is known of variables; everything else is as it was, and is made known."""
        used, run = self.used, self.a_run()
        used.one.reset_all_variables()
        used.reset_resources()
        used.seen.clear()
        used.lose_values()
        resize(used.one, used.name, run.size)
        used.one.allocate_tensors()
        used.one.reset_all_variables()
        used.requested = used.in_force = run.size
        used.dirty = used.resized = used.released = False
        found = run_plainly(used.one, used.name, run)
        used.seen.append(run)
        wanted = expected(used.name, (run,))
        demand(found.equals(wanted), f"after a fault {run} gave {found.error or found.arrays}, not {wanted}")
        self.note(found.error, [a.tolist() for a in found.arrays])

    def faulty_run(self, allowed: tuple[type[BaseException], ...]) -> None:
        """A run that may end with one of these errors; the next one has to be right."""
        run, used = self.a_run(), self.used
        try:
            resize(used.one, used.name, run.size)
            used.one.allocate_tensors()
            for tensor, array in zip(used.one.model.subgraphs[0].inputs, arrays_of(used.name, run), strict=True):
                used.one.set_tensor(tensor, array)
            used.one.invoke()
            ended = "served"
        except allowed as error:
            ended = type(error).__name__
        self.done[ended] += 1
        self.note(run, ended)

    def memory(self) -> None:
        """A request fails, or all from one on."""
        core = self.requests is not None and self.dice.random() < 0.7
        requests: Core | Seam = self.requests if core and self.requests is not None else Seam()
        first = self.dice.randrange(1, 60 if core else 20)
        with requests.in_place():
            requests.begin(first, first if self.dice.random() < 0.5 else FOREVER)
            try:
                self.faulty_run((MemoryError,))
            finally:
                self.done["failed requests"] += requests.number("failed")
                requests.begin(0, 0)
        self.settle()

    def cancel(self) -> None:
        """The run is cancelled at poll k."""
        self.polls.at(self.dice.randrange(1, 6), self.used.one.cancel)
        self.faulty_run((KernelError,))
        self.settle()

    def interrupt(self) -> None:
        """Ctrl-C comes at poll k."""

        def stop() -> None:
            raise KeyboardInterrupt

        self.polls.at(self.dice.randrange(1, 6), stop)
        self.faulty_run((KeyboardInterrupt,))
        self.settle()

    def disturb(self) -> None:
        """Another thread makes a call at poll k: it is served, or refused because a run goes on."""
        one, size, answers = self.used.one, self.dice.choice(SIZES), list[str]()
        ways: tuple[Callable[[], Any], ...] = (
            one.allocate_tensors, one.invoke, one.trim, one.cancel, one.get_input_details, one.plan_for,
            lambda: one.get_tensor(0), lambda: one.counters, lambda: resize(one, self.used.name, size),
            lambda: run_plainly(one.clone(), self.used.name, Run(size, 1)), one.reset_all_variables, lambda: repr(one),
        )  # fmt: skip
        way = self.dice.choice(ways)

        def call() -> None:
            try:
                way()
                answers.append("served")
            except BaseException as error:  # noqa: BLE001 - that is what is looked for
                answers.append("busy" if isinstance(error, StateError) else f"{type(error).__name__}: {error}")

        def disturb() -> None:
            thread = threading.Thread(target=call)
            thread.start()
            thread.join()

        self.polls.at(self.dice.randrange(1, 6), disturb)
        self.faulty_run((KernelError,))
        demand(set(answers) <= {"served", "busy"}, f"a call during a run was answered by {answers}")
        self.note(answers)
        self.settle()

    def custom(self) -> None:
        """The custom operator raises, resizes, re-enters; calls on its own interpreter are refused."""
        one, answers = self.used.one, list[str]()

        def refused(way: Callable[[], Any]) -> None:
            answers.append(outcome(lambda: [way()]).error[:10] or "served")

        def fail() -> None:
            message = "on purpose"
            raise ArithmeticError(message)

        self.head.first = self.dice.choice(
            (
                fail,
                lambda: refused(one.invoke),
                lambda: refused(one.allocate_tensors),
                lambda: refused(one.trim),
                lambda: run_plainly(one.clone(), self.used.name, Run(3, 1)),
            )
        )
        self.faulty_run((ArithmeticError,))
        self.head.first = None
        demand(all(a.startswith("StateError") for a in answers), f"an operator's call was answered by {answers}")
        self.settle()

    def fork(self) -> None:
        """The child of a fork has an interpreter that works."""
        self.settle()
        run = self.a_run()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                self.used.one.reset_all_variables()
                self.used.one.reset_resources()
                code = (
                    0 if run_plainly(self.used.one, self.used.name, run).equals(expected(self.used.name, (run,))) else 2
                )
            finally:
                os._exit(code)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        demand(status == 0, f"the child of a fork ended with {status}")

    def pickle(self) -> None:
        """A pickled interpreter works."""
        if self.calls.name == "custom":  # its operator has a state that is not pickled
            return
        run = self.a_run()
        other = pickle.loads(pickle.dumps(self.used.one))
        other.reset_all_variables()
        other.reset_resources()
        demand(
            run_plainly(other, self.used.name, run).equals(expected(self.used.name, (run,))), "pickled: other results"
        )

    def state(self) -> None:
        """What an interpreter keeps is the same after it was taken and put back."""
        self.settle()
        self.used.one.set_state(self.used.one.get_state())

    def file(self) -> None:
        """A file that is cut is refused or a model; one that is changed after it was loaded cannot undo the checks."""
        data = made(self.calls.name).model
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.tflite")
            path.write_bytes(data[: self.dice.randrange(len(data))])
            found = outcome(lambda: [load_model(path)])
            demand(not found.error or issubclass(getattr(minilite.errors, found.error.split(":")[0], str), MiniliteError),
                   f"a file that was cut: {found.error}")  # fmt: skip
            room = bytes(1 << 17) if self.dice.random() < 0.7 else b""  # so that it is mapped
            path.write_bytes(data + room)
            one = fresh(self.calls.name).__class__(str(path), custom_ops=dict(made(self.calls.name).custom_ops))
            changed = bytearray(data + room)
            for _ in range(5):
                changed[self.dice.randrange(len(data))] = self.dice.randrange(256)
            with path.open("r+b") as opened:  # the same file, as long as before
                opened.write(changed)
            found = run_plainly(one, self.calls.name, self.a_run())
            self.note(found.error)


def simulate(seed: int, steps: int, polls: Polls, requests: Core | None) -> tuple[collections.Counter[str], str]:
    """Runs the program of a seed; what it did, and a digest of all answers. Raises what must not happen."""
    if requests is not None:
        requests.clock(POLL_NS)
    program = Program(seed, polls, requests)
    for number in range(steps):
        program.note(number)
        program.step()
    return program.done, program.log.hexdigest()[:16]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--twice", action="store_true", help="runs each program again, which has to do the same")
    given = parser.parse_args(arguments)
    requests, polls = (Core() if has_core() else None), Polls()
    total: collections.Counter[str] = collections.Counter()
    failed, end = 0, time.monotonic() + given.seconds
    seed = given.seed
    while time.monotonic() < end if given.seconds else seed < given.seed + given.count:
        try:
            done, digest = simulate(seed, given.steps, polls, requests)
            if given.twice:
                again = simulate(seed, given.steps, polls, requests)[1]
                demand(again == digest, f"digest {digest}, then {again}")
            total.update(done)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and "stop" not in traceback.format_exc():
                raise
            failed += 1
            print(f"--seed {seed} --count 1 --steps {given.steps}: {traceback.format_exc()}", flush=True)
        seed += 1
    print(", ".join(f"{what} {count}" for what, count in sorted(total.items())), f"polls acted on {polls.happened}")
    print(f"{seed - given.seed} programs of {given.steps} steps, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
