"""Owning an ml_interpreter and its ml_states: memory, plans in force, runs, values in and out."""

from __future__ import annotations

import struct
from _thread import get_ident  # threading takes long to import
from typing import TYPE_CHECKING, Any

from minilite import errors
from minilite._core import ffi, lib
from minilite._native.hooks import HOOKS
from minilite._native.status import BUSY, MAX_RANK, STORAGES, fresh_error, raise_error
from minilite.late import Later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from minilite._native import plan as plans
    from minilite._native import usage as usages
    from minilite._native.cancel import Cancel
    from minilite._native.graph import Graph
    from minilite._native.hooks import Hooks
else:
    plans = Later("minilite._native.plan")
    usages = Later("minilite._native.usage")

Array = Any
Shape = tuple[int, ...]
Kept: TypeAlias = "tuple[dict[int, tuple[Shape, int, bytes]], list[int]]"
"""Values of resources (shape, type, bytes) by number, and the subgraphs that CALL_ONCE has run."""
_BINDING = struct.Struct("@Pqi4x")
packed_dims = tuple(struct.Struct(f"@{rank}i").pack for rank in range(MAX_RANK + 1))
"""By rank: dimensions as C takes them. Raises: struct.error for what is no int32."""
_COUNTERS = (
    "invokes", "plans", "plan_hits", "nodes_prepared", "capacity_misses", "replans", "arena_moves", "resolves",
    "rebinds", "plans_improved", "plans_evicted", "given_back", "bytes_copied", "page_faults",
    "store_lookups", "runs_alone",
)  # fmt: skip


def debug_build() -> bool:
    """Whether runs overwrite every tensor that dies (the core was built with ML_DEBUG)."""
    return bool(lib.ml_debug_build())


BindingRows = tuple[Any, int]


def binding_rows(bound: Sequence[tuple[int, int, int]]) -> BindingRows:
    """Memory of the caller's that stands in for tensors, by (address, bytes, tensor), in C's form."""
    if not bound:
        return ffi.NULL, 0
    rows = ffi.new("ml_binding[]", len(bound))
    ffi.memmove(rows, b"".join(map(_BINDING.pack, *zip(*bound, strict=True))), len(bound) * _BINDING.size)
    return rows, len(bound)


class Place:
    """Where a tensor is now, and what array fits it: valid as long as the state's number is this one, of layouts or of
    generations (`moves`)."""

    __slots__ = (
        "address", "array_shape", "bytes", "dtype", "encoded", "generation", "layout", "moves", "settled", "shape",
        "storage", "type", "writable",
    )  # fmt: skip

    def __init__(self, now: Any) -> None:
        """From an ml_place_now."""
        tensor = now.tensor
        self.generation: int = now.generation
        self.shape: Shape | None = tuple(tensor.shape.dims[0 : tensor.shape.rank]) if tensor.shaped else None
        self.type: int = tensor.type
        self.storage: str = STORAGES[tensor.storage]
        self.bytes: int = now.bytes
        self.address: int = int(ffi.cast("uintptr_t", now.data))
        """0: it has no memory."""
        self.layout: int = now.layout
        """The number, of places that runs leave alone, at which it was looked up."""
        self.settled: bool = bool(now.settled)
        """Runs change no shape at all, so they move nothing."""
        self.moves: bool = bool(now.moves)
        """Runs may change this tensor's shape and place."""
        self.array_shape: Shape = ()
        """Of the array that fits it: `shape`, but for sparse constants. engine/place.py fills in this and what
        follows."""
        self.dtype: Any = None
        """Of the array that fits it."""
        self.writable: bool = False
        self.encoded: int | None = None
        """The type, where an array of values is not the tensor's bytes: strings, elements of less than a byte."""

    def fits(self, array: Array) -> bool:
        """Whether the array's values are of the tensor's type, in this machine's byte order, and of its shape."""
        return bool(array.dtype == self.dtype and array.shape == self.array_shape and array.dtype.isnative)


def _numbers(address: Any, count: int) -> memoryview:
    """C's numbers as Python reads them fastest; valid as long as what they are of."""
    return memoryview(ffi.buffer(address, 8 * count)).cast("Q")


