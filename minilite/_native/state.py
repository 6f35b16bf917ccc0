"""Shared and State: own an ml_interpreter and its ml_states: memory, plans, runs, values in and out."""

from __future__ import annotations

import struct
from threading import get_ident
from typing import TYPE_CHECKING, Any

from minilite import errors
from minilite._core import ffi, lib
from minilite._native import owned
from minilite._native.hooks import HOOKS
from minilite._native.status import BUSY, MAX_RANK, STORAGES, fields_of, fresh_error, raise_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minilite._native.cancel import Cancel
    from minilite._native.graph import Graph
    from minilite._native.hooks import Hooks
    from minilite._native.plan import Plan
    from minilite._native.usage import Usage
    from minilite._native.workspace import Workspace

Array = Any
Shape = tuple[int, ...]
_BINDING = fields_of("ml_binding", "data bytes number tensor")
packed_dims = tuple(struct.Struct(f"@{rank}i").pack for rank in range(MAX_RANK + 1))
"""Packs dimensions for C, by rank. Raises: struct.error for values outside int32."""
_COUNTERS = tuple(name for name, _ in ffi.typeof("ml_counters").fields)


def debug_build() -> bool:
    """True if runs overwrite every tensor after its last reader (the core was built with ML_DEBUG)."""
    return bool(lib.ml_debug_build())


