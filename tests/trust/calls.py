"""Calls of an interpreter in any order, good and bad: what each may be given, when it can be made, what holds after it.

Three drivers draw from them: Hypothesis (test_any_sequence.py), programs with faults in between (simulate.py), and
threads (threads.py). The expected results are not computed here: a fresh interpreter gives them (sequence_oracle.py),
at the same size, after the runs that variables remember, if there are any.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytest
from trust.sequence_oracle import (
    LIMITS,
    Given,
    Run,
    Used,
    arrays_of,
    call_signature,
    expected,
    fresh,
    made,
    outcome,
    planned,
    resize,
    run_plainly,
    shapes_of,
)

import minilite
from minilite import StateError
from minilite.engine.engine import engine_of

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"preserve_inputs": False},
    {"experimental_preserve_all_tensors": True},
    {"planner": "naive", "in_place": "none"},
    {"planner": "tflite", "plan_cache_bytes": 0},
    {"num_threads": 2},
)
SIZES, SEEDS = (1, 2, 3, 5, 40), (0, 1, 2, 3)
FLAGS = (False, True)
LARGE = 1 << 16
"""Elements of a bound buffer that nothing outgrows."""
NO_SHAPES = ((-5,), (1,) * 9, "shape", (1.5,), (2**40,), None)
NO_ARRAYS = (np.zeros(7, np.float64), np.zeros((1, 2, 3, 4), np.float32), "text", None)


class Drawn(NamedTuple):
    """A call that can be drawn."""

    given: Mapping[str, Sequence[Any]]
    """The choices for each of its arguments."""
    when: Callable[[Calls], object]
    """True if the call can be made now."""


CALLS: dict[str, Drawn] = {}
"""The calls by the name of the method."""
_Call = TypeVar("_Call", bound=Callable[..., None])


def drawn(*, when: Callable[[Calls], object] = lambda _: True, **given: Sequence[Any]) -> Callable[[_Call], _Call]:
    """Adds a method to CALLS."""

    def add(method: _Call) -> _Call:
        CALLS[method.__name__] = Drawn(given, when)
        return method

    return add


class Calls:
    """Up to three interpreters of one model, the first one and clones, and the calls that can be made."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name = name
        self.used = Used(name, fresh(name, **options, **LIMITS), options.get("preserve_inputs", True))
        self.all = [self.used]

    @property
    def one(self) -> minilite.Interpreter:
        """The interpreter in use."""
        return self.used.one

    def is_ready(self) -> bool:
        """True if the interpreter can run."""
        return self.used.ready and not self.used.released

    def values_hold(self) -> None:
        """All tensors of all interpreters have the values that they should have."""
        for used in self.all:
            used.holds()

    def draw(self, dice: random.Random, names: Sequence[str]) -> tuple[str, dict[str, Any]]:
        """Draws one of the named calls that can be made now and makes it. Returns what it was given."""
        name = dice.choice([name for name in names if CALLS[name].when(self)])
        given = {key: dice.choice(values) for key, values in CALLS[name].given.items()}
        getattr(self, name)(**given)
        return name, given

    # Other interpreters -----------------------------------------------------------------------------------------------

    @drawn(keep=FLAGS, size=SIZES, seed=SEEDS)
    def clone(self, keep: bool, size: int, seed: int) -> None:
        other, run = Used(self.name, self.one.clone(), self.used.preserves), Run(size, seed)
        if keep and len(self.all) < 3:
            self.all.append(other)
        else:
            assert run_plainly(other.one, self.name, run).equals(expected(self.name, (run,)))

    @drawn(when=lambda calls: len(calls.all) > 1, which=(0, 1, 2))
    def turn_to(self, which: int) -> None:
        self.used = self.all[which % len(self.all)]

    # Shapes and memory ------------------------------------------------------------------------------------------------

    @drawn(size=SIZES, by=("number", "name", "details"))
    def resize(self, size: int, by: str) -> None:
        for detail, shape in zip(self.one.get_input_details(), shapes_of(self.name, size), strict=False):
            key: Any = detail if by == "details" else detail["index" if by == "number" else "name"]
            self.one.resize_tensor_input(key, shape)
        self.used.ask(size)

    @drawn(when=lambda calls: made(calls.name).mismatch)
    def resize_to_what_is_refused(self) -> None:
        resize(self.one, self.name, 0)
        self.used.ask(0)

    @drawn(shape=NO_SHAPES)
    def resize_to_no_shape(self, shape: Any) -> None:
        with pytest.raises((ValueError, TypeError)):
            self.one.resize_tensor_input(0, shape)

    @drawn()
    def allocate(self) -> None:
        found = self.used.allocates(lambda: outcome(self.one.allocate_tensors))
        assert found is None or not found.error

    @drawn(size=SIZES)
    def ask_for_a_plan(self, size: int) -> None:
        shapes = dict(zip(self.one.model.subgraphs[0].inputs, shapes_of(self.name, size), strict=False))
        found = outcome(lambda: [self.one.plan_for(shapes)])
        assert (
            found.error.startswith("ArenaError")
            if found.error
            else all(found.arrays[0].shape(tensor) == shape for tensor, shape in shapes.items())
        )  # an array that is bound may be too small for it

    @drawn()
    def trim(self) -> None:
        if self.used.views:
            with pytest.raises(StateError, match="view"):
                self.one.trim()
        else:
            self.one.trim()

    @drawn(when=lambda calls: calls.used.in_force is not None)
    def release_memory(self) -> None:
        session = engine_of(self.one).session()
        if self.used.views:
            with pytest.raises(StateError, match="view"):
                session.release_memory()
            return
        session.release_memory()
        self.used.released = True
        self.used.lose_values()

    @drawn(which=("input", "output"), room=("none", "exact", "large", "again"))
    def bind(self, which: str, room: str) -> None:
        detail = (self.one.get_input_details() if which == "input" else self.one.get_output_details())[0]
        tensor = detail["index"]
        if self.name == "strings":
            return
        plan = planned(self.name, self.used.requested)
        elements = 0 if isinstance(plan, Given) else plan.tensor(tensor).bytes // np.dtype(detail["dtype"]).itemsize
        array = np.zeros(elements if room == "exact" and elements else LARGE, detail["dtype"])
        if room == "again":
            array = self.used.bound_requested.get(tensor, array)
        self.one.bind_tensor(tensor, None if room == "none" else array)
        if room != "none":
            self.used.bound_requested = {**self.used.bound_requested, tensor: array}
        elif tensor in self.used.bound_requested:
            self.used.bound_requested = {t: a for t, a in self.used.bound_requested.items() if t != tensor}
        else:
            return
        self.used.dirty = True

    # Values -----------------------------------------------------------------------------------------------------------

    def put(self, run: Run, how: str) -> None:
        for detail, array in zip(self.one.get_input_details(), arrays_of(self.name, run), strict=True):
            if how == "view" and array.dtype != np.object_:
                self.one.tensor(detail["index"])()[...] = array
            else:
                self.one.set_tensor(detail["index"], array)
        self.used.fed = run
        if not self.used.preserves:
            self.used.gave = None  # inputs may lie where outputs do

    @drawn(when=lambda calls: calls.is_ready(), seed=SEEDS, wrong=SEEDS, how=("set", "view"))
    def feed(self, seed: int, wrong: int, how: str) -> None:
        assert self.used.in_force is not None
        self.put(Run(self.used.in_force, seed, wrong == 0 and made(self.name).wrong is not None), how)

    @drawn(array=NO_ARRAYS)
    def feed_what_does_not_fit(self, array: Any) -> None:
        with pytest.raises((ValueError, TypeError)):
            self.one.set_tensor(self.one.model.subgraphs[0].inputs[0], array)

    @drawn(when=lambda calls: not calls.is_ready())
    def run_before_it_is_allocated(self) -> None:
        with pytest.raises(StateError):
            self.one.invoke()

    @drawn(when=lambda calls: calls.is_ready(), seed=SEEDS)
    def invoke(self, seed: int) -> None:
        used = self.used
        assert used.in_force is not None
        if used.fed is None:
            self.put(Run(used.in_force, seed), "set")
        assert used.fed is not None
        used.runs(used.fed, lambda: outcome(self.one.invoke))

    @drawn(when=lambda calls: calls.is_ready(), which=range(6))
    def hold_a_view(self, which: int) -> None:
        graph = self.one.model.subgraphs[0]
        tensors = [*graph.inputs, *graph.outputs]
        tensor = tensors[which % len(tensors)]
        found = outcome(lambda: [self.one.tensor(tensor)()])
        if found.error:  # an output whose shape no run has said
            assert found.error.startswith("StateError")
        elif found.arrays[0].dtype != np.object_ and tensor not in self.used.bound:
            self.used.views.append((tensor, found.arrays[0]))

    @drawn()
    def drop_views(self) -> None:
        self.used.views.clear()

    # Whole runs -------------------------------------------------------------------------------------------------------

    @drawn(size=SIZES, seed=SEEDS, wrong=SEEDS)
    def run(self, size: int, seed: int, wrong: int) -> None:
        run = Run(size, seed, wrong == 0 and made(self.name).wrong is not None)
        names = [detail["name"] for detail in self.one.get_input_details()]
        self.whole(run, lambda: list(self.one.run(dict(zip(names, arrays_of(self.name, run), strict=True))).values()))

    @drawn(when=lambda calls: made(calls.name).signatures, size=SIZES, seed=SEEDS, which=(0, 1))
    def call_a_signature(self, size: int, seed: int, which: int) -> None:
        key = list(made(self.name).signatures)[which]
        run = Run(size, seed, signature=key)
        if key == "anew":  # of another subgraph, with a session of its own
            wanted = self.used.note(run)
            assert outcome(lambda: call_signature(self.one, self.name, run)).equals(wanted)
        else:
            self.whole(run, lambda: call_signature(self.one, self.name, run))

    def whole(self, run: Run, action: Any) -> None:
        self.used.ask(run.size)
        found = self.used.allocates(lambda: outcome(action))
        if found is not None:
            self.used.runs(run, lambda: found, whole=True)

    # State ------------------------------------------------------------------------------------------------------------

    @drawn()
    def reset_all_variables(self) -> None:
        self.one.reset_all_variables()
        if made(self.name).keeps == "variables":
            self.used.seen.clear()

    @drawn()
    def reset_resources(self) -> None:
        self.used.reset_resources()

    @drawn()
    def look(self) -> None:
        """Looks at everything, which changes nothing."""
        one, used = self.one, self.used
        one.cancel()
        assert repr(one).startswith("<Interpreter: ")
        assert (one.plan is None) == (used.in_force is None)
        assert (one.memory is None) == (used.in_force is None)
        assert one.arena_bytes >= 0
        assert one.usage.block_bytes >= 0
        shapes = [tuple(detail["shape"]) for detail in one.get_input_details()]
        assert tuple(shapes[: len(shapes_of(self.name, used.requested))]) == shapes_of(self.name, used.requested)
        assert len(one.get_tensor_details()) == len(one.model.subgraphs[0].tensors)