class Shared:
    """Owns an ml_interpreter: what all signatures of one interpreter share."""

    def __init__(self, resources: int, subgraphs: int, max_bytes: int = 0, max_iterations: int = 0) -> None:
        """Tensors may take `max_bytes` in all, a WHILE make `max_iterations`; 0 stands for any."""
        pointer = lib.ml_interpreter_new(resources, subgraphs, max_bytes, max_iterations)
        if not pointer:
            message = f"no memory for {resources} resources"
            raise errors.ArenaError(message)
        self.pointer: Any = ffi.gc(pointer, lib.ml_interpreter_free)
        self._resources, self._subgraphs = resources, subgraphs
        self.sequence: Any = _numbers(lib.ml_interpreter_sequence(self.pointer), 1)

    def cancel(self) -> None:
        """Stops the run under way at its next node or block; any thread may call it."""
        lib.ml_interpreter_cancel(self.pointer)

    def reset_resources(self) -> None:
        """Forgets resource variables and what CALL_ONCE has run. Raises: StateError."""
        if lib.ml_interpreter_reset_resources(self.pointer):
            raise errors.StateError(BUSY)

    def kept(self) -> Kept:
        """What it keeps from run to run. Raises: StateError."""
        found, done = ffi.new("ml_resource *"), ffi.new("int32_t *")
        resources: dict[int, tuple[Shape, int, bytes]] = {}
        for number in range(self._resources):
            self._served(lib.ml_interpreter_resource(self.pointer, number, found, ffi.NULL, 0))
            if found.assigned:
                data = bytearray(found.bytes)
                self._served(lib.ml_interpreter_resource(self.pointer, number, found, ffi.from_buffer(data), len(data)))
                shape = tuple(found.shape.dims[0 : found.shape.rank])
                resources[number] = shape, int(found.type), bytes(data)
        called = []
        for subgraph in range(self._subgraphs):
            self._served(lib.ml_interpreter_called_once(self.pointer, subgraph, done, False))
            called += [subgraph] if done[0] else []
        return resources, called

    def keep(self, kept: Kept) -> None:
        """Takes over what another one of the same model keeps. Raises: StateError, ArenaError."""
        resources, called = kept
        for number, (shape, kind, data) in resources.items():
            error = fresh_error()
            value = {"shape": {"rank": len(shape), "dims": shape}, "type": kind, "bytes": len(data)}
            made = ffi.new("ml_resource *", value)
            if status := lib.ml_interpreter_set_resource(self.pointer, number, made, ffi.from_buffer(data), error):
                self._served(status)
                raise_error(error, None)
        for subgraph in called:
            self._served(lib.ml_interpreter_called_once(self.pointer, subgraph, ffi.new("int32_t *", 1), True))

    def _served(self, status: int) -> None:
        if status == lib.ML_BUSY:
            raise errors.StateError(BUSY)

    def set_threads(self, threads: int) -> None:
        """How many threads runs may use, the caller's included. Raises: StateError."""
        if lib.ml_interpreter_set_threads(self.pointer, threads):
            raise errors.StateError(BUSY)


