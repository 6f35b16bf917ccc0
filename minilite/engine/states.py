"""ModelState: the state that a model keeps from run to run as a value: variables, resource variables, hash tables, and
the memory of kernels."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from minilite._native import kept
from minilite.errors import InputError, InputTypeError, shortened

if TYPE_CHECKING:
    from minilite.engine.engine import Engine
    from minilite.engine.session import Session

_Variables: TypeAlias = "tuple[tuple[str, str, tuple[int, ...]], ...]"
"""The name, type and shape of each variable."""
_FORM = f"1 {sys.byteorder}"
"""The form of a snapshot's bytes; versions and machines with another form refuse them."""


class Layout(NamedTuple):
    """The subgraphs, variables and resources of a snapshot."""

    graphs: tuple[tuple[int, _Variables], ...]
    """The allocated subgraphs and their variables."""
    names: tuple[str, ...]
    """The model's names of its resource variables and tables; empty before the first subgraph is used."""
    form: str = _FORM


class ModelState:
    """A snapshot of an interpreter's state: it can be compared, pickled, and put into any interpreter of the model."""

    __slots__ = ("_data", "_layout")

    def __init__(self, layout: Layout, data: kept.Packed) -> None:
        self._layout = layout
        self._data = data

    @property
    def nbytes(self) -> int:
        """The bytes of its values."""
        return kept.value_bytes(self._data)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ModelState):
            return NotImplemented
        return self._layout == other._layout and kept.same(self._data, other._data)

    def __bool__(self) -> bool:
        """True if there are values. An empty snapshot restores the initial state."""
        return kept.has_values(self._data)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the layout and the bytes."""
        return _unpickled, (*self._layout, kept.as_bytes(self._data))

    def __repr__(self) -> str:
        names = [shortened(name) for _, variables in self._layout.graphs for name, _, _ in variables]
        count = sum(row.what == kept.RESOURCE for row in kept.rows_of(self._data))
        return f"<ModelState: {self.nbytes} bytes, variables {names}, {count} resources>"


def _unpickled(graphs: Any, names: Any, form: Any, data: Any) -> ModelState:
    if form != _FORM:
        text = shortened(str(form))
        message = f"the snapshot has the form '{text}' of another version or machine, this one has '{_FORM}'"
        raise InputError(message)
    try:
        layout = _layout(graphs, names)
        values = memoryview(data).tobytes()
    except (TypeError, ValueError):
        message = "the snapshot is damaged: it does not list its subgraphs, variables and resources"
        raise InputError(message) from None
    return ModelState(layout, kept.from_bytes(values))


def _layout(graphs: Any, names: Any) -> Layout:
    """Returns a checked layout. Raises: TypeError, ValueError."""
    known = tuple(
        (_whole(number), tuple((_text(name), _text(kind), (*map(_whole, shape),)) for name, kind, shape in variables))
        for number, variables in graphs
    )
    numbers = [number for number, _ in known]
    if numbers != sorted({*numbers}):  # get_state sorts subgraphs, and each has one state
        raise ValueError
    return Layout(known, (*map(_text, names),))


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def as_bytes(state: ModelState) -> bytes:
    """Returns a snapshot as bytes for a file: a line of JSON with its layout, then its values."""
    import json

    return json.dumps(state._layout).encode() + b"\n" + kept.as_bytes(state._data)


def from_bytes(data: bytes) -> ModelState:
    """Reads the bytes of `as_bytes`. Raises: InputError if they are damaged, or of another version or machine."""
    import json

    line, _, values = data.partition(b"\n")
    try:
        graphs, names, form = json.loads(line)
    except (ValueError, TypeError, RecursionError):
        message = "the snapshot is damaged: its first line is not its layout"
        raise InputError(message) from None
    return _unpickled(graphs, names, form, values)


class Sessions(NamedTuple):
    """The sessions to snapshot, with their layout and keeper; rebuilt only if the sessions change."""

    ready: list[Session]
    layout: Layout
    keeper: kept.Keeper


def _variables(session: Session) -> _Variables:
    return tuple((t.name, t.type.name, t.shape) for t in session.subgraph.tensors if t.is_variable)


def _sessions(one: Engine) -> Sessions | None:
    """Returns the sessions of all allocated subgraphs; None before any subgraph is used."""
    known: Sessions | None = one.snapshots
    ready = [session for session in tuple(one.sessions.values()) if session.ready]
    if known is not None and known.ready == ready:
        return known
    if one.shared is None:
        return None
    ordered = sorted(ready, key=lambda session: session.root)
    layout = Layout(tuple((session.root, _variables(session)) for session in ordered), _names(one))
    known = one.snapshots = Sessions(
        ready, layout, kept.Keeper(one.shared, tuple(session.state for session in ordered))
    )
    return known


def _names(one: Engine) -> tuple[str, ...]:
    names: tuple[str, ...] = one.program().lowered.lowering.resource_names
    return names


def snapshot(one: Engine) -> ModelState:
    """Takes a snapshot of an interpreter's state. Raises: StateError while it is busy."""
    sessions = _sessions(one)
    if sessions is None:
        return ModelState(Layout((), ()), kept.empty())
    return ModelState(sessions.layout, sessions.keeper.kept())


def restore(one: Engine, state: ModelState) -> None:
    """Restores a snapshot. A refused one changes nothing. Raises: InputError for a snapshot of another model;
    StateError while the interpreter is busy; ArenaError."""
    if not isinstance(state, ModelState):
        message = f"the state is of type {type(state).__name__}, must be a ModelState, as get_state() returns"
        raise InputTypeError(message)
    sessions = _sessions(one)
    if sessions is not None and sessions.layout == state._layout:
        sessions.keeper.keep(state._data)
    elif sessions is not None or state._layout.graphs or kept.size(state._data):
        _keeper_of(one, state._layout).keep(state._data)


def _keeper_of(one: Engine, layout: Layout) -> kept.Keeper:
    """Returns a keeper whose first sessions are the snapshot's subgraphs; allocates them if needed. Raises:
    InputError."""
    wanted = [one.session(number) for number, _ in layout.graphs]
    for session, (number, variables) in zip(wanted, layout.graphs, strict=True):
        _check(number, _variables(session), variables)
    one.session()
    names = _names(one)
    if (layout.graphs or layout.names) and layout.names != names:
        message = (
            f"the snapshot is of another model: this one has the resources {names}, the snapshot has {layout.names}"
        )
        raise InputError(message)
    for session in wanted:
        if not session.ready:
            session.allocate()
    assert one.shared is not None
    others = [session for session in tuple(one.sessions.values()) if session.ready and session not in wanted]
    return kept.Keeper(one.shared, tuple(session.state for session in (*wanted, *others)))


def _check(number: int, here: _Variables, there: _Variables) -> None:
    if here == there:
        return
    for mine, other in zip(here, there, strict=False):
        if mine != other:
            texts = [f"'{shortened(name)}' ({kind} of shape {shape})" for name, kind, shape in (mine, other)]
            message = f"the snapshot is of another model: subgraph {number} has the variable {texts[0]}, the snapshot has {texts[1]}"
            raise InputError(message, tensors=[mine[0], other[0]], shapes=[mine[2], other[2]])
    message = (
        f"the snapshot is of another model: subgraph {number} has {len(here)} variables, the snapshot has {len(there)}"
    )
    raise InputError(message)
