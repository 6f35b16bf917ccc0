"""After any sequence of public calls an interpreter gives, bit for bit, what a fresh one gives.

The machine draws calls, good and bad, for an interpreter and its clones. The expected results are not computed here: a
fresh interpreter gives them (sequence_oracle.py), at the same size, after the runs that variables remember, if there
are any.

`pytest --hypothesis-profile=long` draws many more sequences, and longer ones.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sequence_models import MODELS
from sequence_oracle import (
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

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"preserve_inputs": False},
    {"experimental_preserve_all_tensors": True},
    {"planner": "naive", "in_place": "none"},
    {"planner": "tflite", "plan_cache_bytes": 0},
    {"num_threads": 2},
)
LARGE = 1 << 16
"""Elements of a bound buffer that nothing outgrows."""

sizes = st.sampled_from((1, 2, 3, 5, 40))
seeds = st.integers(0, 3)


class Sequence(RuleBasedStateMachine):
    """Draws calls for up to three interpreters of one model: the first, and clones."""

    name = ""

    @initialize(options=st.sampled_from(OPTIONS))
    def begin(self, options: dict[str, Any]) -> None:
        preserves = options.get("preserve_inputs", True)
        self.used = Used(self.name, fresh(self.name, **options), preserves)
        self.all = [self.used]

    @property
    def one(self) -> minilite.Interpreter:
        return self.used.one

    def is_ready(self) -> bool:
        return self.used.ready and not self.used.released

    @invariant()
    def values_hold(self) -> None:
        for used in getattr(self, "all", []):
            used.holds()

    # Other interpreters -----------------------------------------------------------------------------------------------

    @rule(keep=st.booleans(), size=sizes, seed=seeds)
    def clone(self, keep: bool, size: int, seed: int) -> None:
        other, run = Used(self.name, self.one.clone(), self.used.preserves), Run(size, seed)
        if keep and len(self.all) < 3:
            self.all.append(other)
        else:
            assert run_plainly(other.one, self.name, run).equals(expected(self.name, (run,)))

    @precondition(lambda self: len(self.all) > 1)
    @rule(which=st.integers(0, 2))
    def turn_to(self, which: int) -> None:
        self.used = self.all[which % len(self.all)]

    # Shapes and memory ------------------------------------------------------------------------------------------------

    @rule(size=sizes, by=st.sampled_from(["number", "name", "details"]))
    def resize(self, size: int, by: str) -> None:
        for detail, shape in zip(self.one.get_input_details(), shapes_of(self.name, size), strict=False):
            key: Any = detail if by == "details" else detail["index" if by == "number" else "name"]
            self.one.resize_tensor_input(key, shape)
        self.used.ask(size)

    @precondition(lambda self: made(self.name).mismatch)
    @rule()
    def resize_to_what_is_refused(self) -> None:
        resize(self.one, self.name, 0)
        self.used.ask(0)

    @rule(shape=st.sampled_from([(-5,), (1,) * 9, "shape", (1.5,), (2**40,), None]))
    def resize_to_no_shape(self, shape: Any) -> None:
        with pytest.raises((ValueError, TypeError)):
            self.one.resize_tensor_input(0, shape)

    @rule()
    def allocate(self) -> None:
        found = self.used.allocates(lambda: outcome(self.one.allocate_tensors))
        assert found is None or not found.error

    @rule(size=sizes)
    def ask_for_a_plan(self, size: int) -> None:
        shapes = dict(zip(self.one.model.subgraphs[0].inputs, shapes_of(self.name, size), strict=False))
        found = outcome(lambda: [self.one.plan_for(shapes)])
        assert (
            found.error.startswith("ArenaError")
            if found.error
            else all(found.arrays[0].shape(tensor) == shape for tensor, shape in shapes.items())
        )  # an array that is bound may be too small for it

    @rule()
    def trim(self) -> None:
        if self.used.views:
            with pytest.raises(StateError, match="view"):
                self.one.trim()
        else:
            self.one.trim()

    @precondition(lambda self: self.used.in_force is not None)
    @rule()
    def release_memory(self) -> None:
        session = self.one._session()
        if self.used.views:
            with pytest.raises(StateError, match="view"):
                session.release_memory()
            return
        session.release_memory()
        self.used.released = True
        self.used.lose_values()

    @rule(which=st.sampled_from(["input", "output"]), room=st.sampled_from(["none", "exact", "large", "again"]))
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

    @precondition(is_ready)
    @rule(seed=seeds, wrong=st.integers(0, 3), how=st.sampled_from(["set", "view"]))
    def feed(self, seed: int, wrong: int, how: str) -> None:
        assert self.used.in_force is not None
        self.put(Run(self.used.in_force, seed, wrong == 0 and made(self.name).wrong is not None), how)

    @rule(array=st.sampled_from([np.zeros(7, np.float64), np.zeros((1, 2, 3, 4), np.float32), "text", None]))
    def feed_what_does_not_fit(self, array: Any) -> None:
        with pytest.raises((ValueError, TypeError)):
            self.one.set_tensor(self.one.model.subgraphs[0].inputs[0], array)

    @precondition(lambda self: not self.is_ready())
    @rule()
    def run_before_it_is_allocated(self) -> None:
        with pytest.raises(StateError):
            self.one.invoke()

    @precondition(is_ready)
    @rule(seed=seeds)
    def invoke(self, seed: int) -> None:
        used = self.used
        assert used.in_force is not None
        if used.fed is None:
            self.put(Run(used.in_force, seed), "set")
        assert used.fed is not None
        used.runs(used.fed, lambda: outcome(self.one.invoke))

    @precondition(is_ready)
    @rule(which=st.integers(0, 5))
    def hold_a_view(self, which: int) -> None:
        graph = self.one.model.subgraphs[0]
        tensors = [*graph.inputs, *graph.outputs]
        tensor = tensors[which % len(tensors)]
        found = outcome(lambda: [self.one.tensor(tensor)()])
        if found.error:  # an output whose shape no run has said
            assert found.error.startswith("StateError")
        elif found.arrays[0].dtype != np.object_ and tensor not in self.used.bound:
            self.used.views.append((tensor, found.arrays[0]))

    @rule()
    def drop_views(self) -> None:
        self.used.views.clear()

    # Whole runs -------------------------------------------------------------------------------------------------------

    @rule(size=sizes, seed=seeds, wrong=st.integers(0, 3))
    def run(self, size: int, seed: int, wrong: int) -> None:
        run = Run(size, seed, wrong == 0 and made(self.name).wrong is not None)
        names = [detail["name"] for detail in self.one.get_input_details()]
        self.whole(run, lambda: list(self.one.run(dict(zip(names, arrays_of(self.name, run), strict=True))).values()))

    @precondition(lambda self: made(self.name).signatures)
    @rule(size=sizes, seed=seeds, which=st.integers(0, 1))
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

    # What is kept -----------------------------------------------------------------------------------------------------

    @rule()
    def reset_all_variables(self) -> None:
        self.one.reset_all_variables()
        if made(self.name).keeps == "variables":
            self.used.seen.clear()

    @rule()
    def reset_resources(self) -> None:
        self.used.reset_resources()

    @rule()
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


@pytest.mark.parametrize("name", MODELS)
def test_any_sequence(name: str) -> None:
    profile = settings.default
    assert profile is not None
    machine = type(name, (Sequence,), {"name": name})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=profile.max_examples // 2, stateful_step_count=30)
    )