class State:
    """Owns an ml_state: the memory and the plans of one signature in use."""

    def __init__(
        self, graph: Graph, shared: Shared, strategy: str, options: int, cache_bytes: int, hooks: Hooks
    ) -> None:
        self._graph = graph
        self._hooks = hooks
        self._handle = ffi.new_handle(hooks)
        out = ffi.new("ml_state **")
        hooks_table = ffi.new("ml_hooks *", HOOKS)
        hooks_table.owner = self._handle
        error = fresh_error()
        if lib.ml_state_new(
            graph.pointer, shared.pointer, strategy.encode(), options, cache_bytes, hooks_table, out, error
        ):
            raise_error(error, graph.names)
        self.pointer: Any = ffi.gc(out[0], lib.ml_state_free)
        self.generations: Any = _numbers(lib.ml_state_generation(self.pointer), 2)

    def _fail(self, status: int, error: Any) -> None:
        """Raises what a call left: the exception of a hook it called, else the error's class. The error is the call's
        own."""
        if status == lib.ML_BUSY:
            raise errors.StateError(BUSY)
        exception = self._hooks.exceptions.pop(get_ident(), None)
        if exception is not None:
            try:
                raise exception
            finally:
                del exception  # its traceback has this frame: a cycle would keep all of the interpreter
        raise_error(error, self._graph.names)

    def run(self) -> Callable[[], None]:
        """The steady path: a function that runs the plan in force, one call into C."""
        run, pointer, fail = lib.ml_state_run, self.pointer, self.check

        def invoke() -> None:
            if failed := run(pointer):
                fail(failed)

        return invoke

    def run_until(self, cancel: Cancel) -> None:
        """Runs the plan in force, until the token is set. Raises: InputTypeError, KernelError."""
        from minilite._native.cancel import Cancel  # whoever has one has imported it

        if not isinstance(cancel, Cancel):
            message = f"cancel is of type {type(cancel).__name__}, must be a minilite.Cancel"
            raise errors.InputTypeError(message)
        if failed := lib.ml_state_run_until(self.pointer, cancel.pointer):
            self.check(failed)

    def run_timed(self, nodes: int, turns: Iterable[object]) -> list[tuple[int, int, int, int]]:
        """Runs the plan in force once per turn. Gives every node's nanoseconds, times it ran, nanoseconds of work in
        more than one block, and such blocks, frame by frame, by position."""
        times = ffi.new("ml_node_time[]", nodes or 1)
        for _ in turns:
            if failed := lib.ml_state_run_timed(self.pointer, times):
                self.check(failed)
        return [(int(t.ns), int(t.runs), int(t.shared_ns), int(t.blocks)) for t in times[0:nodes]]

    def check(self, address: int) -> None:
        """Raises what a call left."""
        error = ffi.gc(ffi.cast("ml_error *", address), lib.ml_error_free)
        self._fail(error.status, error)

    def _call(self, function: Callable[..., int], *arguments: Any) -> None:
        error = fresh_error()
        if status := function(self.pointer, *arguments, error):
            self._fail(status, error)

    def asking(self) -> tuple[Callable[[Any, int, bytes, int], int], Any]:
        """A function that asks for a shape of a tensor, from the next `prepare` on: by number, `packed_dims` and rank;
        and what it takes first. Two, for a resize is a microsecond, of which one function around another is a tenth.

        Its answer: 1 if it is another shape than was asked for last, 0 if it is the same, -1 if it cannot be, -2
        without memory.
        """
        return lib.ml_state_request, self.pointer

    def requested(self, tensor: int) -> Shape | None:
        """The shape that was asked for since a plan was put in force."""
        shape = ffi.new("ml_shape *")
        return tuple(shape.dims[0 : shape.rank]) if lib.ml_state_requested(self.pointer, tensor, shape) else None

    def preparing(self, rows: BindingRows | None = None) -> tuple[Callable[[Any], int], Any]:
        """A function that puts the plan for what was asked for in force, and memory of the caller's (`binding_rows`) in
        the place of tensors: one call into C; and what it takes. Without rows memory that is in force stays so. Its
        answer is for `check`.

        The caller keeps that memory until it calls again without it and nothing is raised. Variable tensors are zeroed,
        unless the plan stays and no shape was asked for.
        """
        return lib.ml_state_prepare, ffi.new("ml_preparation *", (self.pointer, *(rows or (ffi.NULL, -1))))

    def _plan(self, function: Callable[..., int], *arguments: Any) -> plans.Plan | None:
        out = ffi.new("ml_plan **")
        self._call(function, *arguments, out)
        if not out[0]:
            return None

        return plans.Plan(out[0], self._graph)

    def plan_for(self, rows: Sequence[int]) -> plans.Plan:
        """The plan for what was asked for, but for rows of [tensor, rank, dims...] by ascending tensor; not put in
        force."""
        plan = self._plan(lib.ml_state_plan_for, ffi.new("int32_t[]", rows or 1), len(rows))
        assert plan is not None
        return plan

    @property
    def plan(self) -> plans.Plan | None:
        """The plan in force."""
        return self._plan(lib.ml_state_plan)

    @property
    def memory(self) -> plans.Plan | None:
        """A copy of the residence in force: the plan with what runs have learnt."""
        return self._plan(lib.ml_state_memory)

    def pin(self) -> None:
        """Counts one more view of the arena: while there are any, memory neither moves nor goes, not even with the
        state."""
        lib.ml_state_pin(self.pointer)

    def unpin(self, _: Any = None) -> None:
        """Counts one view less."""
        lib.ml_state_unpin(self.pointer)

    def buffer(self, place: Place) -> Any:
        """A tensor's bytes as a buffer; valid until `generation` changes, readable as long as addresses stay mapped."""
        return ffi.buffer(ffi.cast("char *", place.address), place.bytes)

    def pinned_buffer(self, place: Place) -> Any:
        """A tensor's bytes as a buffer. It takes over a pin, and keeps the memory, for as long as it or an array over
        it lives."""
        memory = ffi.gc(ffi.cast("char *", place.address), self.unpin)
        return ffi.buffer(memory, place.bytes)

    def trim(self) -> None:
        """Gives back memory that the plan in force does not need."""
        self._call(lib.ml_state_trim)

    def release_memory(self) -> None:
        """Frees the arena; the plan stays."""
        self._call(lib.ml_state_release_memory)

    def acquire_memory(self) -> None:
        """Takes the arena again for the plan in force."""
        self._call(lib.ml_state_acquire_memory)

    def reset_variables(self) -> None:
        """Zeroes variable tensors."""
        self._call(lib.ml_state_reset_variables)

    @property
    def generation(self) -> int:
        """Changes whenever a pointer or a shape does."""
        return int(self.generations[1])

    def usage(self) -> usages.Usage:
        """The bytes it takes now. Raises: StateError."""
        return usages.usage_of(self._usage())

    def stays_mapped(self) -> bool:
        """Whether the arena's addresses can be read and written as long as the state lives. Raises: StateError."""
        return bool(self._usage().stays_mapped)

    def _usage(self) -> Any:
        u = ffi.new("ml_usage *")
        if lib.ml_state_get_usage(self.pointer, u):
            raise errors.StateError(BUSY)
        return u

    def counters(self) -> dict[str, int]:
        """What was counted since the interpreter was made. Raises: StateError."""
        c = ffi.new("ml_counters *")
        if lib.ml_state_get_counters(self.pointer, c):
            raise errors.StateError(BUSY)
        return {name: int(getattr(c, name)) for name in _COUNTERS}

    # Values -----------------------------------------------------------------------------------------------------------

    def place(self, tensor: int) -> Place:
        """Where a tensor of the main frame lies now. Raises: StateError."""
        now = ffi.new("ml_place_now *")
        self._call(lib.ml_state_place, tensor, now)
        return Place(now)

    def overwriter(self, tensor: int) -> int:
        """The file's number of the first node that writes over a tensor once it is dead; -1 if it stays whole."""
        node = ffi.new("int32_t *")
        self._call(lib.ml_state_overwriter, tensor, node)
        return int(node[0])

    def read(self, tensor: int, place: Place, target: Array) -> bool:
        """Copies a tensor's bytes into an array of as many; False if it is no longer at `place`. Raises: StateError."""
        data = ffi.from_buffer(target, require_writable=True)
        status = lib.ml_state_read(self.pointer, tensor, place.generation, data, len(data))
        if status == lib.ML_BUSY:
            raise errors.StateError(BUSY)
        return not status

    def write(self, tensor: int, place: Place, source: Array) -> bool:
        """Copies a C-contiguous array of as many bytes into a tensor; False if it is no longer at `place`. Raises:
        StateError."""
        data = ffi.from_buffer(source)
        status = lib.ml_state_write(self.pointer, tensor, place.generation, data, len(data))
        if status == lib.ML_BUSY:
            raise errors.StateError(BUSY)
        return not status

    def write_heap(self, tensor: int, place: Place, value: Array) -> bool:
        """Gives a tensor of no fixed size its bytes; False if it is no longer at `place`. Raises: StateError,
        ArenaError."""
        error = fresh_error()
        data = ffi.from_buffer(value)
        status = lib.ml_state_write_heap(self.pointer, tensor, place.generation, data, value.nbytes, error)
        if status not in (lib.ML_OK, lib.ML_NOT_READY):
            self._fail(status, error)
        return not status
