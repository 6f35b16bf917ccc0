"""The expected state of an interpreter after a sequence of calls, and the results of a fresh one in that state."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from built import Array
from trust.sequence_models import MODELS, Dims, Sequenced

import minilite


class Run(NamedTuple):
    """The inputs of one run."""

    size: int
    seed: int
    wrong: bool = False
    signature: str = ""
    """Empty: the main subgraph, without a signature."""


class Given(NamedTuple):
    """The result of a call: arrays, or an error."""

    arrays: tuple[Array, ...] = ()
    error: str = ""

    def equals(self, other: Given) -> bool:
        """Bit for bit."""
        if self.error != other.error or len(self.arrays) != len(other.arrays):
            return False
        pairs = zip(self.arrays, other.arrays, strict=True)
        return all(a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist() for a, b in pairs)


def outcome(action: Callable[[], Any]) -> Given:
    """Returns the result of a call."""
    try:
        found = action()
    except Exception as error:  # noqa: BLE001 - whatever it is, a fresh interpreter has to raise the same
        return Given(error=f"{type(error).__name__}: {error}")
    return Given(tuple(found or ()))


# A fresh interpreter --------------------------------------------------------------------------------------------------


@functools.cache
def made(name: str) -> Sequenced:
    return MODELS[name]()


LIMITS: dict[str, Any] = {"max_iterations": 100, "max_bytes": 1 << 28}
"""Limits of runs on inputs that were never set, or that another thread has resized: they hold what happens to be
there, such as the number of times that a loop is to run."""


def fresh(name: str, **options: Any) -> minilite.Interpreter:
    """An interpreter that nobody has used. Options may replace its custom operators."""
    given = {"model_content": made(name).model, "custom_ops": dict(made(name).custom_ops), **options}
    return minilite.Interpreter(**given)


def arrays_of(name: str, run: Run) -> list[Array]:
    """The inputs of a run."""
    model, rng = made(name), np.random.default_rng([run.size, run.seed])
    if run.signature:
        return model.signatures[run.signature](run.size, rng)
    feed = model.wrong if run.wrong else model.feed
    assert feed is not None
    return feed(run.size, rng)


def shapes_of(name: str, size: int) -> tuple[Dims, ...]:
    """Shapes of the inputs that are resized; size 0 means shapes that are refused."""
    return tuple(made(name).shapes(size) if size else made(name).mismatch)


def resize(one: minilite.Interpreter, name: str, size: int) -> None:
    for tensor, shape in zip(one.model.subgraphs[0].inputs, shapes_of(name, size), strict=False):
        one.resize_tensor_input(tensor, shape)


def outputs_of(one: minilite.Interpreter) -> list[Array]:
    return [one.get_tensor(tensor) for tensor in one.model.subgraphs[0].outputs]


def call_signature(one: minilite.Interpreter, name: str, run: Run) -> list[Array]:
    """Results in the order of the signature's outputs."""
    signature = next(s for s in one.model.signatures if s.key == run.signature)
    runner = one.get_signature_runner(run.signature)
    found = runner(**dict(zip(signature.inputs, arrays_of(name, run), strict=True)))
    return [found[key] for key in signature.outputs]


def feed(one: minilite.Interpreter, name: str, run: Run) -> None:
    """Resizes, allocates, and sets all inputs."""
    resize(one, name, run.size)
    one.allocate_tensors()
    for tensor, array in zip(one.model.subgraphs[0].inputs, arrays_of(name, run), strict=True):
        one.set_tensor(tensor, array)


def run_plainly(one: minilite.Interpreter, name: str, run: Run) -> Given:
    """Feeds, runs and reads."""

    def steps() -> list[Array]:
        feed(one, name, run)
        one.invoke()
        return outputs_of(one)

    return outcome(steps if not run.signature else lambda: call_signature(one, name, run))


@functools.lru_cache(maxsize=1 << 14)
def expected(name: str, runs: tuple[Run, ...]) -> Given:
    """Returns the result of the last run on a new interpreter that has made only the runs before it."""
    one = fresh(name)
    return [run_plainly(one, name, run) for run in runs][-1]


@functools.cache
def planned(name: str, size: int) -> Given | minilite.Plan:
    """The plan of a fresh interpreter, or the error."""
    one = fresh(name)
    resize(one, name, size)
    error = outcome(one.allocate_tensors)
    return error if error.error or one.plan is None else one.plan


