"""A Session: one subgraph as a user runs it: shapes asked for, the plan in force, tensors read and written."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from minilite._native import MAX_RANK, Place, Plan, Shared
from minilite.engine.binding import Binding, bindable
from minilite.engine.misfit import as_array, encode, misfit
from minilite.engine.program import Program, new_state, spec_of
from minilite.errors import InputError, InputRuntimeError, KernelError, StateError
from minilite.format.dtypes import TensorType
from minilite.format.model import Array, Subgraph, Tensor
from minilite.format.values import ENCODED, array_type, constant_values, decoded

Shape = tuple[int, ...]
_TRIES = 8
"""How often a copy looks again where its tensor lies, when other threads move it meanwhile."""


class ArenaView:
    """The owner of a live view: numpy arrays made from it keep it, and while it lives the arena stays where it is."""

    __slots__ = ("__array_interface__", "__weakref__", "_session")

    def __init__(self, session: Session, array: Array) -> None:
        self._session = session
        self.__array_interface__ = array.__array_interface__


class Target(NamedTuple):
    """Where a tensor lies and what array fits it."""

    place: Place
    dtype: Any
    shape: Shape
    writable: bool
    encoded: TensorType | None
    """The type, where an array of values is not the tensor's bytes: strings, elements of less than a byte."""

    @property
    def ndim(self) -> int:
        """Its rank."""
        return len(self.shape)


