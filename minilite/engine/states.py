"""What a model keeps from run to run, as a value: variables, resource variables, hash tables, what kernels remember."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from minilite._native.kept import keep, kept, kept_bytes
from minilite.errors import InputError, InputTypeError, shortened
from minilite.format.dtypes import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minilite._native.state import Kept
    from minilite.engine.session import Session

_Variables: TypeAlias = "tuple[tuple[str, str, tuple[int, ...]], ...]"
"""Name, type and shape of each."""


class ModelState(NamedTuple):
    """A snapshot of an interpreter's state: it can be compared, pickled, and put into any interpreter of the model."""

    graphs: Mapping[int, tuple[_Variables, bytes, tuple[Any, ...]]]
    """By subgraph that was allocated: its variables, their bytes with what kernels remember, and values of strings."""
    names: tuple[str, ...]
    """What the model calls its resource variables and tables."""
    resources: Kept | None
    """Resource variables and hash tables (shape, type, bytes) by number, and the subgraphs that CALL_ONCE has run."""

    @property
    def nbytes(self) -> int:
        """The bytes that it holds, names not counted."""
        kept = self.resources[0].values() if self.resources is not None else ()
        return sum(len(data) for _, data, _ in self.graphs.values()) + sum(len(data) for _, _, data in kept)

    def __repr__(self) -> str:
        names = [shortened(name) for variables, _, _ in self.graphs.values() for name, _, _ in variables]
        count = len(self.resources[0]) if self.resources is not None else 0
        return f"<ModelState: {self.nbytes} bytes, variables {names}, {count} resources>"


class _Known(NamedTuple):
    """What the file says of a session's variables, looked up once."""

    variables: _Variables
    strings: tuple[int, ...]
    size: int
    """Bytes that are kept."""


def _known(session: Session) -> _Known:
    found = session.snapshots
    if found is None:
        kept_tensors = [t for t in session.subgraph.tensors if t.is_variable]
        variables = tuple((t.name, t.type.name, t.shape) for t in kept_tensors)
        strings = tuple(t.index for t in kept_tensors if t.type == TensorType.STRING)
        found = session.snapshots = _Known(variables, strings, kept_bytes(session.state))
    return found  # type: ignore[no-any-return]


def _of_session(session: Session) -> tuple[_Variables, bytes, tuple[Any, ...]]:
    known = _known(session)
    arrays = [session.get(index) for index in known.strings]
    strings = tuple((array.shape, tuple(array.reshape(-1).tolist())) for array in arrays)
    return known.variables, kept(session.state, known.size), strings


def snapshot(one: Any) -> ModelState:
    """An interpreter's state. Raises: StateError while it is busy."""
    graphs = {number: _of_session(session) for number, session in tuple(one._sessions.items()) if session.ready}
    shared = one._shared
    if shared is None or not shared.resources:
        return ModelState(graphs, (), shared.kept() if shared is not None else None)
    return ModelState(graphs, one._lowered().resource_names, shared.kept())


def restore(one: Any, state: ModelState) -> None:
    """Puts a snapshot in force. Nothing changes if it is refused. Raises: InputError for a snapshot of another model;
    StateError while the interpreter is busy."""
    if not isinstance(state, ModelState):
        message = f"the state is of type {type(state).__name__}, must be what get_state() gave"
        raise InputTypeError(message)
    sessions: dict[int, Session] = {}
    for number, (variables, data, _) in state.graphs.items():
        session = sessions[number] = one._session(number)
        if not session.ready:
            session.allocate()
        _check(number, _known(session).variables, variables)
        if len(data) != kept_bytes(session.state):
            message = f"subgraph {number} keeps {kept_bytes(session.state)} bytes, the snapshot has {len(data)}"
            raise InputError(message)
    if state.resources is not None:
        one._session()
        names = one._lowered().resource_names if one._shared.resources else ()
        if names != state.names:
            message = f"the snapshot is of another model: this one has the resources {names}, it has {state.names}"
            raise InputError(message)
    for number, session in tuple(one._sessions.items()):
        if number in sessions:
            keep(session.state, state.graphs[number][1])
            for index, (shape, texts) in zip(_known(session).strings, state.graphs[number][2], strict=True):
                session.set(index, np.array(texts, object).reshape(shape))
        elif session.ready:
            session.state.reset_variables()
    if one._shared is not None:
        one._shared.reset_resources()
        if state.resources is not None:
            one._shared.keep(state.resources)


def _check(number: int, here: _Variables, there: _Variables) -> None:
    if here == there:
        return
    for mine, other in zip(here, there, strict=False):
        if mine != other:
            texts = [f"'{shortened(name)}' ({kind} of shape {shape})" for name, kind, shape in (mine, other)]
            message = (
                f"the snapshot is of another model: subgraph {number} has the variable {texts[0]}, it has {texts[1]}"
            )
            raise InputError(message, tensors=[mine[0], other[0]], shapes=[mine[2], other[2]])
    message = f"the snapshot is of another model: subgraph {number} has {len(here)} variables, it has {len(there)}"
    raise InputError(message)
