"""Owning an ml_lowering: a file's nodes sorted into kinds, and the loading description that the answers to them complete."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite._core import ffi, lib
from minilite._native.status import MAX_RANK, fresh_error, raise_error

if TYPE_CHECKING:
    from minilite._native.file import File

Array = Any
_NONE = ffi.NULL
_KIND = struct.Struct("@qiii4x")
FOLDS: int = lib.ML_TRAIT_FOLDS
FOLLOWS: int = lib.ML_TRAIT_FOLLOWS
TRAITS: dict[str, int] = {
    "node": 0,
    "kind": lib.ML_TRAIT_KIND,
    "model": lib.ML_TRAIT_KIND,
    "ratio": lib.ML_TRAIT_KIND | lib.ML_TRAIT_RATIO,
    "scales": lib.ML_TRAIT_KIND | lib.ML_TRAIT_SCALES,
}
"""What lowering an operator's nodes hangs on, by the words of operators' rows."""


def _release(_lowering: Lowering, _bytes: Any) -> None:
    """Called when the last view of a constant goes: the lowering went no earlier."""


class Answer:
    """What the nodes of a kind lower to. It never changes, and belongs to no model."""

    __slots__ = ("_kept", "pointer", "python")

    def __init__(
        self, kernel: Any, typed: int, flags: int, params: bytes, subgraphs: Sequence[int], keep: Iterable[Any]
    ) -> None:
        values, numbers = ffi.new("char[]", params), ffi.new("int32_t[]", list(subgraphs) or 1)
        self._kept = (values, numbers, *keep)
        self.python = bool(flags & lib.ML_NODE_PYTHON)
        """Its nodes run in Python."""
        fields = (kernel, values, numbers, len(params), len(subgraphs), typed, flags)
        self.pointer = ffi.new("ml_answer *", fields)


def widening() -> Answer:
    """The answer of nodes that make constant halves constant floats: C does it."""
    return Answer(ffi.NULL, -1, lib.ML_ANSWER_WIDENS, b"", (), ())


class Lowering:
    """Owns an ml_lowering. Its tensors may be changed until a graph is made of it."""

    def __init__(self, file: File, traits: Sequence[int]) -> None:
        """Sorts the nodes into kinds, by what each of the file's operator codes hangs on."""
        out, error = ffi.new("ml_lowering **"), fresh_error()
        if lib.ml_lowering_new(file.rows, ffi.new("int32_t[]", traits or 1), out, error):
            raise_error(error, None)
        self.pointer: Any = ffi.gc(out[0], lib.ml_lowering_free)
        self.file = file
        self._kept: list[Any] = []
        self._starts: list[tuple[int, int]] | None = None

    def kinds(self) -> Iterator[tuple[bytes, int, int]]:
        """Each kind's key, and subgraph and number of its first node; a kind of one node alone has the key b""."""
        low = self.pointer
        if low.n_kinds:
            keys = ffi.buffer(low.keys, low.key_bytes) if low.key_bytes else b""
            for start, size, subgraph, node in _KIND.iter_unpack(ffi.buffer(low.kinds, low.n_kinds * _KIND.size)):
                yield keys[start : start + size], subgraph, node

    def fill(self, answers: Sequence[Answer | None]) -> None:
        """Completes the nodes; those of kinds without an answer vanish."""
        self._kept.append(answers)
        pointers = [_NONE if answer is None else answer.pointer for answer in answers]
        error = fresh_error()
        if lib.ml_lowering_fill(self.pointer, ffi.new("ml_answer *[]", pointers or 1), error):
            raise_error(error, None)

    @property
    def too_many_dimensions(self) -> bool:
        """Whether some tensor has more dimensions than MAX_RANK."""
        return bool(self.pointer.n_deep)

    def _start(self, subgraph: int) -> tuple[int, int]:
        """The numbers of a subgraph's first tensor and first node, all subgraphs counted through."""
        if self._starts is None:
            self._starts, tensors, nodes = [], 0, 0
            for number in range(self.pointer.description.n_subgraphs):
                rows = self.file.rows.subgraphs[number]
                self._starts.append((tensors, nodes))
                tensors, nodes = tensors + rows.n_tensors, nodes + rows.n_nodes
        return self._starts[subgraph]

    def kind_of(self, subgraph: int, node: int) -> int:
        """The number of a node's kind."""
        return int(self.pointer.node_kinds[self._start(subgraph)[1] + node])

    def place_of(self, handler: int) -> tuple[int, int]:
        """Subgraph and number of the node that C calls by this number."""
        self._start(0)
        assert self._starts is not None
        subgraph = max(g for g, (_, first) in enumerate(self._starts) if first <= handler)
        return subgraph, handler - self._starts[subgraph][1]

    def tensor(self, subgraph: int, number: int) -> Any:
        """A tensor's ml_tensor_def."""
        return self.pointer.tensors[self._start(subgraph)[0] + number]

    def widened(self, subgraph: int, number: int) -> Array:
        """The values of a tensor of halves that are floats now, read-only; they keep the lowering alive."""
        tensor = self.tensor(subgraph, number)
        shape = tuple(tensor.shape.dims[0 : tensor.shape.rank])
        if not tensor.bytes:
            return np.zeros(shape, np.float32)
        kept = ffi.gc(ffi.cast("char *", tensor.data), functools.partial(_release, self))
        flat = np.frombuffer(memoryview(ffi.buffer(kept, tensor.bytes)).toreadonly(), np.float32)
        return flat.reshape(shape)

    def set_constant(self, subgraph: int, number: int, value: Array) -> None:
        """Makes a tensor a constant, of the shape and the bytes of the array, which is kept."""
        if value.ndim > MAX_RANK:  # as its tensor's shape, which is refused
            return
        self._kept.append(value)
        tensor = self.tensor(subgraph, number)
        tensor.data = ffi.cast("void *", value.__array_interface__["data"][0])
        tensor.bytes = value.nbytes
        tensor.shape.rank = value.ndim
        tensor.shape.dims[0 : value.ndim] = value.shape
        tensor.flags &= ~(lib.ML_TENSOR_OF_FILE | lib.ML_TENSOR_SPARSE)

    def nodes(self, subgraph: int) -> list[Any]:
        """The ml_node_def of every node that is left of a subgraph."""
        description = self.pointer.description
        first = sum(description.subgraphs[number].n_nodes for number in range(subgraph))
        return [description.nodes[first + i] for i in range(description.subgraphs[subgraph].n_nodes)]

    def reordered(self, subgraph: int, order: Sequence[int]) -> Any:
        """A copy of all ml_node_defs, those of one subgraph in another order."""
        description = self.pointer.description
        counts = [description.subgraphs[number].n_nodes for number in range(description.n_subgraphs)]
        first, copy = sum(counts[:subgraph]), ffi.new("ml_node_def[]", sum(counts) or 1)
        ffi.memmove(copy, description.nodes, sum(counts) * ffi.sizeof("ml_node_def"))
        for position, number in enumerate(order):
            copy[first + position] = description.nodes[first + number]
        return copy

    def operands(self, node: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The tensor numbers of an ml_node_def's inputs and outputs."""
        io, middle = self.pointer.description.io, node.io_start + node.n_inputs
        return tuple(io[node.io_start : middle]), tuple(io[middle : middle + node.n_outputs])