# A used one -----------------------------------------------------------------------------------------------------------


class Used:
    """An interpreter and what it should know."""

    def __init__(self, name: str, one: minilite.Interpreter, preserves: bool) -> None:
        self.name, self.one, self.preserves = name, one, preserves
        self.requested = 2
        self.in_force: int | None = None
        self.dirty = True
        """Something was requested that is not in use yet."""
        self.resized = True
        """Shapes are among what was requested."""
        self.released = False
        self.fed: Run | None = None
        """The values of the inputs, if they are known."""
        self.gave: Given | None = None
        """The values of the outputs, if they are known."""
        self.seen: list[Run] = []
        """The runs that the variables remember."""
        self.views: list[tuple[int, Array]] = []
        self.bound_requested: dict[int, Array] = {}
        self.bound: dict[int, Array] = {}

    @property
    def ready(self) -> bool:
        return self.in_force is not None and not self.dirty

    def ask(self, size: int) -> None:
        if size != self.requested:
            self.dirty = self.resized = True
        self.requested = size

    def lose_values(self) -> None:
        self.fed = self.gave = None

    def refusal(self) -> str:
        """The beginning of the error that refuses what was requested; empty if it is not refused."""
        plan = planned(self.name, self.requested)
        if isinstance(plan, Given):
            return plan.error
        small = [t for t, array in self.bound_requested.items() if array.nbytes < plan.tensor(t).bytes]
        return "ArenaError" if small else ""

    def allocates(self, action: Callable[[], Given]) -> Given | None:
        """Returns the result of a call that also allocates; None if it was refused, as it should be."""
        error = self.refusal() if self.dirty else ""
        if self.dirty and self.views:
            found = action()
            assert found.error.startswith("StateError")
            assert "views" in found.error
            return None
        if error:
            assert action().error.startswith(error)
            self.bound_requested, self.dirty = self.bound, self.in_force is None
            self.requested = 2 if self.in_force is None else self.in_force
            self.resized = self.dirty
            return None
        if self.dirty or self.released:
            self.lose_values()
        if self.dirty:
            only_buffers = not self.resized and self.bound_requested.keys() == self.bound.keys()
            if made(self.name).keeps == "variables" and not only_buffers:
                self.seen.clear()
            self.in_force, self.bound = self.requested, self.bound_requested
        self.dirty = self.resized = self.released = False
        return action()

    def runs(self, run: Run, action: Callable[[], Given], whole: bool = False) -> None:
        """Checks a run of the main subgraph; if it is a `whole` one, `action` also feeds it and reads its outputs."""
        self.fed, self.gave = run if self.preserves else None, None
        wanted, found = self.note(run), action()
        small = any(
            a.nbytes < x.nbytes for a, x in zip(self.bound_outputs(), wanted.arrays, strict=False) if a is not None
        )
        viewed = self.views and found.error.startswith("StateError") and "view" in found.error
        if viewed or (small and found.error.startswith("ArenaError")):
            self.reset_resources()  # a run that ended half-way, where a fresh interpreter's does not
            return
        assert found.error == wanted.error
        if not found.error:
            assert not whole or found.equals(wanted)
            self.gave = wanted

    def bound_outputs(self) -> list[Array | None]:
        return [self.bound.get(tensor) for tensor in self.one.model.subgraphs[0].outputs]

    def note(self, run: Run) -> Given:
        """Returns the expected result of the next run."""
        if not made(self.name).keeps:
            return expected(self.name, (run,))
        self.seen.append(run)
        return expected(self.name, tuple(self.seen))

    def reset_resources(self) -> None:
        self.one.reset_resources()
        if made(self.name).keeps == "resources":
            self.seen.clear()

    def holds(self) -> None:
        """Inputs and outputs have the values that they should have."""
        if self.released:
            return
        graph = self.one.model.subgraphs[0]
        readable = self.preserves and not self.resized  # inputs are, for else their memory may be others'
        if self.fed is not None and readable:
            fed = Given(tuple(arrays_of(self.name, self.fed)))
            assert Given(tuple(self.one.get_tensor(t) for t in graph.inputs)).equals(fed)
        if self.gave is not None:
            assert Given(tuple(outputs_of(self.one))).equals(self.gave)
        for tensor, view in self.views:
            if tensor in graph.inputs and not readable:
                continue
            now = self.one.get_tensor(tensor)
            assert view.shape != now.shape or view.tobytes() == now.tobytes()
