"""Converts the state of an interpreter to plain values and back, for copies and pickles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from minilite.format.model import Array
from minilite.format.reader import read_model
from minilite.late import Later

if TYPE_CHECKING:
    from minilite._native.state import Kept
    from minilite.format import builder
else:
    builder = Later("minilite.format.builder")

_Shape = tuple[int, ...]


_Graph: TypeAlias = "tuple[dict[int, _Shape], bool, dict[int, Array]]"
"""One subgraph: requested shapes, whether it was allocated, values of variables."""
_State: TypeAlias = "tuple[dict[int, _Graph], dict[int, _Shape], Kept | None]"
"""Everything in an interpreter except its model and options: its subgraphs, shapes requested before there were any, and
the values of resources."""


def state_of(one: Any) -> _State:
    """Shapes, variables and resources of every subgraph that was used."""
    graphs: dict[int, _Graph] = {}
    for number, session in tuple(one._sessions.items()):
        tensors = session.subgraph.tensors
        inputs = (tensors[index] for index in session.subgraph.inputs)
        requested = {t.index: shape for t in inputs if (shape := session.shape(t.index)) != t.shape}
        variables = {t.index: session.get(t.index) for t in tensors if t.is_variable} if session.ready else {}
        graphs[number] = requested, session.ready, variables
    return graphs, dict(one._early_shapes), one._shared.kept() if one._shared is not None else None


def restore(one: Any, state: _State) -> None:
    """Gives an interpreter the state of another one."""
    graphs, early, kept = state
    one._early_shapes = dict(early)
    for number, (shapes, allocated, variables) in graphs.items():
        session = one._session(number)
        for index, shape in shapes.items():
            session.resize(index, shape)
        if allocated:
            session.allocate()
            for index, value in variables.items():
                session.set(index, value)
    if kept is not None and one._shared is not None:
        one._shared.keep(kept)


def taken_apart(one: Any) -> tuple[Any, ...]:
    """For pickle: `put_together` and its arguments."""
    file = one.model.file
    if file is None:
        file = builder.as_read(one.model).file
        assert file is not None
    return put_together, (type(one), bytes(file.data), one._options, state_of(one))


def put_together(kind: type[Any], model: bytes, options: Any, state: _State) -> Any:
    """The interpreter, made from the values of `taken_apart`."""
    one = object.__new__(kind)
    one._begin(read_model(model), options)
    restore(one, state)
    return one
