"""A random program of calls on an interpreter, with faults in between: its results are those of a fresh one.

    python tests/trust simulate [--seed 0] [--count 100] [--steps 40] [--seconds 0]

A seed is one program: a model, options, and steps: calls, good and bad, on it and its clones (sequence_oracle.py), runs
while a request for memory fails, runs that are cancelled, interrupted, or disturbed by calls of another thread at poll
k, several threads of which one goes on at a time, custom operators that raise, resize or re-enter, forks, pickles,
files that are cut or changed. After each fault the interpreter has to give what a fresh one gives. Runs seeds --seed to
--seed + --count - 1, or as many as begin within --seconds, in children that are replaced when they end; prints for a
failure its seed, which replays it: all of a program happens in an order that the seed decides.

Requests of the core fail, runs poll after an amount of work, and a pool's threads take turns, in builds with ML_FAILING
(failing.c, scheduled.c); in others the core's requests are granted, short runs do not poll, and a pool's
threads run as the system has it.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import functools
import gc
import hashlib
import os
import pickle
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from support import apart
from trust.at_any_time import ANY_INPUT, AT_ANY_TIME, CANCELLED, FINE, answer
from trust.calls import OPTIONS, SIZES, Calls
from trust.sequence_models import MODELS, head
from trust.sequence_oracle import Run, Used, arrays_of, expected, feed, fresh, made, outcome, resize, run_plainly
from trust.short_memory import FOREVER, Core, Seam, has_core

import minilite
from minilite import KernelError
from minilite._core import ffi
from minilite.errors import MiniliteError
from minilite.format.reader import load_model

POLL_NS = 60_000_000
"""The step of the clock at each look: more than the time between two polls."""
FAULTY = (
    "memory",
    "cancel",
    "interrupt",
    "disturb",
    "together",
    "together",
    "custom",
    "fork",
    "pickle",
    "state",
    "file",
)
LONGEST = 120
"""Seconds of one program."""
PLAIN = (
    "clone", "turn_to", "resize", "resize_to_no_shape", "allocate", "ask_for_a_plan", "trim", "feed",
    "feed_what_does_not_fit", "run_before_it_is_allocated", "invoke", "run", "run", "run", "call_a_signature",
    "reset_all_variables", "reset_resources", "look",
)  # fmt: skip
"""Calls after which a fault finds no views, bound arrays or refused sizes in its way; a run comes more often."""


class WrongError(Exception):
    """Raised if a rule of the simulation is broken."""


def demand(holds: bool, what: str) -> None:
    """Raises: WrongError."""
    if not holds:
        raise WrongError(what)


# Actions at a poll ----------------------------------------------------------------------------------------------------


class Turns:
    """Threads of which one goes on at a time. The next one is drawn at each poll, and wherever they pass on."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.of = dice, threading.local()
        self.gates: list[threading.Semaphore] = []
        self.left: list[int] = []
        self.errors: list[BaseException] = []

    def run(self, works: Sequence[Callable[[], Any]]) -> None:
        """Does each work in a thread of its own, and returns when all are done. Raises what the first raised."""
        self.gates, self.left = [threading.Semaphore(0) for _ in works], list(range(len(works)))
        threads = [threading.Thread(target=self._work, args=given) for given in enumerate(works)]
        for thread in threads:
            thread.start()
        self._draw()
        for thread in threads:
            thread.join()
        for error in self.errors:
            raise error

    def _work(self, number: int, work: Callable[[], Any]) -> None:
        self.of.number = number
        self.gates[number].acquire()
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised by `run`
            self.errors.append(error)
        finally:
            self.left.remove(number)
            if self.left:
                self._draw()

    def _draw(self) -> None:
        self.gates[self.dice.choice(self.left)].release()

    def pass_on(self) -> None:
        """Lets one of the threads go on, perhaps another."""
        if hasattr(self.of, "number"):
            self._draw()
            self.gates[self.of.number].acquire()


