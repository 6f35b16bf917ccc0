"""Converts the state of an interpreter to plain values and back, for copies and pickles."""

from __future__ import annotations

from typing import Any, TypeAlias

from minilite.engine import states
from minilite.engine.engine import Engine
from minilite.engine.program import as_read
from minilite.format.reader import read_model

_Shape = tuple[int, ...]


_Graph: TypeAlias = "tuple[dict[int, _Shape], bool]"
"""One subgraph: requested shapes, and whether it was allocated."""
_State: TypeAlias = "tuple[dict[int, _Graph], dict[int, _Shape], states.ModelState]"
"""Everything in an interpreter except its model and options: its subgraphs, shapes requested before there were any, and
what it keeps from run to run."""


def shapes_of(one: Engine) -> tuple[dict[int, _Graph], dict[int, _Shape]]:
    """The shapes of every subgraph that was used, and those that were requested before."""
    graphs: dict[int, _Graph] = {}
    for number, session in tuple(one.sessions.items()):
        tensors = session.subgraph.tensors
        inputs = (tensors[index] for index in session.subgraph.inputs)
        graphs[number] = {t.index: s for t in inputs if (s := session.shape(t.index)) != t.shape}, session.ready
    return graphs, {} if one.main else dict(one.early_shapes)


def state_of(one: Engine) -> _State:
    """Shapes, variables and resources of every subgraph that was used."""
    return *shapes_of(one), states.snapshot(one)


def restore(one: Engine, state: _State) -> None:
    """Gives an interpreter the state of another one."""
    graphs, early, kept = state
    one.early_shapes = dict(early)
    for number, (shapes, allocated) in graphs.items():
        session = one.session(number)
        for index, shape in shapes.items():
            session.resize(index, shape)
        if allocated:
            session.allocate()
    states.restore(one, kept)


def taken_apart(one: Engine) -> tuple[bytes, Any, _State]:
    """The model's bytes, the options and the state: plain values, for `put_together`."""
    file = as_read(one.model).file
    assert file is not None
    return bytes(file.data), one.options, state_of(one)


def put_together(model: bytes, options: Any, state: _State) -> Engine:
    """The Engine, made from the values of `taken_apart`."""
    one = Engine(read_model(model), options)
    restore(one, state)
    return one
