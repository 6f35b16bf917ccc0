"""Planner and Arena: own an ml_planner and an ml_arena."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minilite._core import ffi, lib
from minilite._native import owned
from minilite._native.status import OPTIONS, fresh_error, raise_error
from minilite.errors import ArenaError

MEMORY_NONE: int = lib.ML_MEMORY_NONE
MEMORY_ARENA: int = lib.ML_MEMORY_ARENA
MEMORY_PERSISTENT: int = lib.ML_MEMORY_PERSISTENT
FOREVER: int = lib.ML_FOREVER


class Planner:
    """Owns an ml_planner over a graph given as (inputs, outputs, flags) per node."""

    def __init__(
        self,
        n_tensors: int,
        nodes: Sequence[tuple[Sequence[int], Sequence[int], int]],
        inputs: Sequence[int],
        outputs: Sequence[int],
        strategy: str,
        options: dict[str, bool],
        alignment: int,
    ) -> None:
        self._keep: list[Any] = []
        table = ffi.new("ml_node_io[]", len(nodes) or 1)
        for row, (node_inputs, node_outputs, flags) in zip(table, nodes, strict=False):
            row.inputs, row.n_inputs = self._array(node_inputs), len(node_inputs)
            row.outputs, row.n_outputs = self._array(node_outputs), len(node_outputs)
            row.flags = flags
        self._name = ffi.new("char[]", strategy.encode())
        self._graph = ffi.new(
            "ml_planner_graph *",
            {
                "nodes": table,
                "inputs": self._array(inputs),
                "outputs": self._array(outputs),
                "n_nodes": len(nodes),
                "n_tensors": n_tensors,
                "n_inputs": len(inputs),
                "n_outputs": len(outputs),
            },
        )
        self._keep.append(table)
        self._error = fresh_error()
        self._check(lib.ml_planner_check(self._graph, alignment, self._error))
        bits = sum(OPTIONS[name] for name, on in options.items() if on)
        cell = owned.empty("ml_planner **", lib.ml_planner_end)
        self._check(lib.ml_planner_new(self._graph, self._name, bits, alignment, cell, self._error))
        self._cell = cell
        self._pointer = cell[0]
        self.count = n_tensors + len(nodes)

    def _array(self, numbers: Sequence[int]) -> Any:
        array = ffi.new("int32_t[]", list(numbers) or 1)
        self._keep.append(array)
        return array

    def _check(self, status: int) -> None:
        if status:
            error, self._error = self._error, fresh_error()
            raise_error(error, None)

    def set_tensor(self, tensor: int, nbytes: int, place: int) -> None:
        """Sets what Prepare knows about a tensor. Raises: InputError."""
        self._check(lib.ml_planner_set(self._pointer, tensor, nbytes, place, self._error))

    def bytes_of(self, tensor: int) -> int:
        """The bytes set last."""
        return int(lib.ml_planner_bytes(self._pointer)[tensor])

    def placed_bytes(self, tensor: int) -> int:
        """The bytes of its memory, those set last when it was placed; 0 while it is not."""
        return int(lib.ml_planner_placed(self._pointer)[tensor])

    def plan_allocations(self) -> None:
        """Finds lifetimes and sharing."""
        lib.ml_planner_plan_allocations(self._pointer)

    def execute_allocations(self, first: int, last: int) -> None:
        """Finds offsets for the tensors that nodes first..last (inclusive) allocate. Raises: InputError, StateError,
        ArenaError."""
        self._check(lib.ml_planner_execute_allocations(self._pointer, first, last, self._error))

    def reset_allocations(self) -> None:
        """Forgets every offset outside the persistent arena."""
        lib.ml_planner_reset_allocations(self._pointer)

    def reset_allocations_after(self, node: int) -> None:
        """Forgets the offsets of tensors allocated after `node`. Raises: InputError."""
        self._check(lib.ml_planner_reset_allocations_after(self._pointer, node, self._error))

    def deallocate_after(self, node: int) -> None:
        """Marks tensors allocated after `node`. Raises: InputError."""
        self._check(lib.ml_planner_deallocate_after(self._pointer, node, self._error))

    def resolve_deallocations(self) -> None:
        """Drops everything marked, in one pass."""
        lib.ml_planner_resolve_deallocations(self._pointer)

    def purge(self, node: int) -> None:
        """Drops the records of tensors whose last reader comes before `node`. Raises: InputError."""
        self._check(lib.ml_planner_purge_active(self._pointer, node, self._error))

    def offsets(self) -> list[int]:
        """Offsets by tensor; temporaries of node n are at n_tensors + n; -1 = not placed."""
        return list(lib.ml_planner_offsets(self._pointer)[0 : self.count])

    def roots(self) -> list[int]:
        """The tensor whose memory each tensor shares, or itself."""
        return list(lib.ml_planner_roots(self._pointer)[0 : self.count])

    def lifetimes(self) -> list[tuple[int, int]]:
        """The first and last node of each tensor, inclusive; FOREVER = never freed, -1 = never allocated."""
        first = lib.ml_planner_first_nodes(self._pointer)[0 : self.count]
        last = lib.ml_planner_last_nodes(self._pointer)[0 : self.count]
        return list(zip(first, last, strict=True))

    def high_water(self, place: int) -> int:
        """Bytes of an arena, rounded up to the alignment."""
        return int(lib.ml_planner_high_water(self._pointer, place))

    @property
    def lower_bound(self) -> int:
        """The largest sum of bytes live at once. Raises: ArenaError."""
        bound = int(lib.ml_planner_checked_bound(self._pointer))
        if bound < 0:
            message = f"no memory for the lower bound of {self.count} tensors"
            raise ArenaError(message)
        return bound

    @property
    def active(self) -> int:
        """The number of records that placing looks at."""
        return int(lib.ml_planner_active(self._pointer))

    def records(self) -> list[tuple[int, int, int, int, int]]:
        """(tensor, size in bytes, first node, last node, offset) of all placed tensors that do not share another's
        memory."""
        room = lib.ml_planner_records(self._pointer, ffi.NULL, 0)
        records = ffi.new("ml_record[]", room or 1)
        lib.ml_planner_records(self._pointer, records, room)
        return [(r.tensor, r.size, r.first, r.last, r.offset) for r in records[0:room]]


class Arena:
    """Owns an ml_arena: a growable block of memory."""

    def __init__(self) -> None:
        self._arena = owned.empty("ml_arena *", lib.ml_arena_release)

    def commit(self, nbytes: int, keep: int) -> bool:
        """Makes room and keeps the first `keep` bytes; returns whether the base moved. Raises: ArenaError."""
        moves = self._arena.moves
        error = fresh_error()
        if lib.ml_arena_commit(self._arena, nbytes, keep, error):
            raise_error(error, None)
        lib.ml_arena_clear(self._arena)  # nobody says when it is first read
        return bool(self._arena.moves != moves)

    def release(self) -> None:
        """Gives the memory back."""
        lib.ml_arena_release(self._arena)

    @property
    def base(self) -> int:
        """The address of its first byte, 0 while it holds none."""
        return int(ffi.cast("uintptr_t", self._arena.base))

    @property
    def capacity(self) -> int:
        """Bytes it holds."""
        return int(self._arena.capacity)

    def holds(self, offset: int, nbytes: int) -> bool:
        """True if bytes at an offset lie in the memory that it holds."""
        return 0 <= offset <= offset + nbytes <= int(self._arena.capacity)

    def buffer(self, offset: int, nbytes: int) -> Any:
        """A writable buffer over part of the arena; valid until a commit that moves it, or release."""
        return ffi.buffer(self._arena.base + offset, nbytes)
