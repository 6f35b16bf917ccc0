"""Owning an ml_state and looking into its ml_plans."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minilite._core import ffi, lib
from minilite._native.advice import BindAdvice, Outlook, advise_bind
from minilite._native.graph import Graph
from minilite._native.hooks import Hooks
from minilite._native.status import BUSY, NODE_STATUSES, STORAGES, fresh_error, raise_error
from minilite.errors import StateError

Array = Any
Shape = tuple[int, ...]
_BINDING = struct.Struct("@Pqi4x")


class TensorState(NamedTuple):
    """A tensor in a plan: its shape (None while unknown), element type's code, bytes, storage class and offset in its frame's region."""

    shape: Shape | None
    type: int
    bytes: int
    storage: str
    offset: int
    root: int
    dynamic: bool


class Plan:
    """Holds an ml_plan; keeps what it belongs to alive."""

    def __init__(self, pointer: Any, owner: Any) -> None:
        self._pointer = ffi.gc(pointer, lib.ml_plan_free)
        self._owner = owner

    def __repr__(self) -> str:
        return f"<Plan: arena {self.arena_bytes} bytes, lower bound {self.lower_bound}, {self.n_tensors} tensors>"

    def is_at(self, pointer: Any) -> bool:
        """Whether this is the plan at that address."""
        return bool(self._pointer == pointer)

    @property
    def arena_bytes(self) -> int:
        """The arena's high-water mark in bytes."""
        return int(lib.ml_plan_arena_bytes(self._pointer))

    @property
    def work_bytes(self) -> int:
        """Bytes of the work block beside the arena that small scratch is taken from: at most 64 KiB."""
        return int(lib.ml_plan_work_bytes(self._pointer))

    @property
    def n_tensors(self) -> int:
        """How many tensors the main frame has."""
        return int(self._owner.n_tensors)

    @property
    def lower_bound(self) -> int:
        """The largest sum of bytes that are live at once."""
        return int(lib.ml_plan_lower_bound(self._pointer))

    def frames(self) -> list[tuple[int, int, int]]:
        """(subgraph, calling frame, calling node) of every frame."""
        parent, node = ffi.new("int32_t *"), ffi.new("int32_t *")
        return [
            (int(lib.ml_plan_frame_subgraph(self._pointer, frame, parent, node)), int(parent[0]), int(node[0]))
            for frame in range(lib.ml_plan_frames(self._pointer))
        ]

    def tensor(self, index: int, frame: int = 0) -> TensorState:
        """What the plan says of one tensor."""
        t = lib.ml_plan_tensor(self._pointer, frame, index)
        shape = tuple(t.shape.dims[0 : t.shape.rank]) if t.shaped else None
        return TensorState(shape, t.type, t.bytes, STORAGES[t.storage], t.offset, t.root, bool(t.dynamic))

    def shape(self, index: int) -> Shape | None:
        """The shape of a tensor of the main frame, None while unknown."""
        t = lib.ml_plan_tensor(self._pointer, 0, index)
        return tuple(t.shape.dims[0 : t.shape.rank]) if t.shaped else None

    def node_status(self, node: int, frame: int = 0) -> str:
        """What becomes of the node at this position: waits, runs, folded, view."""
        return NODE_STATUSES[lib.ml_plan_node_status(self._pointer, frame, node)]

    def records(self, frame: int = 0) -> list[tuple[int, int, int, int, int]]:
        """Usage records of a frame: (tensor, size in bytes, first node, last node, offset), both ends inclusive."""
        room = lib.ml_plan_records(self._pointer, frame, ffi.NULL, 0)
        records = ffi.new("ml_record[]", room or 1)
        lib.ml_plan_records(self._pointer, frame, records, room)
        return [(r.tensor, r.size, r.first, r.last, r.offset) for r in records[0:room]]

    def without(self, tensors: Sequence[int]) -> Outlook:
        """What the arena would be if these tensors left it. Raises: ArenaError."""
        error, outlook = fresh_error(), ffi.new("ml_outlook *")
        numbers = ffi.new("int32_t[]", list(tensors) or 1)
        if lib.ml_plan_without(self._pointer, numbers, len(tensors), outlook, error):
            raise_error(error, None)
        return Outlook(outlook.arena_bytes, outlook.lower_bound, outlook.peaks)

    def advise_bind(self) -> list[BindAdvice]:
        """Which tensors, bound to buffers of the caller's, make the arena shrink: a few, one after the other.

        Greedy: each step takes the tensor (or all those that share one place) whose leaving lowers the most bytes live
        at once, or the number of nodes at which so many are. It ends once the arena is smaller, as a new plan by the same
        strategy shows; the list is empty when nothing helps, say because scratch memory alone makes the peak.
        """
        return advise_bind(self)


