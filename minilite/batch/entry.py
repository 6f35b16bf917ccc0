"""Entry: the inputs and outputs of one signature by name; Runner: an interpreter that runs it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from minilite.engine.array_call import ArrayCall
from minilite.engine.engine import engine_of
from minilite.engine.signatures import find_signature
from minilite.engine.tensor_arguments import by_name
from minilite.errors import InputError, MiniliteError
from minilite.format.dtypes import public_type

if TYPE_CHECKING:
    from minilite._native.cancel import Cancel
    from minilite.format.model import Array, Model, Subgraph, Tensor
    from minilite.interpreter import Interpreter

Shape = tuple[int, ...]


class Entry(NamedTuple):
    """The inputs and outputs of a signature, or of the main subgraph, by name."""

    subgraph: Subgraph
    inputs: Mapping[str, Tensor]
    outputs: Mapping[str, Tensor]

    @classmethod
    def of(cls, model: Model, signature: str | None) -> Entry:
        """Returns the entry of a signature; None means the only one, or the main subgraph of a model without any.

        Raises: InputError.
        """
        if signature is None and not model.signatures:
            graph = model.subgraphs[0]
            inputs, outputs = by_name(graph, graph.inputs, "inputs"), by_name(graph, graph.outputs, "outputs")
        else:
            found = find_signature(model.signatures, signature)
            graph, inputs, outputs = model.subgraphs[found.subgraph], dict(found.inputs), dict(found.outputs)
        tensors = graph.tensors
        return cls(graph, {n: tensors[i] for n, i in inputs.items()}, {n: tensors[i] for n, i in outputs.items()})

    def no_rows(self, name: str) -> Array:
        """Returns a column of this output that has no rows."""
        tensor = self.outputs[name]
        shape = tensor.shape[1:] if not self.unbatched() and tensor.shape[:1] == (1,) else tensor.shape
        return np.empty((0, *shape), public_type(tensor.type))

    def unbatched(self) -> str:
        """The reason why there is no batch dimension: an input whose shape does not begin with 1. "" if there is
        one."""
        if not self.inputs:
            return "the model has no batch dimension: it has no inputs"
        name = next((name for name, tensor in self.inputs.items() if tensor.shape[:1] != (1,)), None)
        shape = self.inputs[name].shape if name is not None else ()
        return f"the model has no batch dimension: input '{name}' has the shape {shape}" if name is not None else ""

    def check_batched(self, what: str) -> None:
        """Refuses a model without a batch dimension; `what` needs one. Raises: InputError."""
        if reason := self.unbatched():
            message = f"{what}: {reason}, must begin with 1"
            raise InputError(message)


class Runner:
    """One interpreter that runs an Entry, each time from the state of a new interpreter. One thread at a time."""

    def __init__(self, interpreter: Interpreter, entry: Entry) -> None:
        self.interpreter = interpreter
        self.entry = entry
        self._engine = engine_of(interpreter)
        self._session = self._engine.session(entry.subgraph.index)
        numbers: Sequence[tuple[str, int]] = [(name, tensor.index) for name, tensor in entry.inputs.items()]
        self._call = ArrayCall(self._session, numbers, {name: tensor.index for name, tensor in entry.outputs.items()})

    def run(self, arrays: Mapping[str, Array], cancel: Cancel | None = None) -> dict[str, Array]:
        """Runs on arrays by name, as `SignatureRunner` does. Raises: what that raises."""
        self._engine.reset_resources()
        if self._session.ready:
            self._session.state.reset_variables()
        inputs = self.entry.inputs
        return self._call.run([(inputs[name].index, array) for name, array in arrays.items()], cancel=cancel)

    def values(self, tensors: Sequence[int]) -> dict[int, Array]:
        """Returns the values of tensors after the last run, by number, without those that cannot be read."""
        found = {}
        for index in tensors:
            with contextlib.suppress(MiniliteError):
                found[index] = self._session.get(index)
        return found

    def arena_bytes(self, shapes: Mapping[str, Shape]) -> int:
        """Returns the bytes of the arena for these shapes. Raises: ShapeError, ArenaError."""
        return self._session.plan_for({self.entry.inputs[n].index: s for n, s in shapes.items()}).arena_bytes

    def has_rows(self) -> Mapping[str, bool]:
        """Returns, by output, whether its first dimension is a batch: it is 1 in the current plan. Dynamic outputs have
        none."""
        plan = self._session.plan
        assert plan is not None
        found = {name: plan.tensor(tensor.index) for name, tensor in self.entry.outputs.items()}
        return {name: not now.dynamic and (now.shape or ())[:1] == (1,) for name, now in found.items()}
