"""A Session: one subgraph as a user runs it: shapes asked for, the plan in force, tensors read and written."""

from __future__ import annotations

import math
import weakref
from _thread import RLock  # threading takes long to import
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from minilite._native import BUSY, MAX_RANK, Plan, Shared
from minilite.engine.binding import Binding, bindable
from minilite.engine.misfit import as_array, encode, misfit
from minilite.engine.program import Program, new_state, spec_of
from minilite.engine.target import ArenaView, Target, decoded_values, target_at
from minilite.errors import InputError, InputRuntimeError, StateError
from minilite.format.dtypes import TensorType
from minilite.format.model import Array, Subgraph, Tensor
from minilite.format.values import ENCODED, constant_values

Shape = tuple[int, ...]
_TRIES = 8
"""How often a copy looks again where its tensor lies, when other threads move it meanwhile."""
_SMALL = 500 if int(np.__version__.split(".")[0]) >= 2 else 0
"""Elements up to which copies are made under the GIL; numpy lets it go for more, and before 2.0 for any."""
_MOST_REQUESTS = 2048
"""Validated shapes, keys of plans and places that are remembered; beyond it all are forgotten at once."""


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
        self._asked: dict[int, Shape] = {}
        self._valid: dict[tuple[Any, ...], Shape] = {}
        self._specs: dict[tuple[tuple[int, Shape], ...], Any] = {}
        self._in_force: tuple[tuple[int, Shape], ...] | None = None
        self._touched: set[int] = set()
        self._bound_asked: dict[int, Binding] = {}
        self._bound: dict[int, Binding] = {}
        self._released = False
        self._allocating = RLock()
        self._known: tuple[int, dict[int, Target]] = (
            -1,
            {},
        )  # a generation's targets: one pair, so threads see both or none
        self._all_targets: dict[int, dict[int, Target]] = {}
        self._generations = self.state.generations
        self._sequence = shared.sequence
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
        asked = self._asked.get(index)
        if asked is not None:
            return asked
        now = self.state.place(index).shape if self._in_force is not None else None
        return self.subgraph.tensors[index].shape if now is None else now

    def resize_again(self, key: Any, size: Any) -> bool:
        """Asks for a shape that was found valid before, by whatever says which tensor; False if it was not."""
        try:
            shape = self._valid.get((key, *size))
        except TypeError:
            return False
        asked = self._asked.get(key)
        if shape is None or asked is None:
            return False
        if asked != shape:
            self._ask(key, shape)
        return True

    def resize(self, index: int, shape: Shape) -> None:
        """Asks for another shape; in force from the next `allocate`."""
        tensor = self.subgraph.tensors[index]
        check_resize(tensor, shape)
        if len(self._valid) >= _MOST_REQUESTS:
            self._valid.clear()
        self._valid[(index, *shape)] = shape
        if self._asked.setdefault(index, tensor.shape) != shape:
            self._ask(index, shape)

    def _ask(self, index: int, shape: Shape) -> None:
        self._asked[index] = shape
        self._touched.add(index)
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
        with self._allocating:  # what C has in force and what is noted here change together
            self._allocate()

    def _allocate(self) -> None:
        if self._views:
            message = (
                f"There is at least 1 reference to internal data in the interpreter: {len(self._views)} views of its "
                "memory are held, they have to be dropped before tensors are allocated anew"
            )
            raise StateError(message)
        wish, bound = tuple(self._asked.items()), self._bound_asked
        spec = self._specs.get(wish)
        if spec is None:
            spec = self._spec(wish)
        try:
            if bound:
                rows = [(b.address, b.array.nbytes, index) for index, b in sorted(bound.items())]
                self.state.prepare(spec, rows)
            else:
                self.state.prepare(spec)
        except StateError:  # refused because of others: what was asked for still is
            raise
        except Exception:
            self._asked = dict(self._in_force or ())
            self._bound_asked = self._bound
            self._touched.clear()
            self.ready = self._in_force is not None
            raise
        self._in_force, self._bound = wish, bound
        self._touched.clear()
        self._released = False
        self.ready = wish == tuple(self._asked.items()) and self._bound_asked is bound

    def _spec(self, wish: tuple[tuple[int, Shape], ...]) -> Any:
        """The key of a plan in C's form, kept for the next time."""
        tensors = self.subgraph.tensors
        if len(self._specs) >= _MOST_REQUESTS:
            self._specs.clear()
        spec = self.state.spec(spec_of({index: shape for index, shape in wish if shape != tensors[index].shape}))
        self._specs[wish] = spec
        return spec

    def plan_for(self, shapes: Mapping[int, Shape]) -> Plan:
        """The plan for other shapes, not put in force."""
        wish = {**self._asked, **shapes}
        return self.state.plan_for(self._spec(tuple(wish.items())))

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
        tensor = self.program.lowered.operands.tensor(self._root, self.tensor(index).index)
        offset = self.program.lowered.lowering.tensor(self._root, index).offline_offset
        if array is not None and offset >= 0 and tensor.data is None:
            message = f"tensor {index} ('{tensor.name}') has the offset {offset} in the file's memory plan: it cannot be bound"
            raise InputError(message, tensors=[tensor.name])
        bound = dict(self._bound_asked)
        if array is not None:
            bound[index] = bindable(self.subgraph, tensor, array)
        elif bound.pop(index, None) is None:
            return
        self._bound_asked = bound
        self.ready = False

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
        now, (generation, targets) = self.state.generation, self._known
        if now != generation:
            if len(self._all_targets) >= _MOST_REQUESTS:
                self._all_targets.clear()
            generation, targets = self._known = (now, self._all_targets.setdefault(now, {}))
        if not self.ready:
            self._check_shape_in_force(index)
        target = targets.get(index)
        if target is None:
            target = self._look(index)
            if target.place.generation == generation:  # another thread may have resized meanwhile
                targets[index] = target
        return target

    def _forget_target(self, index: int) -> None:
        self._known[1].pop(index, None)

    def _check_shape_in_force(self, index: int) -> None:
        if index not in self._touched or self._in_force is None:
            return
        name, shape = self.tensor(index).name, self.shape(index)
        message = f"Tensor data is null. Run allocate_tensors() first: tensor {index} ('{name}') was resized to {shape}"
        raise StateError(message, tensors=[name], shapes=[shape])

    def _look(self, index: int) -> Target:
        tensor = self.tensor(index)
        place = self.state.place(index) if self._in_force is not None else None
        at_caller = place is not None and place.storage == "bound"
        target = target_at(tensor, place, self._bound[index].array if at_caller else None)
        small = target.place.storage == "arena" and 0 < math.prod(target.shape) <= _SMALL and target.encoded is None
        if small and index in self._kept and self.state.usage().stays_mapped:
            target = target._replace(array=self.state.array(target.place, target.dtype))
        return target

    def get(self, index: int, into: Array | None = None) -> Array:
        """A copy of a tensor's values, in `into` where that fits. Raises: InputError, StateError."""
        # Small ones are copied under the GIL, out of memory that stays mapped; the sequence says whether a call of another
        # thread came in between. It is odd while one is under way.
        generation, targets = self._known
        target = targets.get(index)
        if target is not None and target.array is not None and into is None and self.ready:
            sequence = self._sequence[0]
            if not sequence & 1 and self._generations[0] == generation:
                copy = target.array.copy()
                if self._sequence[0] == sequence:
                    return copy
        for _ in range(_TRIES):
            target = self._target(index)
            if index not in self._kept:
                self._check_whole(index)
            place = target.place
            if target.encoded is not None:
                raw = np.empty(place.bytes, np.uint8)
                if self.state.read(index, place, raw):
                    return decoded_values(self.tensor(index), raw, target)
            else:
                fits = into is not None and into.dtype == target.dtype and into.shape == target.shape
                array = (
                    into
                    if fits and into is not None and into.flags.c_contiguous
                    else np.empty(target.shape, target.dtype)
                )
                small = target.array
                if self.state.read(index, place, array) if small is None else self._undisturbed(target, array, small):
                    return array
            self._forget_target(index)
        raise StateError(_MOVES, tensors=[self.tensor(index).name])

    def _undisturbed(self, target: Target, to: Array, source: Array) -> bool:
        """Copies a small tensor under the GIL; False if a call came in between, or has moved it. Raises: StateError."""
        sequence = self._sequence[0]
        if sequence & 1:
            raise StateError(BUSY)
        if self._generations[0] != target.place.generation:
            return False
        to[...] = source
        return bool(self._sequence[0] == sequence)

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
        generation, targets = self._known
        known = targets.get(index)
        if known is not None and known.array is not None and type(value) is np.ndarray:
            fits = value.dtype == known.dtype and value.shape == known.shape
            sequence = self._sequence[0]
            if fits and not sequence & 1 and self._generations[0] == generation:
                known.array[...] = value  # see get
                if self._sequence[0] == sequence:
                    return
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
            if target.array is not None:
                written = self._undisturbed(target, target.array, array)
            else:
                write = self.state.write_heap if target.encoded == TensorType.STRING else self.state.write
                written = write(index, target.place, array)
            if written:
                return
            self._forget_target(index)
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
            if target.place.storage == "bound":
                flat: Array = self._bound[index].array.reshape(-1)
                return flat[: target.place.bytes // flat.itemsize].reshape(target.shape)
            return self._pinned(index)

        return live

    def _pinned(self, index: int) -> Array:
        """An array over the tensor's memory, which stays where it is from before it is looked up."""
        self.state.pin(1)
        try:
            target = self._look(index)
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


_MOVES = "the tensor moves all the time: other threads resize or trim this interpreter"
