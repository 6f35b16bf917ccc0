"""ArrayCall: a subgraph called with arrays by name; resizes, fills, runs and copies out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.engine.mismatch import given_shapes
from minilite.errors import InputError, ShapeError
from minilite.format.dtypes import public_type
from minilite.format.model import Array

if TYPE_CHECKING:
    from minilite._native.cancel import Cancel
    from minilite.engine.session import Session
    from minilite.format.model import Subgraph


def by_key(subgraph: Subgraph, numbers: Iterable[int]) -> dict[Any, int]:
    """Tensor numbers by name, or by the number itself where several have one name."""
    each = {number: subgraph.tensors[number].name for number in numbers}
    counts = Counter(each.values())
    return {name if counts[name] == 1 else number: number for number, name in each.items()}


class ArrayCall:
    """Names of inputs and outputs, by tensor number, of one Session, looked up once for all calls."""

    __slots__ = ("_count", "_names", "_types", "outputs", "session")

    def __init__(self, session: Session, inputs: Sequence[tuple[str, int]], outputs: Mapping[Any, int]) -> None:
        tensors = session.subgraph.tensors
        self.session: Session = session
        self._count = len(inputs)
        # A name that two inputs have does not tell which one is meant.
        names = [name for name, _ in inputs]
        self._types = {
            name: (index, public_type(tensors[index].type)) for name, index in inputs if names.count(name) == 1
        }
        self.outputs: Mapping[Any, int] = outputs
        self._names = tuple(outputs.items())

    @classmethod
    def of_graph(cls, session: Session) -> ArrayCall:
        """A subgraph's own inputs and outputs, by their tensors' names; outputs of one name by their numbers."""
        graph = session.subgraph
        inputs = [(graph.tensors[index].name, index) for index in graph.inputs]
        return cls(session, inputs, by_key(graph, graph.outputs))

    def named(self, inputs: tuple[Any, ...]) -> Mapping[str, Any]:
        """Arrays by input name, given in the order of inputs or as a dict; empty if something else was given."""
        if len(inputs) == 1 and type(inputs[0]) is dict:
            return inputs[0]
        return dict(zip(self._types, inputs, strict=False)) if len(inputs) == self._count else {}

    def plain(self, given: Mapping[str, Any]) -> list[tuple[int, Array]] | None:
        """Arrays by tensor number, if there is exactly one array of the right type per input; else None."""
        types, found = self._types, []
        if len(given) != len(types) or len(types) != self._count:
            return None
        for name, array in given.items():
            known = types.get(name)
            if known is None or type(array) is not np.ndarray or array.dtype is not known[1]:
                return None
            found.append((known[0], array))
        return found

    def allocate(self, arrays: Sequence[tuple[int, Array]]) -> None:
        """Resizes inputs, given by tensor number, to their arrays, and allocates tensors. Raises: InputError,
        ShapeError, ArenaError, StateError."""
        session = self.session
        for index, array in arrays:
            if not session.ask(index, array.shape):
                session.resize(index, array.shape)
        try:
            session.allocate()
        except ShapeError as error:
            raise given_shapes(error, session.subgraph.tensors, arrays) from None

    def run(
        self,
        arrays: Sequence[tuple[int, Array]],
        out: Mapping[str, Array] | None = None,
        cancel: Cancel | None = None,
    ) -> dict[str, Array]:
        """Resizes inputs, given by tensor number, to their arrays, runs, and returns the outputs by name.

        Outputs are owned copies, except for those written to the arrays in `out`.
        Raises: InputError, ShapeError, ArenaError, KernelError, StateError.
        """
        self.allocate(arrays)
        session = self.session
        lent: dict[int, Any] = {}
        for index, array in arrays:
            session.set(index, array, lent)
        if lent:
            session.run_on(lent, cancel)
        else:
            session.invoke(cancel)
        found = {}
        for name, index in self._names:
            found[name] = session.get(index) if out is None else self._taken(index, name, out.get(name))
        return found

    def _taken(self, index: int, name: str, target: Array | None) -> Array:
        if target is None:
            return self.session.get(index)
        found = self.session.get(index, target)
        if found is target:
            return target
        if found.shape != target.shape:
            message = f"out['{name}'] is of shape {target.shape}, the output is of shape {found.shape}"
            raise InputError(message, tensors=[name], shapes=[target.shape, found.shape])
        target[...] = found
        return target
