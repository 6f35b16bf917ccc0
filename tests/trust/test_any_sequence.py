"""After any sequence of public calls an interpreter gives, bit for bit, what a fresh one gives.

`pytest --hypothesis-profile=long` draws many more sequences of calls.py, and longer ones.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
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
from trust.calls import CALLS, OPTIONS, Calls
from trust.sequence_models import MODELS


class Begun(RuleBasedStateMachine):
    """An interpreter of a model, with some options."""

    name = ""

    @initialize(options=st.sampled_from(OPTIONS))
    def begin(self, options: dict[str, Any]) -> None:
        self.calls = Calls(self.name, options)

    @invariant()
    def values_hold(self) -> None:
        if hasattr(self, "calls"):
            self.calls.values_hold()


def rule_of(name: str) -> Any:
    """The rule that makes a call."""
    given, when = CALLS[name]

    def make(machine: Begun, **arguments: Any) -> None:
        getattr(machine.calls, name)(**arguments)

    make.__name__ = name
    drawn = rule(**{key: st.sampled_from(values) for key, values in given.items()})(make)
    return precondition(lambda machine: bool(when(machine.calls)))(drawn)


@pytest.mark.parametrize("name", MODELS)
def test_any_sequence(name: str) -> None:
    profile = settings.default
    assert profile is not None
    machine = type(name, (Begun,), {"name": name, **{call: rule_of(call) for call in CALLS}})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=profile.max_examples // 2, stateful_step_count=30)
    )
