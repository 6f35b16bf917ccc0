"""Session: one subgraph as a user runs it: requested shapes, the plan in use, tensors read and written."""

from __future__ import annotations

import itertools
import sys
from functools import partial
from struct import error as StructError  # noqa: N812 - a class
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite import errors
from minilite._native.state import buffer_of, packed_dims
from minilite._native.status import LOCKED, OPTIONS
from minilite.engine import binding, mismatch
from minilite.engine.place import MOVES, checked_tensor, completed, copier, decoded_values
from minilite.engine.program import new_state
from minilite.format import values
from minilite.format.dtypes import ENCODED, TensorType, public_bits, public_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from minilite._native.cancel import Cancel
    from minilite._native.plan import Plan
    from minilite._native.state import Place, Shared, State
    from minilite.engine.array_call import ArrayCall
    from minilite.engine.binding import Binding
    from minilite.engine.program import Program
    from minilite.format.model import Array, Subgraph, Tensor

    Shape = tuple[int, ...]

    class Listener(Protocol):
        """An object that hears the calls of an Engine and its sessions, such as a recording."""

        def heard(self, session: Session | None, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
            """Makes the call of that name on these arguments, and gives its result."""

        def sliced(
            self,
            part: ArrayCall,
            arrays: Sequence[tuple[int, Array]],
            out: Mapping[str, Array] | None,
            cancel: Cancel | None,
        ) -> dict[str, Array]:
            """Runs a slice."""

    _Places = dict[int, Place]
    _Lendable = dict[int, tuple[Any, Shape] | None]
    """For inputs by number: dtype and shape of arrays that runs may read in place, or None."""
    _Small = dict[int, tuple[Callable[[], Array] | None, Any, Any, Shape]]
    """For tensors that are copied without a turn, by number: numpy's copy function, or None to copy by bytes; the
    memory, dtype and shape."""
    _Known = tuple[int, _Places, _Small, _Lendable]
    """Places and the rest, valid while the generation is this number."""

CHANGES = ("ask", "allocate", "invoke_unchecked", "run_until", "set", "bind", "reset_variables", "close")
"""The methods of a Session that a listener hears."""
_ndarray = np.ndarray
_TRIES = 8
"""The number of times that a copy looks up its tensor again if other threads move it meanwhile."""
_SHORT = 1 << 20
"""Up to this many bytes, copies take no turn: they take 20 microseconds at most."""
_MOST_KNOWN = 2048
"""The number of generations whose places are kept; when there are more, all are dropped at once."""


class Session:
    """One root subgraph of a Program, with memory of its own. If two threads change it at once, one of them is
    refused."""

    def __init__(
        self,
        program: Program,
        shared: Shared,
        root: int,
        strategy: str,
        options: int,
        cache_bytes: int,
        max_arena: int = 0,
    ) -> None:
        self.program = program
        self.state: State = new_state(program, shared, root, strategy, options, cache_bytes, max_arena)
        self.invoke_unchecked: Callable[[], None] = self.state.run()
        if program.store.cache is not None:
            self.invoke_unchecked = self._run_first
        self.root: int = root
        self._ask, self._requested_of = self.state.asking()
        self._prepare, self._prepared = self.state.preparing()
        self._cache = program.store.cache  # of packed weights
        self._unkept = self._cache.asking(program.graph(root)) if self._cache is not None else None
        self._arrays: dict[int, dict[int, Binding]] = {}  # what C may use of a call of `bind`, by number and tensor
        self._numbers = itertools.count(1)  # of calls of `bind`
        self._known: _Known = (-1, {}, {}, {})  # one tuple: threads see all of it or nothing
        self._all_known: dict[int, _Known] = {}
        self._generations = self.state.generations
        self._sequence = shared.sequence
        self._written: dict[int, int] = {}  # the sequence when a tensor was last set: while it is the same, nothing ran
        self._owners: dict[int, tuple[int, Shape, Any, Any]] = {}  # of views; kept for the next if runs move nothing
        self.snapshots: Any = None  # what engine/states.py knows of the variables
        self._subgraph: Subgraph | None = None
        self._kept: set[int] | None = None  # see `_keeps`
        self._keeps_inputs = bool(options & OPTIONS["keep_inputs"])

    @property
    def subgraph(self) -> Subgraph:
        """The subgraph as the model has it; an object that loading does without."""
        if self._subgraph is None:  # not a cached_property, whose __dict__ makes all attributes slower
            self._subgraph = self.program.model.subgraphs[self.root]
        return self._subgraph

    def _keeps(self, index: int) -> bool:
        """True for outputs, and for inputs that runs leave as they are."""
        if self._kept is None:
            self._kept = {*self.subgraph.outputs, *(self.subgraph.inputs if self._keeps_inputs else ())}
        return index in self._kept

    @property
    def ready(self) -> bool:
        """True if tensors are allocated for all requests, so that runs are served."""
        return bool(self._generations[0])

    @property
    def allocated(self) -> bool:
        """True if a plan is in use."""
        return bool(self._generations[1])

    @property
    def plan(self) -> Plan | None:
        """The plan in use: everything that depends on shapes alone. It never changes."""
        return self.state.plan

    @property
    def memory(self) -> Plan | None:
        """A copy of the plan in use with what runs have learnt: shapes and places of dynamic tensors."""
        return self.state.memory

    def listen(self, listener: Listener | None) -> None:
        """From now on, the listener makes the calls in CHANGES; None ends that. Without one they cost nothing more."""
        for name in CHANGES:
            vars(self).pop(name, None)
        self.invoke_unchecked = self.state.run()
        if listener is not None:
            for name in CHANGES:
                setattr(self, name, partial(listener.heard, self, name, getattr(self, name)))

    # Shapes ---------------------------------------------------------------------------------------------------------

    def shape(self, index: int) -> Shape:
        """A tensor's shape: the requested one, else the current one, else the file's."""
        requested = None if self.ready else self.state.requested(index)
        if requested is not None:
            return requested
        if not self.allocated:
            return self.subgraph.tensors[index].shape
        known = self._still_known(index)
        now = (known or self.state.place(index)).shape
        return self.subgraph.tensors[index].shape if now is None else now

    def ask(self, index: Any, size: Any) -> bool:
        """Requests another shape, from the next `allocate` on. False if it is refused, or does not consist of plain
        ints.

        Raises: ArenaError.
        """
        kind = type(size)
        if type(index) is not int or (kind is not tuple and kind is not list and kind is not _ndarray):
            return False
        ask = self._ask  # in a local: CPython 3.11 is slow at calling an attribute that is not a method
        try:
            rank = len(size)
            answer = ask(self._requested_of, index, packed_dims[rank](*size), rank)
        except (StructError, IndexError, OverflowError, TypeError):
            return False
        if answer >= 0:
            return True
        if answer < -1:
            message = "no memory for the requested shapes"
            raise errors.ArenaError(message)
        return False

    def resize(self, index: int, shape: Shape) -> None:
        """Requests another shape of plain ints. Raises: InputError."""
        if not self.ask(index, shape):
            raise mismatch.resize_mismatch(self.tensor(index), shape)

    def allocate(self) -> None:
        """Puts the plan for the requested shapes and buffers into use. If it is refused, the old ones stay.

        Raises: InputError if buffers overlap or a tensor cannot be bound; ShapeError, ArenaError, UnsupportedOpError;
        StateError while a view is held and the plan would change.
        """
        if self._generations[0]:  # as `ready`
            return
        if self._owners:
            self._owners.clear()
        prepare = self._prepare  # in a local, as in `ask`
        if failed := prepare(self._prepared):
            self.state.check(failed)
        if self._arrays:
            self._let_go()
        if self._unkept is not None and self._unkept():
            self._cache.keep(self.program.graph(self.root))

    def _run_first(self) -> None:
        """Runs, and keeps the weights that only a run can pack: those of nodes whose shapes depend on values."""
        self.invoke_unchecked = self.state.run()
        self.invoke_unchecked()
        if self._unkept is not None and self._unkept():
            self._cache.keep(self.program.graph(self.root))

    def plan_for(self, shapes: Mapping[int, Shape]) -> Plan:
        """The plan for the requested shapes, without using it; `shapes` take precedence."""
        return self.state.plan_for([n for i in sorted(shapes) for n in (i, len(shapes[i]), *shapes[i])])

    # Running ----------------------------------------------------------------------------------------------------------

    def invoke(self, cancel: Cancel | None = None) -> None:
        """Runs the plan in use by one call into C; ends early when the token is set. Raises: StateError,
        KernelError."""
        if cancel is None:
            self.invoke_unchecked()
        else:
            self.run_until(cancel)

    def run_on(self, arrays: dict[int, Any], cancel: Cancel | None = None) -> None:
        """Runs the plan in use on arrays that were lent. Raises: as `invoke`."""
        self.state.run_on(arrays, cancel)

    def run_until(self, cancel: Cancel) -> None:
        """Runs the plan in use; ends early when the token is set. Raises: as `invoke`."""
        self.state.run_until(cancel)

    def reset_variables(self) -> None:
        """Zeroes variable tensors. Raises: StateError."""
        self.state.reset_variables()

    def log(self, threads: int) -> None:
        """Logs that it was made."""
        logging = sys.modules.get("logging")  # without it nobody has configured logging
        if logging is None:
            return
        logger = logging.getLogger("minilite")
        if logger.isEnabledFor(logging.DEBUG):
            root, nodes, tensors = self.root, len(self.subgraph.nodes), len(self.subgraph.tensors)
            text = "subgraph %d: %d nodes, %d tensors, at most %d threads per run"
            logger.debug(text, root, nodes, tensors, threads)

    # Memory -----------------------------------------------------------------------------------------------------------

    def trim(self) -> None:
        """Gives back memory that the plan in use does not need. Raises: StateError while a view is held."""
        self._owners.clear()
        self.state.trim()
        self._all_known.clear()  # sizes that come back are laid out again, under other numbers

    def held(self) -> bool:
        """True if an array over the arena is alive. Raises: StateError."""
        self._owners.clear()
        return self.state.usage().views > 0

    def release_memory(self) -> None:
        """Frees the arena until the next `allocate`; the plan stays, `invoke` is refused meanwhile."""
        self._owners.clear()
        self.state.lent.clear()
        self.state.release_memory()

    def close(self) -> None:
        """Gives back all memory, until tensors are allocated again. Raises: StateError while a view is held."""
        self.trim()
        self.release_memory()

    def bind(self, arrays: Mapping[int, Array | None]) -> None:
        """Binds the caller's arrays to tensors from the next `allocate` on; None ends it. Raises: InputError, after
        which nothing has changed."""
        self.state.own_lent()  # values stay where only buffers change
        kept: dict[int, Binding] = {}
        for index, array in arrays.items():
            tensor = self.program.lowered.operands.tensor(self.root, self.tensor(index).index)
            offset = self.program.lowered.lowering.tensor(self.root, index).offline_offset
            if array is not None:
                kept[index] = binding.bindable(self.subgraph, tensor, array, offset)
        for number in self._numbers:
            if kept:
                self._arrays[number] = kept  # before C knows of them
            rows = [(b.address, b.array.nbytes, number, index) for index, b in kept.items()]
            rows += [(0, -1, number, index) for index in arrays if index not in kept]
            if self.state.bind(rows):
                return

    def _let_go(self) -> None:
        """Forgets arrays that C does not use any more."""
        for number in tuple(self._arrays):
            if not self.state.holds(number):
                self._arrays.pop(number, None)

    def bound_arrays(self) -> dict[int, Array]:
        """The arrays that are requested, by tensor."""
        found = {}
        for number, call in tuple(self._arrays.items()):
            for index, bound in call.items():
                if self.state.requested_buffer(index) == number:
                    found[index] = bound.array
        return found

    # Tensors ----------------------------------------------------------------------------------------------------------

    def tensor(self, index: int) -> Tensor:
        """The Model's tensor of that number. Raises: InputError."""
        return checked_tensor(self.subgraph, index)

    def _place(self, index: int) -> Place:
        """Where the tensor lies now. Raises: InputError, StateError."""
        known, layout = self._known, self._generations[0]
        if known[0] != layout:
            known = self._know()
        if not layout:  # as `ready`, which is one more call
            self._check_shape_in_force(index)
        place = self._still_known(index)
        if place is None:
            place = self._look(index)
            if place.layout == known[0]:  # another thread may have resized meanwhile
                known[1][index] = place
                if self._is_small(index, place):
                    memory, dtype, shape = self.state.buffer(place), place.dtype, place.array_shape
                    computed = index not in self.subgraph.inputs
                    known[2][index] = copier(_ndarray(shape, dtype, memory), computed=computed), memory, dtype, shape
        return place

    def _still_known(self, index: int) -> Place | None:
        """The place found by an earlier lookup, if it is still valid."""
        layout, places, _, _ = self._known
        place = places.get(index) if layout == self._generations[0] else None
        gone = place is not None and place.moves and place.generation != self._generations[1]
        return None if gone else place

    def _know(self) -> tuple[int, _Places, _Small, _Lendable]:
        """The places known for the current generation; those of other generations are not valid."""
        if len(self._all_known) >= _MOST_KNOWN:
            self._all_known.clear()
        now = self._generations[0]
        self._known = self._all_known.setdefault(now, (now, {}, {}, {}))
        return self._known

    def _forget_place(self, index: int) -> None:
        self._known[1].pop(index, None)
        self._known[2].pop(index, None)

    def _check_shape_in_force(self, index: int) -> None:
        requested = self.state.requested(index) if self.allocated else None
        if requested is not None:
            raise mismatch.not_allocated(self.tensor(index), requested)

    def _look(self, index: int) -> Place:
        tensor = self.tensor(index)
        for _ in range(_TRIES):
            place = self.state.place(index) if self.allocated else None
            if place is not None and place.lendable and not place.address and self.ready:
                self.state.own(index)
                continue
            if place is None or not place.buffer:
                return completed(tensor, place)
            call = self._arrays.get(place.buffer)
            if call is not None:  # no other thread has bound another array meanwhile
                place.bound = call[index].array
                return completed(tensor, place)
        raise errors.StateError(MOVES, tensors=[tensor.name])

    def _is_small(self, index: int, place: Place) -> bool:
        """True if the tensor is copied without a turn."""
        kept = place.storage in ("arena", "input") and not place.lendable  # C has to know of values that were lent
        few = kept and not place.moves and 0 < place.bytes <= _SHORT and place.encoded is None
        return few and LOCKED and self._keeps(index) and not self.state.needs_turns(index)

    # Small tensors are copied without a turn, out of and into memory that stays mapped. The sequence tells whether a
    # call of another thread came in between; it is odd during such a call. Copies keep the GIL, except for larger
    # outputs. Where Python runs without the GIL, all copies take a turn.

    def get(self, index: int, into: Array | None = None) -> Array:
        """A copy of a tensor's values, in `into` if that fits. Raises: InputError, StateError."""
        sequence, known = self._sequence[0], self._known  # places are looked up after the sequence
        if known[0] != self._generations[0]:
            known = self._know()
        small = known[2].get(index)
        if small is not None and into is None and not sequence & 1:
            make, memory, dtype, shape = small
            copy = make() if make is not None else _ndarray(shape, dtype, bytearray(memory))
            if self._sequence[0] == sequence:
                return copy
        for _ in range(_TRIES):
            place = self._place(index)
            if not self._keeps(index) and self._written.get(index) != self._sequence[0]:
                self._check_whole(index)
            if place.encoded is not None:
                raw = np.empty(place.bytes, np.uint8)
                if self.state.read(index, place, raw):
                    return decoded_values(self.tensor(index), raw, place)
            else:
                fits = into is not None and place.fits(into) and into.flags.c_contiguous
                array = into if fits and into is not None else np.empty(place.array_shape, place.dtype)
                if self.state.read(index, place, array):
                    return array
            self._forget_place(index)
        raise errors.StateError(MOVES, tensors=[self.tensor(index).name])

    def _as_run(self, index: int, place: Place) -> Tensor:
        """The tensor with the type that it has in runs: some outputs get the type of their input, whatever the file
        says."""
        tensor, kind = self.tensor(index), place.type
        return tensor if tensor.type == kind else tensor._replace(type=TensorType(kind))

    def _check_whole(self, index: int) -> None:
        """Refuses tensors that another tensor has overwritten. Raises: StateError."""
        node = self.state.overwriter(index)
        if node >= 0:
            raise mismatch.overwritten(self.tensor(index), f"node {node} ({self.subgraph.nodes[node].op})")

    def set(self, index: int, value: Any, lent: dict[int, Any] | None = None) -> None:
        """Copies values into a tensor, or puts them into `lent` if `run_on` may read the array in place. Raises:
        InputError, StateError, ArenaError."""
        sequence, known, layout = self._sequence[0], self._known, self._generations[0]
        if known[0] != layout:
            known = self._know()
        small = known[2].get(index)
        if small is not None and type(value) is _ndarray and not sequence & 1:
            _, memory, dtype, shape = small
            if value.dtype is dtype and value.shape == shape:
                try:
                    memory[:] = value
                except ValueError:  # it is not contiguous
                    sequence = 0
                if self._sequence[0] == sequence:
                    return
        if not layout:
            message = "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first"
            raise errors.StateError(message, tensors=[self.tensor(index).name])
        if lent is not None:
            buffer = self._buffer_to_lend(index, value)
            if buffer is not None:
                lent[index] = buffer
                return
        for _ in range(_TRIES):
            place = self._place(index)
            plain = type(value) is np.ndarray and place.encoded is None
            array = value if plain else mismatch.as_array(self._as_run(index, place), value)
            if not place.fits(array) and place.type == TensorType.BFLOAT16:
                array = public_bits(array, TensorType.BFLOAT16)
            if not place.writable or not place.fits(array):
                tensor = self._as_run(index, place)
                raise mismatch.mismatch(tensor, value, array, place)
            if place.encoded is not None:
                array = mismatch.encode(self._as_run(index, place), array)
            elif not array.flags.c_contiguous:
                array = np.ascontiguousarray(array)
            write = self.state.write_heap if place.encoded == TensorType.STRING else self.state.write
            if write(index, place, array):
                self._written[index] = self._sequence[0]
                self.state.lent.pop(index, None)
                return
            self.state.lent.pop(index, None)  # its old value is not needed
            self._forget_place(index)
        raise errors.StateError(MOVES, tensors=[self.tensor(index).name])

    def _buffer_to_lend(self, index: int, array: Array) -> Any:
        """The array as a buffer, if a run may read it in place of the tensor; else None.

        Only memory that numpy owns is lent: what lies in a mapping, or belongs to another library, may be closed or
        written again once the run is over."""
        known = self._known
        if index not in known[3]:
            known[3][index] = self._find_lendable(index)
        wanted = known[3][index]
        if wanted is None or array.dtype is not wanted[0] or array.shape != wanted[1]:
            return None
        flags, base = array.flags, array.base
        while type(base) is _ndarray:
            base = base.base
        return buffer_of(array) if base is None and flags.c_contiguous and flags.aligned else None

    def _find_lendable(self, index: int) -> tuple[Any, Shape] | None:
        place = self.state.place(index)
        if not place.lendable or place.shape is None:
            return None
        return public_type(TensorType(place.type)), place.shape

    def view(self, index: int) -> Callable[[], Array]:
        """A function that returns a live view of a tensor; while such an array lives, memory does not move.

        For strings, and for elements of less than a byte, it returns copies.
        """
        if index not in self._owners:
            self.tensor(index)

        def live() -> Array:
            owner = self._owners.get(index)
            if owner is not None and owner[0] == self._generations[0]:
                return _ndarray(owner[1], owner[2], owner[3])
            return self._first_view(index)

        return live

    def _first_view(self, index: int) -> Array:
        tensor = self.tensor(index)
        if tensor.data is not None:
            plain = tensor.type not in ENCODED
            return public_bits(tensor.data, tensor.type) if plain else values.constant_values(tensor)
        place = self._place(index)
        if place.encoded is not None:
            return self.get(index)
        if place.bound is not None:
            flat: Array = place.bound.reshape(-1)
            return flat[: place.bytes // flat.itemsize].reshape(place.array_shape)
        return self._pinned(index)

    def _pinned(self, index: int) -> Array:
        """An array over the tensor's memory. Raises: StateError."""
        for _ in range(_TRIES):
            place = self._look(index)
            memory = self.state.pinned_buffer(index, place)
            if memory is not None:
                array: Array = _ndarray(place.array_shape, place.dtype, memory)
                array.flags.writeable = place.writable
                if place.writable and place.settled and not place.shared:
                    self._owners[index] = place.generation, place.array_shape, place.dtype, memory
                return array
        raise errors.StateError(MOVES, tensors=[self.tensor(index).name])
