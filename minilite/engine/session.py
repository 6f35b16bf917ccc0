"""A Session: one subgraph as a user runs it: shapes asked for, the plan in force, tensors read and written."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from minilite._native import BUSY, MAX_RANK, Plan, is_packed, pack, unpack
from minilite.engine.binding import Binding, bindable
from minilite.engine.graph import Program, new_state, spec_of
from minilite.engine.misfit import as_array, misfit
from minilite.errors import InputError, InputRuntimeError, StateError
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Array, Subgraph, Tensor

Shape = tuple[int, ...]


class ArenaView:
    """The owner of a live view: numpy arrays made from it keep it, and while it lives the arena stays where it is."""

    __slots__ = ("__array_interface__", "__weakref__", "_session")

    def __init__(self, session: Session, array: Array) -> None:
        self._session = session
        self.__array_interface__ = array.__array_interface__


def check_resize(tensor: Tensor, shape: Shape) -> None:
    """Refuses what no tensor of the kind can take. Raises: InputError."""
    if tensor.data is not None and shape != tensor.shape:
        message = f"tensor {tensor.index} ('{tensor.name}') is constant: its shape {tensor.shape} cannot become {shape}"
        raise InputRuntimeError(message, tensors=[tensor.name], shapes=[tensor.shape, shape])
    if len(shape) > MAX_RANK:
        message = (
            f"tensor {tensor.index} ('{tensor.name}'): shape {shape} has {len(shape)} dimensions, at most {MAX_RANK}"
        )
        raise InputError(message, tensors=[tensor.name], shapes=[shape])


class Session:
    """One root subgraph of a Program with memory of its own. Not to be used by two threads at once: the second is refused."""

    def __init__(self, program: Program, root: int, strategy: str, options: Mapping[str, bool]) -> None:
        self.program = program
        self.subgraph: Subgraph = program.model.subgraphs[root]
        self.state = new_state(program, root, strategy, options)
        self.invoke_unchecked = self.state.run()
        self.ready = False
        self._root = root
        self._shapes: dict[int, Shape] = {}
        self._pending: dict[int, Shape] = {}
        self._released = False
        self._arrays: dict[int, Array] = {}
        self._generation = -1
        self._views: dict[int, weakref.ref[ArenaView]] = {}
        self._bound: dict[int, Binding] = {}
        self._bindings: dict[int, Binding | None] = {}

    @property
    def plan(self) -> Plan | None:
        """The plan in force; a run that fails may replace it."""
        return self.state.plan

    # Shapes ---------------------------------------------------------------------------------------------------------

    def shape(self, index: int) -> Shape:
        """A tensor's shape: asked for, else planned, else the file's."""
        if index in self._pending:
            return self._pending[index]
        plan = self.plan
        planned = plan.shape(index) if plan is not None else None
        return self.subgraph.tensors[index].shape if planned is None else planned

    def resize(self, index: int, shape: Shape) -> None:
        """Asks for another shape; in force from the next `allocate`."""
        check_resize(self.subgraph.tensors[index], shape)
        if shape == self.shape(index):
            return
        self._pending[index] = shape
        self.ready = False

    def _wanted(self, changes: Mapping[int, Shape]) -> dict[int, Shape]:
        tensors = self.subgraph.tensors
        wanted = {**self._shapes, **changes}
        return {index: shape for index, shape in wanted.items() if shape != tensors[index].shape}

    def allocate(self) -> None:
        """Puts the plan for the shapes and buffers asked for in force; if it is refused, the old ones stay.

        Raises: InputError where buffers overlap or a tensor cannot be bound; ShapeError, ArenaError, UnsupportedOpError;
        StateError while a view is held and the plan would change.
        """
        if self.ready:
            if self._released:
                self.state.acquire_memory()
                self._released = False
            return
        if self._views:
            message = (
                f"There is at least 1 reference to internal data in the interpreter: {len(self._views)} views of its "
                "memory are held, they have to be dropped before tensors are allocated anew"
            )
            raise StateError(message)
        if self.state.running:
            raise StateError(BUSY)
        changes, self._pending = self._pending, {}
        bindings, self._bindings = {**self._bound, **self._bindings}, {}
        self.ready = self.plan is not None
        wanted = self._wanted(changes)
        bound = {index: binding for index, binding in bindings.items() if binding is not None}
        self.state.prepare(spec_of(wanted), [(b.address, b.array.nbytes, index) for index, b in bound.items()])
        self._shapes, self._bound = wanted, bound
        self.ready = True
        self._released = False

    def plan_for(self, shapes: Mapping[int, Shape]) -> Plan:
        """The plan for other shapes, not put in force."""
        return self.state.plan_for(spec_of(self._wanted(shapes)))

    # Running ----------------------------------------------------------------------------------------------------------

    def invoke(self) -> None:
        """Runs the plan in force: one call into C."""
        if not self.ready:
            message = "Invoke called on model that is not ready: allocate_tensors() has to come first"
            raise StateError(message)
        self.invoke_unchecked()

    # Memory -----------------------------------------------------------------------------------------------------------

    def release_memory(self) -> None:
        """Frees the arena until the next `allocate`; the plan stays, `invoke` is refused meanwhile."""
        self.state.release_memory()
        self._released = True

    def bind(self, index: int, array: Array | None) -> None:
        """The caller's array stands in for a tensor from the next `allocate` on; None ends it. Raises: InputError."""
        tensor = self.tensor(index)
        lowered = self.program.lowered.subgraphs[self._root].tensors[index]  # lowering may settle type or value
        tensor = tensor._replace(type=TensorType(lowered.type), data=lowered.data)
        if array is not None and lowered.offline_offset >= 0 and lowered.data is None:
            message = f"tensor {index} ('{tensor.name}') has the offset {lowered.offline_offset} in the file's memory plan: it cannot be bound"
            raise InputError(message, tensors=[tensor.name])
        if array is None and index not in self._bound:
            self._bindings.pop(index, None)
            return
        self._bindings[index] = None if array is None else bindable(self.subgraph, tensor, array)
        self.ready = False

    # Tensors ----------------------------------------------------------------------------------------------------------

    def tensor(self, index: int) -> Tensor:
        """The Model's tensor of that number. Raises: InputError."""
        tensors = self.subgraph.tensors
        if not 0 <= index < len(tensors):
            message = f"Invalid tensor index {index} exceeds max tensor index {len(tensors) - 1}"
            raise InputError(message)
        return tensors[index]

    def array(self, index: int) -> Array:
        """A writable array over a tensor's bytes, for use before anything else is called. Raises: InputError, StateError."""
        if self.state.running:
            raise StateError(BUSY)
        if index in self._pending:
            raise self._resized(index)
        generation = self.state.generation
        if generation != self._generation:
            self._arrays.clear()
            self._generation = generation
        array = self._arrays.get(index)
        if array is None:
            array = self._arrays[index] = self._make_array(index)
        return array

    def _resized(self, index: int) -> StateError:
        name, shape = self.tensor(index).name, self._pending[index]
        message = f"Tensor data is null. Run allocate_tensors() first: tensor {index} ('{name}') was resized to {shape}"
        return StateError(message, tensors=[name], shapes=[shape])

    def _make_array(self, index: int) -> Array:
        tensor = self.tensor(index)
        if tensor.data is not None:
            return tensor.data
        entry = self.plan.tensor(index) if self.plan is not None else None
        if entry is None or entry.shape is None or (entry.bytes > 0 and not self.state.address(index)):
            message = (
                f"Tensor data is null. Run allocate_tensors() first: tensor {index} ('{tensor.name}') has no memory"
            )
            raise StateError(message, tensors=[tensor.name])
        if tensor.type in (TensorType.STRING, TensorType.VARIANT):
            message = f"tensor {index} ('{tensor.name}') is {tensor.type.name}: it cannot be read as an array"
            raise InputError(message, tensors=[tensor.name])
        dtype = numpy_type(TensorType(entry.type))
        if entry.storage == "bound":
            flat: Array = self._bound[index].array.reshape(-1)
            return flat[: entry.bytes // flat.itemsize].reshape(entry.shape)
        shape = (entry.bytes,) if is_packed(entry.type) else entry.shape
        array: Array = self.state.array(index, shape, dtype, entry.bytes)
        array.flags.writeable = entry.storage != "folded"
        return array

    def get(self, index: int) -> Array:
        """A copy of a tensor's values; as int8 where they are packed below a byte."""
        array, kind = self.array(index), self.tensor(index).type
        return unpack(array, kind, self.shape(index)) if is_packed(kind) else array.copy()

    def set(self, index: int, value: Any) -> None:
        """Copies values into a tensor. Raises: InputError, StateError."""
        tensor = self.tensor(index)
        if not self.ready:
            message = "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first"
            raise StateError(message, tensors=[tensor.name])
        array = value if type(value) is np.ndarray else as_array(tensor, value)
        target = self.array(index)
        packed = is_packed(tensor.type)
        wanted = np.empty(self.shape(index), np.int8) if packed else target
        if (
            array.dtype != wanted.dtype
            or array.shape != wanted.shape
            or not target.flags.writeable
            or not array.dtype.isnative
        ):
            raise misfit(tensor, value, array, wanted, bound=index in self._bound)
        if packed:
            pack(array, tensor.type, target)
        else:
            target[...] = array

    def view(self, index: int) -> Callable[[], Array]:
        """A function that gives a live view of a tensor; while an array of it lives, memory does not move."""
        tensor = self.tensor(index)

        def live() -> Array:
            array = self.array(index)
            if array.nbytes == 0 or tensor.data is not None:
                return array
            if index in self._bound:
                return array.view()
            owner = ArenaView(self, array)
            key = id(owner)
            self._views[key] = weakref.ref(owner, lambda _: self._drop_view(key))
            self.state.pin(True)
            return np.asarray(owner)

        return live

    def _drop_view(self, key: int) -> None:
        self._views.pop(key, None)
        if not self._views:
            self.state.pin(False)
