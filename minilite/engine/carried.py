"""Gives a slice of a model what its nodes would find in the next run of the whole: variables, resources, memory."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite._native import kept
from minilite._native.status import BUSY
from minilite.errors import StateError

if TYPE_CHECKING:
    from minilite.engine.engine import Engine
    from minilite.engine.session import Session
    from minilite.format.model import Array

_TRIES = 8
"""The number of times that values are read again if other threads run the interpreter meanwhile."""


class _Found(NamedTuple):
    """The state of an interpreter at one moment."""

    rows: list[kept.Row]
    variables: dict[int, Array]


def carry(
    one: Engine, part: Engine, nodes: Container[int], variables: Sequence[int], arrays: Mapping[int, Array]
) -> None:
    """Copies the interpreter's state to an allocated slice: its variables and the memory of its nodes with these
    numbers, and all resources. Variables and memory are reset if a run on the arrays would reset them, because it
    changes shapes.

    Raises: StateError, ArenaError."""
    session, shared = part.session(), part.shared
    assert shared is not None
    found, names, keys = _found(one, variables, arrays), _keys(part), _keys(one)
    numbers = {key: number for number, key in enumerate(names)}
    rows = sorted(
        row._replace(number=numbers[keys[row.number]])
        for row in found.rows
        if row.what == kept.RESOURCE and keys[row.number] in numbers
    )
    rows += [row for row in found.rows if row.what == kept.CALLED]
    keeper = kept.Keeper(shared, (session.state,))
    for row in found.rows:
        if row.what == kept.NODES:
            memories = [m for m in one.session().program.graph(one.root).memories() if m.node in nodes]
            rows += [first for first in kept.rows_of(keeper.kept()) if first.what == kept.VARIABLES]
            rows.append(row._replace(data=b"".join(row.data[m.start : m.start + m.bytes] for m in memories)))
    keeper.keep(kept.packed(rows))
    for index, array in found.variables.items():
        session.set(index, array)


def _keys(one: Engine) -> Sequence[Any]:
    keys: Sequence[Any] = one.program().lowered.lowering.resource_keys
    return keys


def _found(one: Engine, variables: Sequence[int], arrays: Mapping[int, Array]) -> _Found:
    session: Session = one.session()  # after which there is `shared`
    shared = one.shared
    assert shared is not None
    stays = _stays(session, arrays)
    if stays and not session.ready:
        session.allocate()  # for other buffers, or after memory was released; values stay
    keeper = kept.Keeper(shared, (session.state,) if stays else ())
    for _ in range(_TRIES):
        before = shared.sequence[0]
        rows = list(kept.rows_of(keeper.kept()))
        values = {index: session.get(index) for index in variables} if stays else {}
        if shared.sequence[0] == before:
            return _Found(rows, values)
    raise StateError(BUSY)


def _stays(session: Session, arrays: Mapping[int, Array]) -> bool:
    """True if a run on the arrays keeps variables and the memory of nodes."""
    requested = (session.state.requested(tensor.index) for tensor in session.subgraph.tensors)
    if not session.allocated or any(shape is not None for shape in requested):
        return False
    inputs = [index for index in session.subgraph.inputs if index in arrays]
    return all(session.shape(index) == arrays[index].shape for index in inputs)