class Place:
    """Where a tensor is now, and which array fits it. Valid as long as the state's layout number, or its generation if
    `moves`, does not change."""

    __slots__ = (
        "address", "array_shape", "bound", "buffer", "bytes", "dtype", "encoded", "generation", "layout", "lendable", "moves",
        "settled", "shape", "shared", "storage", "type", "writable",
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
        """0 = it has no memory."""
        self.layout: int = now.layout
        """The layout number when it was looked up."""
        self.settled: bool = bool(now.settled)
        """Runs change no shapes, so they move nothing."""
        self.moves: bool = bool(now.moves)
        """Runs may change this tensor's shape and place."""
        self.lendable: bool = bool(now.lendable)
        """Runs may read it in an array of the caller."""
        self.shared: bool = bool(now.shared)
        """True if it lies in a workspace, which may have the values of another interpreter."""
        self.buffer: int = now.buffer
        """The number of the buffer that it is bound to; 0: of none."""
        self.bound: Array | None = None
        """The array that it is bound to."""
        self.array_shape: Shape = ()
        """The shape of the array that fits it: `shape`, except for sparse constants. engine/place.py fills in this
        field and those below."""
        self.dtype: Any = None
        """The dtype of the array that fits it."""
        self.writable: bool = False
        self.encoded: int | None = None
        """The type's code, if an array of values has other bytes than the tensor: strings, elements of less than a
        byte."""

    def fits(self, array: Array) -> bool:
        """True if the array has the tensor's type, in this machine's byte order, and its shape."""
        return bool(array.dtype == self.dtype and array.shape == self.array_shape and array.dtype.isnative)


def _numbers(address: Any, count: int) -> memoryview:
    """Numbers in C's memory, in the form that Python reads fastest; valid as long as that memory."""
    return memoryview(ffi.buffer(address, 8 * count)).cast("Q")


def buffer_of(array: Array) -> Any:
    """The bytes of a C-contiguous array, which it keeps alive."""
    return ffi.from_buffer(array)


def _token(cancel: Cancel) -> Any:
    """C's token of a Cancel. Raises: InputTypeError."""
    from minilite._native.cancel import Cancel  # already imported, if the argument is right

    if not isinstance(cancel, Cancel):
        message = f"cancel is of type {type(cancel).__name__}, must be a minilite.Cancel"
        raise errors.InputTypeError(message)
    return cancel.pointer


class Shared:
    """Owns an ml_interpreter: what all signatures of one interpreter share."""

    def __init__(self, resources: int, subgraphs: int, max_bytes: int = 0, max_iterations: int = 0) -> None:
        """`max_bytes` limits all tensors together, `max_iterations` each WHILE; 0 = no limit."""
        self._cell = owned.empty("ml_interpreter **", lib.ml_interpreter_end)
        error = fresh_error()
        if lib.ml_interpreter_new(resources, subgraphs, max_bytes, max_iterations, self._cell, error):
            raise_error(error, None)
        self.pointer: Any = self._cell[0]
        self.resources: int = resources
        self.workspace: Workspace | None = None
        """The memory that its states use in turn with those of other interpreters."""
        self.sequence: Any = _numbers(lib.ml_interpreter_sequence(self.pointer), 1)

    def share(self, workspace: Workspace) -> None:
        """Lets states, of which there are none yet, use the workspace's memory."""
        lib.ml_interpreter_share(self.pointer, workspace.pointer)
        self.workspace = workspace

    def cancel(self) -> None:
        """Stops the current run at its next node or block; any thread may call it."""
        lib.ml_interpreter_cancel(self.pointer)

    def reset_resources(self) -> None:
        """Forgets resource variables, and lets CALL_ONCE run again. Raises: StateError."""
        if lib.ml_interpreter_reset_resources(self.pointer):
            raise errors.StateError(BUSY)

    def set_threads(self, threads: int) -> None:
        """Sets how many threads runs may use, the caller's included. Raises: StateError."""
        if lib.ml_interpreter_set_threads(self.pointer, threads):
            raise errors.StateError(BUSY)


class State:
    """Owns an ml_state: the memory and the plans of one signature in use."""

    def __init__(
        self,
        graph: Graph,
        shared: Shared,
        strategy: str,
        options: int,
        cache_bytes: int,
        max_arena: int,
        hooks: Hooks,
    ) -> None:
        """`cache_bytes` limits kept plans, `max_arena` the arena's bytes, 0 = no limit."""
        self._graph = graph
        self._hooks = hooks
        self._handle = ffi.new_handle(hooks)
        self._cell = owned.empty("ml_state **", lib.ml_state_end)
        hooks_table = ffi.new("ml_hooks *", HOOKS)
        hooks_table.owner = self._handle
        error = fresh_error()
        if lib.ml_state_new(
            graph.family,
            shared.pointer,
            strategy.encode(),
            options,
            cache_bytes,
            max_arena,
            hooks_table,
            self._cell,
            error,
        ):
            raise_error(error, graph.names)
        self.pointer: Any = self._cell[0]
        self.generations: Any = _numbers(lib.ml_state_generation(self.pointer), 2)
        self.lent: dict[int, Any] = {}
        """The arrays that inputs were read in by the last run, by tensor, as buffers: they have these inputs' values
        until C has memory for them."""

    def _fail(self, status: int, error: Any) -> None:
        """Raises the exception of a failed call: that of a hook, else one for its ml_error, which belongs to this call
        alone."""
        if status == lib.ML_BUSY:
            raise errors.StateError(BUSY)
        # An interrupt may have kept an earlier call from taking its exception out.
        exception = self._hooks.exceptions.pop(get_ident(), None)
        if exception is not None and status == lib.ML_PYTHON_ERROR:
            try:
                raise exception
            finally:
                del exception  # its traceback refers to this frame: the cycle would keep the whole interpreter alive
        raise_error(error, self._graph.names)

    def run(self) -> Callable[[], None]:
        """A function that runs the plan in use by one call into C."""
        run, pointer, again = lib.ml_state_run, self.pointer, self._again

        def invoke() -> None:
            if failed := run(pointer):
                again(failed, run, pointer)

        return invoke

    def run_until(self, cancel: Cancel) -> None:
        """Runs the plan in use; ends early when the token is set. Raises: InputTypeError, KernelError."""
        arguments = self.pointer, _token(cancel)
        if failed := lib.ml_state_run_until(*arguments):
            self._again(failed, lib.ml_state_run_until, *arguments)

    def run_on(self, arrays: dict[int, Any], cancel: Cancel | None) -> None:
        """Runs the plan in use on arrays of the caller, given as buffers by the inputs that are read in them; the
        arrays are kept until these inputs have other values. Raises: as `run_until`."""
        rows = ffi.new("ml_binding[]", [(data, len(data), 0, index) for index, data in arrays.items()])
        arguments = self.pointer, rows, len(rows), ffi.NULL if cancel is None else _token(cancel)
        before, self.lent = self.lent, arrays
        if failed := lib.ml_state_run_on(*arguments):
            if ffi.cast("ml_error *", failed).status in (lib.ML_BUSY, lib.ML_NOT_READY):
                self.lent = before  # it did not begin
            self._again(failed, lib.ml_state_run_on, *arguments)

    def _again(self, failed: int, run: Callable[..., int], *arguments: Any) -> None:
        """Gives lent inputs memory and runs again, if a run failed for that; otherwise raises its error."""
        while failed:
            if not self.lent or ffi.cast("ml_error *", failed).status != lib.ML_LENT:
                self.check(failed)
            lib.ml_error_free(ffi.cast("ml_error *", failed))
            self.own_lent()
            failed = run(*arguments)

    def own(self, tensor: int) -> None:
        """Gives an input outside the arena memory of its own, and its value if it is lent. Raises: StateError,
        ArenaError."""
        self._call(lib.ml_state_own_input, tensor)
        array = self.lent.pop(tensor, None)
        if array is not None:
            lib.ml_state_write(self.pointer, tensor, self.place(tensor).generation, array, len(array))

    def own_lent(self) -> None:
        """Gives all lent inputs memory of their own. Raises: as `own`."""
        for tensor in tuple(self.lent):
            self.own(tensor)

    def check(self, address: int) -> None:
        """Raises the error of a failed call."""
        error = ffi.gc(ffi.cast("ml_error *", address), lib.ml_error_free)
        self._fail(error.status, error)

    def _call(self, function: Callable[..., int], *arguments: Any) -> None:
        error = fresh_error()
        if status := function(self.pointer, *arguments, error):
            self._fail(status, error)

    def asking(self) -> tuple[Callable[[Any, int, bytes, int], int], Any]:
        """A function that requests a shape for a tensor from the next `prepare` on, and its first argument; further
        arguments are number, `packed_dims` and rank. They are separate because a wrapper would cost a tenth of the
        microsecond that a resize takes.

        It returns 1 if the shape differs from the one last requested, 0 if it is the same, -1 if it is refused, -2
        without memory.
        """
        return lib.ml_state_request, self.pointer

    def requested(self, tensor: int) -> Shape | None:
        """The shape requested since the last successful prepare; else None."""
        shape = ffi.new("ml_shape *")
        return tuple(shape.dims[0 : shape.rank]) if lib.ml_state_requested(self.pointer, tensor, shape) else None

    def bind(self, rows: Sequence[tuple[int, int, int, int]]) -> bool:
        """Requests buffers from the next `prepare` on, each given as (address, bytes, number, tensor); -1 bytes end a
        binding. Numbers ascend from call to call; False if they are not higher than those of all earlier calls. The
        caller keeps a buffer alive while C `holds` its number. Raises: ArenaError."""
        packed = ffi.new("ml_binding[]", len(rows) or 1)
        ffi.memmove(packed, b"".join(_BINDING.pack(*row) for row in rows), len(rows) * _BINDING.size)
        answer = lib.ml_state_bind(self.pointer, packed, len(rows))
        if answer == lib.ML_REQUEST_NO_MEMORY:
            message = "no memory for the bound tensors"
            raise errors.ArenaError(message)
        return bool(answer != lib.ML_REQUEST_WRONG)

    def holds(self, number: int) -> bool:
        """True if C may use a buffer of that number, now or later."""
        return bool(lib.ml_state_holds(self.pointer, number))

    def requested_buffer(self, tensor: int) -> int:
        """The number of the buffer that is requested for a tensor; 0 if none is."""
        return int(lib.ml_state_requested_buffer(self.pointer, tensor))

    def preparing(self) -> tuple[Callable[[Any], int], Any]:
        """A function that puts the plan for the requested shapes and buffers into use by one call into C, and its
        argument. Its result is for `check`.

        Variable tensors become zero, unless the plan stays the same and no shape was requested.
        """
        return lib.ml_state_prepare, self.pointer

    def _plan(self, function: Callable[..., int], *arguments: Any) -> Plan | None:
        from minilite._native.plan import Plan

        cell = owned.empty("ml_plan **", lib.ml_plan_end)
        self._call(function, *arguments, cell)
        return Plan(cell, self._graph) if cell[0] else None

    def plan_for(self, rows: Sequence[int]) -> Plan:
        """The plan for the requested shapes, without using it; rows of [tensor, rank, dims...] by ascending tensor take
        precedence."""
        plan = self._plan(lib.ml_state_plan_for, ffi.new("int32_t[]", rows or 1), len(rows))
        assert plan is not None
        return plan

    @property
    def plan(self) -> Plan | None:
        """The plan in use."""
        return self._plan(lib.ml_state_plan)

    @property
    def memory(self) -> Plan | None:
        """A copy of the residence in use: the plan with what runs have learnt."""
        return self._plan(lib.ml_state_memory)

    def buffer(self, place: Place) -> Any:
        """A tensor's bytes as a buffer; valid until `generation` changes, readable as long as addresses stay mapped."""
        return ffi.buffer(ffi.cast("char *", place.address), place.bytes)

    def pinned_buffer(self, tensor: int, place: Place) -> Any:
        """A tensor's bytes as a buffer; None if it is no longer at `place`. While the buffer, or an array over it,
        lives, memory neither moves nor is freed, not even with the state. Raises: StateError."""
        pin = owned.empty("ml_pin *", lib.ml_pin_end)
        status = lib.ml_state_pin(self.pointer, tensor, place.generation, place.bytes, pin)
        # Folded values may lie in the file, which the state keeps.
        return None if not self._done(status, tensor) else owned.buffer((pin, self), place.address, place.bytes)

    def trim(self) -> None:
        """Gives back memory that the plan in use does not need."""
        self._call(lib.ml_state_trim)

    def release_memory(self) -> None:
        """Frees the arena until the next `prepare`; the plan stays."""
        self._call(lib.ml_state_release_memory)

    def reset_variables(self) -> None:
        """Sets variable tensors to zero."""
        self._call(lib.ml_state_reset_variables)

    @property
    def generation(self) -> int:
        """A number that changes whenever a pointer or a shape changes."""
        return int(self.generations[1])

    def usage(self) -> Usage:
        """The bytes that it takes now. Raises: StateError."""
        from minilite._native.usage import usage_of

        u = ffi.new("ml_usage *")
        if lib.ml_state_get_usage(self.pointer, u):
            raise errors.StateError(BUSY)
        return usage_of(u)

    def needs_turns(self, tensor: int) -> bool:
        """False if the tensor's address can be read and written as long as the state lives. Raises: StateError."""
        answer = ffi.new("int32_t *")
        if lib.ml_state_needs_turns(self.pointer, tensor, answer):
            raise errors.StateError(BUSY)
        return bool(answer[0])

    def counters(self) -> dict[str, int]:
        """The counters since the interpreter was made. Raises: StateError."""
        c = ffi.new("ml_counters *")
        if lib.ml_state_get_counters(self.pointer, c):
            raise errors.StateError(BUSY)
        from minilite._native.usage import Counters

        return Counters({name: int(getattr(c, name)) for name in _COUNTERS})

    # Values -----------------------------------------------------------------------------------------------------------

    def place(self, tensor: int) -> Place:
        """Where a tensor of the main frame lies now. Raises: StateError."""
        now = ffi.new("ml_place_now *")
        self._call(lib.ml_state_place, tensor, now)
        return Place(now)

    def overwriter(self, tensor: int) -> int:
        """The number, in the file, of the first node that overwrites a tensor after its last reader; -1 if none
        does."""
        node = ffi.new("int32_t *")
        self._call(lib.ml_state_overwriter, tensor, node)
        return int(node[0])

    def read(self, tensor: int, place: Place, target: Array) -> bool:
        """Copies a tensor's bytes into an array of the same size; False if it is no longer at `place`. Raises:
        StateError."""
        data = ffi.from_buffer(target, require_writable=True)
        return self._done(lib.ml_state_read(self.pointer, tensor, place.generation, data, len(data)), tensor)

    def write(self, tensor: int, place: Place, source: Array) -> bool:
        """Copies a C-contiguous array of the same size into a tensor; False if it is no longer at `place`. Raises:
        StateError."""
        data = ffi.from_buffer(source)
        return self._done(lib.ml_state_write(self.pointer, tensor, place.generation, data, len(data)), tensor)

    def _done(self, status: int, tensor: int) -> bool:
        """True if a copy was made, False if the tensor has moved. Raises: StateError."""
        if status == lib.ML_BUSY:
            raise errors.StateError(BUSY)
        if status == lib.ML_SHARED:
            message = (
                f"tensor {tensor} has no values: the workspace has those of another interpreter, or of none: run this "
                "interpreter again"
            )
            raise errors.StateError(message)
        return not status

    def write_heap(self, tensor: int, place: Place, value: Array) -> bool:
        """Sets the bytes of a tensor of variable size; False if it is no longer at `place`. Raises: StateError,
        ArenaError."""
        error = fresh_error()
        data = ffi.from_buffer(value)
        status = lib.ml_state_write_heap(self.pointer, tensor, place.generation, data, value.nbytes, error)
        if status not in (lib.ML_OK, lib.ML_NOT_READY):
            self._fail(status, error)
        return not status
