"""An interpreter as values: what copies and pickles of it are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minilite.format.model import Array
from minilite.light import NamedTuple

if TYPE_CHECKING:
    from minilite._native.state import Kept
    from minilite.options import Options
    from minilite.runtime import Runtime

_Shape = tuple[int, ...]


class _Graph(NamedTuple):
    """One subgraph as it was when it was copied."""

    asked: dict[int, _Shape]
    allocated: bool
    variables: dict[int, Array]


class _State(NamedTuple):
    """All that an interpreter is, but for its model: what was asked for, and what runs keep."""

    graphs: dict[int, _Graph]
    early: dict[int, _Shape]
    kept: Kept | None


def state_of(one: Runtime) -> _State:
    """Shapes, variables and resources of every subgraph that was asked for."""
    graphs = {}
    for number, session in tuple(one._sessions.items()):
        tensors = session.subgraph.tensors
        inputs = (tensors[index] for index in session.subgraph.inputs)
        asked = {t.index: shape for t in inputs if (shape := session.shape(t.index)) != t.shape}
        variables = {t.index: session.get(t.index) for t in tensors if t.is_variable} if session.ready else {}
        graphs[number] = _Graph(asked, session.ready, variables)
    return _State(graphs, dict(one._early_shapes), one._shared.kept() if one._shared is not None else None)


def restore(one: Runtime, state: _State) -> None:
    """Puts another interpreter's state in force."""
    one._early_shapes = dict(state.early)
    for number, graph in state.graphs.items():
        session = one._session(number)
        for index, shape in graph.asked.items():
            session.resize(index, shape)
        if graph.allocated:
            session.allocate()
            for index, value in graph.variables.items():
                session.set(index, value)
    if state.kept is not None and one._shared is not None:
        one._shared.keep(state.kept)


def taken_apart(one: Runtime) -> tuple[Any, ...]:
    """For pickle: `put_together` and what it takes."""
    file = one.model.file
    if file is None:
        from minilite.format.builder import as_read

        file = as_read(one.model).file
        assert file is not None
    return put_together, (type(one), bytes(file.data), one._options, state_of(one))


def put_together(kind: type[Any], model: bytes, options: Options, state: _State) -> Any:
    """The interpreter that `taken_apart` took apart."""
    from minilite.format.reader import read_model

    one = object.__new__(kind)
    one._begin(read_model(model), options)
    restore(one, state)
    return one
