"""Plan: reads an ml_plan: its tensors, nodes and memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite._core import ffi, lib
from minilite._native.advice import Outlook, advise_bind
from minilite._native.status import NODE_STATUSES, STORAGES, fresh_error, raise_error
from minilite.errors import ArenaError, InputError
from minilite.numeric import whole

if TYPE_CHECKING:
    from minilite._native.advice import BindAdvice

Shape = tuple[int, ...]


class TensorState(NamedTuple):
    """A tensor in a plan: its shape (None while unknown), element type's code, bytes, storage class and offset in its
    frame's region."""

    shape: Shape | None
    type: int
    bytes: int
    storage: str
    offset: int
    root: int
    dynamic: bool


def _range(count: int) -> str:
    """The numbers of `count` things, for messages."""
    return f"0 to {count - 1}" if count else "none"


class Plan:
    """Holds an ml_plan, and keeps alive what it depends on."""

    def __init__(self, cell: Any, owner: Any) -> None:
        """The cell, an "ml_plan **", frees the plan at its end."""
        self._cell = cell
        self._pointer = cell[0]
        self._owner = owner

    def __repr__(self) -> str:
        inputs = f", inputs {self.input_bytes} bytes" if self.input_bytes else ""
        return (
            f"<Plan: arena {self.arena_bytes} bytes, lower bound {self.lower_bound}{inputs}, {self.n_tensors} tensors>"
        )

    @property
    def arena_bytes(self) -> int:
        """The arena's high-water mark in bytes."""
        return int(lib.ml_plan_arena_bytes(self._pointer))

    @property
    def input_bytes(self) -> int:
        """Bytes of graph inputs, which do not share memory and are not in `arena_bytes`; large ones take none while
        `run` reads them in the caller's arrays."""
        return int(lib.ml_plan_input_bytes(self._pointer))

    @property
    def work_bytes(self) -> int:
        """Bytes of the work block, in which small scratch lies outside the arena: at most 64 KiB."""
        return int(lib.ml_plan_work_bytes(self._pointer))

    @property
    def n_tensors(self) -> int:
        """The number of tensors of the main frame."""
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

    @property
    def own_bytes(self) -> int:
        """Bytes that the plan itself takes."""
        return int(lib.ml_plan_own_bytes(self._pointer))

    def _subgraph(self, frame: int) -> int:
        """The subgraph of a frame. Raises: InputError."""
        frames = int(lib.ml_plan_frames(self._pointer))
        if not 0 <= whole("a frame's number", frame) < frames:
            message = f"frame {frame} does not exist: the plan has frames {_range(frames)}"
            raise InputError(message)
        return int(lib.ml_plan_frame_subgraph(self._pointer, frame, ffi.new("int32_t *"), ffi.new("int32_t *")))

    def _check_tensor(self, index: int, frame: int) -> None:
        """Raises: InputError."""
        subgraph = self._subgraph(frame)
        count = self._owner.count_tensors(subgraph)
        if not 0 <= whole("a tensor's number", index) < count:
            message = f"frame {frame} has no tensor {index}: subgraph {subgraph} has tensors {_range(count)}"
            raise InputError(message)

    def _check_node(self, position: int, frame: int) -> None:
        """Raises: InputError."""
        subgraph = self._subgraph(frame)
        count = self._owner.count_nodes(subgraph)
        if not 0 <= whole("a node's position", position) < count:
            message = (
                f"frame {frame} has no node at position {position}: subgraph {subgraph} has positions {_range(count)}"
            )
            raise InputError(message)

    def tensor(self, index: int, frame: int = 0) -> TensorState:
        """The state of a tensor in the plan. Raises: InputError if the tensor or the frame does not exist."""
        self._check_tensor(index, frame)
        t = lib.ml_plan_tensor(self._pointer, frame, index)
        shape = tuple(t.shape.dims[0 : t.shape.rank]) if t.shaped else None
        storage = STORAGES[t.storage]
        offset = int(t.offset) if storage in ("arena", "persistent") else -1
        return TensorState(shape, t.type, t.bytes, storage, offset, t.root, bool(t.dynamic))

    def shape(self, index: int) -> Shape | None:
        """The shape of a tensor of the main frame, None while unknown."""
        return self.tensor(index).shape

    def node_status(self, node: int, frame: int = 0) -> str:
        """The status of the node at this position: waits, runs, folded, view, fused, empty, in patches. Raises:
        InputError."""
        return self.node(node, frame)[1]

    def node(self, position: int, frame: int = 0) -> tuple[int, str]:
        """The number, in the file, of the node at this position, and how it is run. Raises: InputError."""
        self._check_node(position, frame)
        index = ffi.new("int32_t *")
        status = lib.ml_plan_node(self._pointer, frame, position, index)
        return int(index[0]), NODE_STATUSES[status]

    def part_of(self, position: int, frame: int = 0) -> int | None:
        """For a fused node: the number, in the file, of the node that does its work. None for other nodes.

        Raises: InputError.
        """
        self._check_node(position, frame)
        whole = lib.ml_plan_part_of(self._pointer, frame, position)
        return int(whole) if whole >= 0 else None

    def nodes(self, frame: int = 0) -> list[tuple[int, str]]:
        """For every node of a frame, in the order of execution: its number in the file, and how it is run. Raises:
        InputError."""
        self._subgraph(frame)
        index = ffi.new("int32_t *")
        found: list[tuple[int, str]] = []
        while (status := lib.ml_plan_node(self._pointer, frame, len(found), index)) >= 0:
            found.append((int(index[0]), NODE_STATUSES[status]))
        return found

    def kernel(self, position: int, frame: int = 0) -> tuple[str, str | None]:
        """The kernel that runs a node, and the operand types of its row, None if numpy runs it. Raises: InputError."""
        self._check_node(position, frame)
        types = ffi.new("char const **")
        name = lib.ml_plan_kernel(self._pointer, frame, position, types)
        return ffi.string(name).decode(), ffi.string(types[0]).decode() if types[0] else None

    def way(self, position: int, frame: int = 0) -> str | None:
        """The way in which the kernel computes a node; None: the usual, or only, one. Raises: InputError."""
        self._check_node(position, frame)
        found = lib.ml_plan_way(self._pointer, frame, position)
        return ffi.string(found).decode() if found else None

    @property
    def level(self) -> str:
        """The name of the level whose primitives it uses."""
        return str(ffi.string(lib.ml_plan_level(self._pointer)).decode())

    def records(self, frame: int = 0) -> list[tuple[int, int, int, int, int]]:
        """Usage records of a frame: (tensor, size in bytes, first node, last node, offset), both ends inclusive.

        Raises: InputError, ArenaError.
        """
        self._subgraph(frame)
        room = lib.ml_plan_records(self._pointer, frame, ffi.NULL, 0)
        records = ffi.new("ml_record[]", max(room, 1))
        if room < 0 or lib.ml_plan_records(self._pointer, frame, records, room) < 0:
            message = "no memory to list a plan's records"
            raise ArenaError(message)
        return [(r.tensor, r.size, r.first, r.last, r.offset) for r in records[0:room]]

    def without(self, tensors: Sequence[int]) -> Outlook:
        """The arena as it would be without these tensors of the main frame. Raises: InputError, ArenaError."""
        for tensor in tensors:
            self._check_tensor(tensor, 0)
        error, outlook = fresh_error(), ffi.new("ml_outlook *")
        numbers = ffi.new("int32_t[]", list(tensors) or 1)
        if lib.ml_plan_without(self._pointer, numbers, len(tensors), outlook, error):
            raise_error(error, None)
        return Outlook(outlook.arena_bytes, outlook.lower_bound, outlook.peaks)

    def advise_bind(self) -> list[BindAdvice]:
        """A few tensors that make the arena smaller if they are bound to buffers of the caller, in this order.

        The choice is greedy: each step takes the tensor (or all tensors that share one place) that reduces the peak of
        live bytes most, or else the number of nodes at the peak. It ends when the arena is smaller, which is checked by
        a new plan with the same strategy. The list is empty if nothing helps, for example because scratch memory alone
        makes the peak.
        """
        return advise_bind(self)