class State:
    """Owns an ml_state: one interpreter's memory and plans."""

    def __init__(self, graph: Graph, strategy: str, options: int, hooks: Hooks) -> None:
        self._graph = graph
        self._hooks = hooks
        self._handle = ffi.new_handle(hooks)
        self._error = fresh_error()
        table = {
            "owner": self._handle,
            "eval": lib.ml_hook_eval,
            "shape": lib.ml_hook_shape,
            "poll": lib.ml_hook_poll,
        }
        out = ffi.new("ml_state **")
        hooks_table = ffi.new("ml_hooks *", table)
        self._check(lib.ml_state_new(graph.pointer, strategy.encode(), options, hooks_table, out, self._error))
        self.pointer = ffi.gc(out[0], lib.ml_state_free)
        self._plan: Plan | None = None

    def _fail(self, status: int) -> None:
        """Raises what the last call left: the hook's own exception, else the error's class."""
        if status == lib.ML_BUSY:  # the error and the hooks' exception belong to the call that is running
            raise StateError(BUSY)
        error, self._error = self._error, fresh_error()
        exception, self._hooks.exception = self._hooks.exception, None
        if exception is not None:
            try:
                raise exception
            finally:
                del exception  # its traceback has this frame: a cycle would keep all of the interpreter
        raise_error(error, self._graph.names)

    def run(self) -> Callable[[], None]:
        """The steady path: a function that runs the plan in force, one call into C."""
        run, pointer = lib.ml_state_run, self.pointer

        def invoke() -> None:
            if status := run(pointer, self._error):
                self._fail(status)

        return invoke

    def _check(self, status: int) -> None:
        if status:
            self._fail(status)

    def prepare(self, spec: Sequence[int], bound: Sequence[tuple[int, int, int]] = ()) -> None:
        """Puts the plan for these rows of [tensor, rank, dims...] in force, and memory of the caller's,
        by (address, bytes, tensor), which the caller keeps until it calls again without it and nothing is raised.
        """
        rows: Any = ffi.NULL
        if bound:
            bindings = b"".join(map(_BINDING.pack, *zip(*bound, strict=True)))
            rows = ffi.cast("ml_binding *", ffi.from_buffer(bindings))
        words = ffi.new("int32_t[]", spec)
        self._check(lib.ml_state_prepare(self.pointer, words, len(spec), rows, len(bound), self._error))

    def plan_for(self, spec: Sequence[int]) -> Plan:
        """The plan for these rows, not put in force."""
        out = ffi.new("ml_plan **")
        self._check(lib.ml_state_plan_for(self.pointer, ffi.new("int32_t[]", spec), len(spec), out, self._error))
        return Plan(out[0], self._graph)

    @property
    def plan(self) -> Plan | None:
        """The plan in force."""
        pointer = lib.ml_state_plan(self.pointer)
        if pointer and not (self._plan and self._plan.is_at(pointer)):
            self._plan = Plan(lib.ml_plan_hold(pointer), self._graph)
        return self._plan

    def cancel(self) -> None:
        """Stops the run under way at its next node; any thread may call it."""
        lib.ml_state_cancel(self.pointer)

    def pin(self, pinned: bool) -> None:
        """Says whether views of the arena are alive."""
        lib.ml_state_pin(self.pointer, pinned)

    @property
    def running(self) -> bool:
        """Whether a call is under way."""
        return bool(lib.ml_state_is_running(self.pointer))

    def trim(self) -> None:
        """Gives back memory that the plan in force does not need."""
        self._check(lib.ml_state_trim(self.pointer, self._error))

    def release_memory(self) -> None:
        """Frees the arena; the plan stays."""
        self._check(lib.ml_state_release_memory(self.pointer, self._error))

    def acquire_memory(self) -> None:
        """Takes the arena again for the plan in force."""
        self._check(lib.ml_state_acquire_memory(self.pointer, self._error))

    def reset_variables(self) -> None:
        """Zeroes variable tensors."""
        self._check(lib.ml_state_reset_variables(self.pointer, self._error))

    def reset_resources(self) -> None:
        """Forgets resource variables and what CALL_ONCE has run."""
        self._check(lib.ml_state_reset_resources(self.pointer, self._error))

    @property
    def generation(self) -> int:
        """Changes whenever a pointer or a shape does."""
        return int(lib.ml_state_generation(self.pointer))

    @property
    def arena_capacity(self) -> int:
        """Bytes of memory the arena holds."""
        return int(lib.ml_state_arena_capacity(self.pointer))

    def counters(self) -> dict[str, int]:
        """What was counted since the interpreter was made."""
        c = lib.ml_state_counters(self.pointer)
        names = (
            "invokes", "plans", "plan_hits", "suffix_plans", "nodes_prepared", "arena_moves", "resolves",
            "rebinds",
            "plans_improved",
        )  # fmt: skip
        return {name: int(getattr(c, name)) for name in names}

    def address(self, tensor: int, frame: int = 0) -> int:
        """The address of a tensor's bytes, 0 when it has none."""
        return int(ffi.cast("uintptr_t", lib.ml_state_data(self.pointer, frame, tensor)))

    def array(self, tensor: int, shape: Shape, dtype: Any, nbytes: int, frame: int = 0) -> Array:
        """A writable array over a tensor's bytes; valid until `generation` changes."""
        if nbytes == 0:
            return np.zeros(shape, dtype)
        data = lib.ml_state_data(self.pointer, frame, tensor)
        return np.frombuffer(ffi.buffer(data, nbytes), dtype).reshape(shape)
