"""Calls that a thread may make while others use the same interpreter: each is served, or refused for a true reason."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from trust.sequence_oracle import Run, arrays_of, call_signature, expected, made, resize, run_plainly, shapes_of

import minilite

Sizes = Sequence[int]


class Reason(NamedTuple):
    """A refusal that is in order: its classes, and words of its text."""

    name: str
    kinds: tuple[type[BaseException], ...]
    words: str = ""


BUSY = Reason("busy", (minilite.StateError,), "running")
VIEW = Reason("view held", (minilite.StateError,), r"\bview\b|reference to internal data")
UNREADY = Reason(
    "not ready", (minilite.StateError,), "not ready|allocate_tensors|released|no memory|no tensors|no value yet"
)
OTHER_SIZE = Reason("other size", (minilite.InputError,), "[Dd]imension mismatch|shape")
TWO_SIZES = Reason("two sizes", (minilite.ShapeError, minilite.InputError))
CANCELLED = Reason("cancelled", (minilite.KernelError,), "cancelled")
ANY_INPUT = Reason("any input", (minilite.KernelError, minilite.ShapeError, minilite.ArenaError, ArithmeticError))
"""After another thread has resized inputs they hold what happens to be there: a shape that is read from one may be
impossible, or need more memory than `max_bytes`."""
FINE = {"served", *(r.name for r in (BUSY, VIEW, UNREADY, OTHER_SIZE, TWO_SIZES, CANCELLED, ANY_INPUT))}
OF_ANY_VALUE = ("chain", "wide", "variables")
"""Models that run whatever their inputs hold."""


def answer(do: Callable[[], object], reasons: Sequence[Reason]) -> str:
    """ "served", the name of the reason for which a call was refused, or the error if it has another reason."""
    try:
        do()
    except BaseException as error:  # noqa: BLE001 - any other error is what is looked for
        for reason in reasons:
            if isinstance(error, reason.kinds) and re.search(reason.words, str(error)):
                return reason.name
        return f"{type(error).__name__}: {error}"
    return "served"


class Call(NamedTuple):
    """Something to do with an interpreter of a model, at one of the sizes."""

    make: Callable[[minilite.Interpreter, str, random.Random, Sizes], object]
    refused: tuple[Reason, ...] = ()
    """Besides BUSY."""

    def reasons(self, name: str) -> tuple[Reason, ...]:
        """For which a call may be refused, with a model of that name."""
        two = TWO_SIZES if len(shapes_of(name, 1)) > 1 and {OTHER_SIZE, VIEW} & {*self.refused} else BUSY
        any_input = ANY_INPUT if CANCELLED in self.refused and name not in OF_ANY_VALUE else BUSY
        return (BUSY, *self.refused, two, any_input)


def fed_as_it_is(one: minilite.Interpreter, name: str, dice: random.Random, _: Sizes) -> None:
    """Sets all inputs at the size that the first one has now."""
    size = int(one.get_input_details()[0]["shape"][0])
    for tensor, array in zip(one.model.subgraphs[0].inputs, arrays_of(name, Run(size, dice.randrange(4))), strict=True):
        one.set_tensor(tensor, array)


def resized(one: minilite.Interpreter, name: str, dice: random.Random, sizes: Sizes) -> None:
    """Resizes and allocates."""
    resize(one, name, dice.choice(sizes))
    one.allocate_tensors()


def read(one: minilite.Interpreter, _: str, dice: random.Random, __: Sizes) -> None:
    """Reads an output."""
    one.get_tensor(dice.choice(one.get_output_details())["index"])


def viewed(one: minilite.Interpreter, _: str, __: random.Random, ___: Sizes) -> None:
    """Reads a view of an input, which is held as long as that takes."""
    held = one.tensor(one.model.subgraphs[0].inputs[0])()
    np.array(held)


def counted(one: minilite.Interpreter, *_: Any) -> None:
    """Reads all figures. Raises: AssertionError if one is below 0."""
    assert min(one.counters.values()) >= 0
    assert one.arena_bytes >= 0
    repr(one)


def planned(one: minilite.Interpreter, *_: Any) -> None:
    """Looks at the plan. Raises: AssertionError if it is none."""
    plan = one.plan
    ends = [offset + size for _, size, _, _, offset in plan.records()] if plan else []
    assert plan is None or max(plan.lower_bound, *ends, 0) <= plan.arena_bytes


def planned_for(one: minilite.Interpreter, name: str, dice: random.Random, sizes: Sizes) -> None:
    """Makes a plan of another size. Raises: AssertionError if that is of yet another one."""
    shapes = dict(zip(one.model.subgraphs[0].inputs, shapes_of(name, dice.choice(sizes)), strict=False))
    plan = one.plan_for(shapes)
    assert all(plan.shape(tensor) == shape for tensor, shape in shapes.items())


def ran(one: minilite.Interpreter, name: str, dice: random.Random, sizes: Sizes) -> None:
    """Runs by one call."""
    names = [detail["name"] for detail in one.get_input_details()]
    one.run(dict(zip(names, arrays_of(name, Run(dice.choice(sizes), dice.randrange(4))), strict=True)))


def signed(one: minilite.Interpreter, name: str, dice: random.Random, sizes: Sizes) -> None:
    """Runs a signature, where the model has any."""
    if keys := sorted(made(name).signatures):
        call_signature(one, name, Run(dice.choice(sizes), dice.randrange(4), signature=dice.choice(keys)))


def cloned(one: minilite.Interpreter, name: str, dice: random.Random, sizes: Sizes) -> None:
    """Runs a clone that nobody else has. Raises: AssertionError if it gives other results than a fresh interpreter."""
    run = Run(dice.choice(sizes), dice.randrange(4))
    found, wanted = run_plainly(one.clone(), name, run), expected.__wrapped__(name, (run,))  # as much work each time
    assert found.equals(wanted), f"a clone gave {found}, not {wanted}"


RUNS = (VIEW, UNREADY, OTHER_SIZE, CANCELLED)
AT_ANY_TIME = {
    "invoke": Call(lambda one, *_: one.invoke(), RUNS),
    "allocate": Call(lambda one, *_: one.allocate_tensors(), (VIEW,)),
    "resize": Call(resized, (VIEW,)),
    "set": Call(fed_as_it_is, (UNREADY, OTHER_SIZE)),
    "get": Call(read, (UNREADY,)),
    "view": Call(viewed, (UNREADY,)),
    "details": Call(lambda one, *_: (one.get_input_details(), one.get_tensor_details(), one.get_ops_details())),
    "counters": Call(counted),
    "plan": Call(planned),
    "plan_for": Call(planned_for),
    "trim": Call(lambda one, *_: one.trim(), (VIEW,)),
    "run": Call(ran, RUNS),
    "signature": Call(signed, RUNS),
    "variables": Call(lambda one, *_: one.reset_all_variables()),
    "resources": Call(lambda one, *_: one.reset_resources()),
    "clone": Call(cloned),
    "cancel": Call(lambda one, *_: one.cancel()),
}