class Polls:
    """Calls a function at poll number k of a run, if polls come after an amount of work and not of time."""

    def __init__(self, by_work: bool) -> None:
        self.by_work, self.left, self.happened = by_work, 0, 0
        self.action: Callable[[], Any] | None = None
        self.later = 0
        """Polls after the action."""
        self.turns: Turns | None = None
        self._before: Any = None

        @ffi.def_extern(name="ml_hook_poll", error=-1, onerror=self._keep)  # type: ignore[untyped-decorator]
        def poll(owner: Any) -> int:
            return self.poll()

    def poll(self) -> int:
        """The hook."""
        if not self.by_work:
            return 0
        if self.turns is not None:
            self.turns.pass_on()
        self.later += self.left <= 0
        self.left -= 1
        action = self.action
        if self.left == 0 and action is not None:
            self.action, self.happened = None, self.happened + 1
            action()
        return 0

    @staticmethod
    def _keep(_: Any, error: BaseException, trace: Any) -> None:
        from minilite._native import hooks

        hooks._keep_exception(error, trace)

    def at(self, number: int, action: Callable[[], Any] | None) -> None:
        """Sets the action at that poll, counted from the current one; number 0: nothing."""
        self.left, self.action, self.later = number, action, 0


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
        name = "wide" if self.dice.random() < 0.3 else self.dice.choice(sorted(MODELS))
        options = self.dice.choice(OPTIONS) | {"num_threads": self.dice.choice((1, 2, 3, 4))}
        custom = {"custom_ops": {"Head": self.head}} if name == "custom" else {}
        self.calls = Calls(name, options | custom)
        self.note(name, options)

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
        """One call that the tests of any sequence make, too."""
        self.note(*self.calls.draw(self.dice, PLAIN))

    # Faults -----------------------------------------------------------------------------------------------------------

    def a_run(self) -> Run:
        """A run that succeeds."""
        return Run(self.dice.choice(SIZES), self.dice.randrange(4))

    def settle(self) -> None:
        """After a fault nothing is known of variables; everything else is as it was, and is made known."""
        self.polls.at(0, None)
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

    def faulty_run(self, allowed: tuple[type[BaseException], ...], cancel: minilite.Cancel | None = None) -> str:
        """Makes a run that may end with one of these errors; the next one has to be right."""
        run, used = self.a_run(), self.used
        try:
            resize(used.one, used.name, run.size)
            used.one.allocate_tensors()
            for tensor, array in zip(used.one.model.subgraphs[0].inputs, arrays_of(used.name, run), strict=True):
                used.one.set_tensor(tensor, array)
            used.one.invoke(cancel=cancel)
            ended = "served"
        except allowed as error:
            ended = type(error).__name__
        self.done[ended] += 1
        self.note(run, ended)
        return ended

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
        """The run is cancelled at poll k, by the interpreter or by a token; or the token was set before it began."""
        token, way = minilite.Cancel(), self.dice.choice(("interpreter", "token", "before"))
        self.polls.at(0, None)
        if way == "before":
            token.cancel()
        else:
            self.polls.at(self.dice.randrange(1, 6), token.cancel if way == "token" else self.used.one.cancel)
        ended = self.faulty_run((KernelError,), token)
        demand(way != "before" or ended == "KernelError", f"a run that was cancelled before it began: {ended}")
        demand(self.polls.later == 0, "a run went on to its next poll after it was cancelled")
        self.settle()

    def interrupt(self) -> None:
        """Ctrl-C comes at poll k."""

        def stop() -> None:
            raise KeyboardInterrupt

        self.polls.at(self.dice.randrange(1, 6), stop)
        self.faulty_run((KeyboardInterrupt,))
        self.settle()

    def of_another_thread(self) -> str:
        """Makes a drawn call, which is allowed at any time, and returns its end."""
        call = AT_ANY_TIME[self.dice.choice(sorted(AT_ANY_TIME))]
        return answer(lambda: call.make(self.used.one, self.used.name, self.dice, SIZES), call.reasons(self.used.name))

    def disturb(self) -> None:
        """Another thread makes a call at poll k: it is served, or refused because a run goes on."""
        answers = list[str]()

        def disturb() -> None:
            thread = threading.Thread(target=lambda: answers.append(self.of_another_thread()))
            thread.start()
            thread.join()

        self.polls.at(self.dice.randrange(1, 6), disturb)
        self.faulty_run((KernelError,))
        demand(set(answers) <= FINE, f"a call during a run was answered by {answers}")
        self.note(answers)
        self.settle()

    def together(self) -> None:
        """Two or three threads run clones, call this interpreter, and cancel runs of each other."""
        turns, tokens, answers = Turns(self.dice), list[minilite.Cancel](), list[str]()
        others = [self.used.one.clone() for _ in range(self.dice.choice((2, 3)))]

        def run(one: minilite.Interpreter) -> str:
            given = self.a_run()
            resize(one, self.used.name, given.size)
            one.allocate_tensors()
            one.reset_all_variables()
            one.reset_resources()
            found = run_plainly(one, self.used.name, given)
            self.polls.turns = None  # what is expected may be known, and then takes no turns
            wanted = expected(self.used.name, (given,))
            self.polls.turns = turns
            return "served" if found.equals(wanted) else "other results"

        def run_until_cancelled(one: minilite.Interpreter) -> str:
            feed(one, self.used.name, Run(self.dice.choice(SIZES), 1))
            tokens.append(token := minilite.Cancel())
            turns.pass_on()
            early = token.cancelled
            ended = answer(lambda: one.invoke(cancel=token), (CANCELLED, ANY_INPUT))
            return "a cancel was lost" if early and ended != CANCELLED.name else ended

        def work(one: minilite.Interpreter) -> None:
            for _ in range(3):
                kind = self.dice.choice(("run", "run until", "cancel", "call"))
                if kind == "run":
                    answers.append(run(one))
                elif kind == "run until":
                    answers.append(run_until_cancelled(one))
                elif kind == "cancel" and tokens:
                    self.dice.choice(tokens).cancel()
                else:
                    answers.append(self.of_another_thread())
                turns.pass_on()

        self.polls.turns = turns
        try:
            turns.run([lambda one=one: work(one) for one in others])  # type: ignore[misc]
        finally:
            self.polls.turns = None
        self.done.update(f"together {answer}" for answer in answers)
        demand(set(answers) <= FINE, f"threads were answered by {answers}")
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
                lambda: refused(lambda: (resize(one, self.used.name, 7), one.allocate_tensors())),
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
            signal.alarm(LONGEST // 2)  # ends it if it waits forever
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
        """The state of an interpreter is the same after it was taken and restored."""
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
    gc.collect()
    gc.disable()  # else pools end when Python likes
    if requests is not None:
        requests.clock(POLL_NS)
        requests.threads(seed + 1)
    polls.happened = 0
    program = Program(seed, polls, requests)
    for number in range(steps):
        program.note(number)
        program.step()
    handed = requests.hand_overs() if requests is not None else 0
    program.note(handed, polls.happened)
    program.done.update({"polls acted on": polls.happened, "hand-overs": handed})
    return program.done, program.log.hexdigest()[:16]


def answer_of(seed: int, steps: int, twice: bool) -> tuple[collections.Counter[str], str]:
    """Runs the program of a seed; returns its steps, and its failure, if any."""
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    requests, polls = (Core() if has_core() else None), Polls(has_core())
    try:
        done, digest = simulate(seed, steps, polls, requests)
        if twice:
            again = simulate(seed, steps, polls, requests)[1]
            demand(again == digest, f"digest {digest}, then {again}")
    except BaseException:  # noqa: BLE001 - that is what is looked for
        return collections.Counter(), traceback.format_exc()
    finally:
        faulthandler.cancel_dump_traceback_later()
    return done, ""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--twice", action="store_true", help="runs each program again, which has to do the same")
    given = parser.parse_args(arguments)
    total: collections.Counter[str] = collections.Counter()
    count, failed, end = 0, 0, time.monotonic() + given.seconds
    numbers = range(given.seed, sys.maxsize if given.seconds else given.seed + given.count)
    work = functools.partial(answer_of, steps=given.steps, twice=given.twice)
    for seed, found in apart.answers(work, numbers, begin=faulthandler.enable):
        done, text = ({}, f"ended with {found.status}") if isinstance(found, apart.Ended) else found
        total.update(done)
        count, failed = count + 1, failed + bool(text)
        if text:
            print(f"--seed {seed} --count 1 --steps {given.steps}: {text}", flush=True)
        if given.seconds and time.monotonic() > end:
            break
    print(", ".join(f"{what} {number}" for what, number in sorted(total.items())))
    print(f"{count} programs of {given.steps} steps, {failed} failed")
    return 1 if failed else 0