class Wish(NamedTuple):
    """Shapes by tensor, where they are not the file's, and the arrays that stand in for tensors."""

    shapes: Mapping[int, Shape]
    bound: Mapping[int, Binding]


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
    """One root subgraph of a Program with memory of its own. Of two threads that change things at once the second is refused."""

    def __init__(
        self,
        program: Program,
        shared: Shared,
        root: int,
        strategy: str,
        options: Mapping[str, bool],
        cache_bytes: int,
    ) -> None:
        self.program = program
        self.subgraph: Subgraph = program.model.subgraphs[root]
        self.state = new_state(program, shared, root, strategy, options, cache_bytes)
        self.invoke_unchecked = self.state.run()
        self.ready = False
        self._root = root
        self._in_force: Wish | None = None
        self._asked = Wish({}, {})
        self._touched: set[int] = set()
        self._released = False
        self._targets: dict[int, Target] = {}
        self._generation = -1
        self._views: dict[int, weakref.ref[ArenaView]] = {}
        self._kept = {*self.subgraph.inputs, *self.subgraph.outputs}

    @property
    def plan(self) -> Plan | None:
        """The plan in force: what hangs on shapes alone, and never changes."""
        return self.state.plan

    @property
    def memory(self) -> Plan | None:
        """A copy of the plan in force with what runs have learnt: shapes and places of dynamic tensors."""
        return self.state.memory

    # Shapes ---------------------------------------------------------------------------------------------------------

    def shape(self, index: int) -> Shape:
        """A tensor's shape: asked for, else the one it has now, else the file's."""
        asked = self._asked.shapes.get(index)
        if asked is not None:
            return asked
        file = self.subgraph.tensors[index].shape
        if self._in_force is None or index in self._in_force.shapes:
            return file
        now = self.state.place(index).shape
        return file if now is None else now

    def resize(self, index: int, shape: Shape) -> None:
        """Asks for another shape; in force from the next `allocate`."""
        tensor = self.subgraph.tensors[index]
        check_resize(tensor, shape)
        shapes = dict(self._asked.shapes)
        if shape == tensor.shape:
            shapes.pop(index, None)
        else:
            shapes[index] = shape
        if shapes != self._asked.shapes:
            self._touched.add(index)
        self._ask(self._asked._replace(shapes=shapes))

    def _ask(self, wish: Wish) -> None:
        if not _same(wish, self._asked):
            self._asked = wish
            self.ready = False

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
        wish = self._asked
        bound = [(b.address, b.array.nbytes, index) for index, b in sorted(wish.bound.items())]
        try:
            self.state.prepare(spec_of(wish.shapes), bound)
        except StateError:  # refused because of others: what was asked for still is
            raise
        except Exception:
            self._asked = self._in_force or Wish({}, {})
            self._touched = set()
            self.ready = self._in_force is not None
            raise
        self._in_force = wish
        self._touched = set()
        self.ready = self._asked is wish
        self._released = False

    def plan_for(self, shapes: Mapping[int, Shape]) -> Plan:
        """The plan for other shapes, not put in force."""
        tensors = self.subgraph.tensors
        wanted = {**self._asked.shapes, **shapes}
        return self.state.plan_for(spec_of({i: shape for i, shape in wanted.items() if shape != tensors[i].shape}))

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
        bound = dict(self._asked.bound)
        if array is None:
            bound.pop(index, None)
        else:
            bound[index] = bindable(self.subgraph, tensor, array)
        self._ask(self._asked._replace(bound=bound))

    # Tensors ----------------------------------------------------------------------------------------------------------

    def tensor(self, index: int) -> Tensor:
        """The Model's tensor of that number. Raises: InputError."""
        tensors = self.subgraph.tensors
        if not 0 <= index < len(tensors):
            message = f"Invalid tensor index {index} exceeds max tensor index {len(tensors) - 1}"
            raise InputError(message)
        return tensors[index]

    def _target(self, index: int) -> Target:
        """Where the tensor lies now. Raises: InputError, StateError."""
        generation = self.state.generation
        if generation != self._generation:
            self._targets = {}
            self._generation = generation
        if not self.ready:
            self._check_shape_in_force(index)
        target = self._targets.get(index)
        if target is None:
            target = self._targets[index] = self._look(index)
        return target

    def _check_shape_in_force(self, index: int) -> None:
        if index not in self._touched or self._in_force is None:
            return
        name, shape = self.tensor(index).name, self.shape(index)
        message = f"Tensor data is null. Run allocate_tensors() first: tensor {index} ('{name}') was resized to {shape}"
        raise StateError(message, tensors=[name], shapes=[shape])

    def _look(self, index: int) -> Target:
        tensor = self.tensor(index)
        place = self.state.place(index) if self._in_force is not None else None
        if place is None or place.shape is None or (not place.address and place.bytes > 0):
            message = (
                f"Tensor data is null. Run allocate_tensors() first: tensor {index} ('{tensor.name}') has no memory"
            )
            raise StateError(message, tensors=[tensor.name])
        if tensor.type == TensorType.VARIANT:
            message = f"tensor {index} ('{tensor.name}') is {tensor.type.name}: it cannot be read as an array"
            raise InputError(message, tensors=[tensor.name])
        kind, shape = TensorType(place.type), place.shape
        encoded, dtype = kind if kind in ENCODED and tensor.sparsity is None else None, array_type(kind)
        if encoded is None and tensor.sparsity is not None:
            shape = (place.bytes // dtype.itemsize,)  # the bytes of the sparse form
        writable = place.storage not in ("constant", "folded")
        if place.storage == "bound" and self._in_force is not None:
            writable = bool(self._in_force.bound[index].array.flags.writeable)
        return Target(place, dtype, shape, writable, encoded)

    def get(self, index: int, into: Array | None = None) -> Array:
        """A copy of a tensor's values, in `into` where that fits. Raises: InputError, StateError."""
        for _ in range(_TRIES):
            target = self._target(index)
            if index not in self._kept:
                self._check_whole(index)
            place = target.place
            if target.encoded is not None:
                raw = np.empty(place.bytes, np.uint8)
                if self.state.read(index, place, raw):
                    return self._decoded(index, raw, target)
            else:
                fits = into is not None and into.dtype == target.dtype and into.shape == target.shape
                array = (
                    into
                    if fits and into is not None and into.flags.c_contiguous
                    else np.empty(target.shape, target.dtype)
                )
                if self.state.read(index, place, array):
                    return array
            self._generation = -1
        raise StateError(_MOVES, tensors=[self.tensor(index).name])

    def _decoded(self, index: int, raw: Array, target: Target) -> Array:
        name = self.tensor(index).name
        if target.encoded == TensorType.STRING and not target.place.address:
            message = f"tensor {index} ('{name}') has no value yet: invoke() computes it"
            raise StateError(message, tensors=[name])
        try:
            return decoded(raw, target.encoded or TensorType.UINT8, target.shape)
        except ValueError as error:  # what a run that failed half-way left
            message = f"tensor {index} ('{name}'): {error}"
            raise KernelError(message, tensors=[name]) from None

    def _check_whole(self, index: int) -> None:
        """Refuses tensors whose bytes have become another's. Raises: StateError."""
        node = self.state.overwriter(index)
        if node < 0:
            return
        name = self.tensor(index).name
        message = (
            f"tensor {index} ('{name}') was overwritten by node {node} ({self.subgraph.nodes[node].op}): its memory is "
            "reused; experimental_preserve_all_tensors=True keeps every tensor"
        )
        raise StateError(message, tensors=[name])

    def set(self, index: int, value: Any) -> None:
        """Copies values into a tensor. Raises: InputError, StateError."""
        if not self.ready:
            message = "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first"
            raise StateError(message, tensors=[self.tensor(index).name])
        for _ in range(_TRIES):
            target = self._target(index)
            plain = type(value) is np.ndarray and target.encoded is None
            array = value if plain else as_array(self.tensor(index), value)
            if (
                array.dtype != target.dtype
                or array.shape != target.shape
                or not target.writable
                or not array.dtype.isnative
            ):
                raise misfit(self.tensor(index), value, array, target, bound=target.place.storage == "bound")
            if target.encoded is not None:
                array = encode(self.tensor(index), array)
            elif not array.flags.c_contiguous:
                array = np.ascontiguousarray(array)
            heap = target.encoded == TensorType.STRING
            if (self.state.write_heap if heap else self.state.write)(index, target.place, array):
                self._generation = -1 if heap else self._generation
                return
            self._generation = -1
        raise StateError(_MOVES, tensors=[self.tensor(index).name])

    def view(self, index: int) -> Callable[[], Array]:
        """A function that gives a live view of a tensor; while an array of it lives, memory does not move.

        Of strings and of elements of less than a byte it gives copies.
        """
        tensor = self.tensor(index)

        def live() -> Array:
            if tensor.data is not None:
                return tensor.data if tensor.type not in ENCODED else constant_values(tensor)
            target = self._target(index)
            if target.encoded is not None:
                return self.get(index)
            if target.place.storage == "bound" and self._in_force is not None:
                flat: Array = self._in_force.bound[index].array.reshape(-1)
                return flat[: target.place.bytes // flat.itemsize].reshape(target.shape)
            return self._pinned(index)

        return live

    def _pinned(self, index: int) -> Array:
        """An array over the tensor's memory, which stays where it is from before it is looked up."""
        self.state.pin(1)
        try:
            self._generation = -1
            target = self._target(index)
            array: Array = self.state.array(target.place, target.dtype)
            array.flags.writeable = target.writable
            owner = ArenaView(self, array)
            key = id(owner)
            self._views[key] = weakref.ref(owner, lambda _: self._drop_view(key))
        except BaseException:
            self.state.pin(-1)
            raise
        return np.asarray(owner)

    def _drop_view(self, key: int) -> None:
        del self._views[key]
        self.state.pin(-1)


def _same(a: Wish, b: Wish) -> bool:
    """Whether two wishes come to the same plan and buffers."""
    same_buffers = a.bound.keys() == b.bound.keys() and all(a.bound[i] is b.bound[i] for i in a.bound)
    return same_buffers and a.shapes == b.shapes


_MOVES = "the tensor moves all the time: other threads resize or trim this interpreter"
