"""Packed weights in a file: takes them from one, and lists the bytes of another."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite import errors
from minilite._core import ffi, lib
from minilite._native import owned
from minilite._native.status import fields_of, fresh_error, raise_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from minilite._native.file import File, Origin, Store
    from minilite._native.graph import Graph

_HEAD = fields_of("ml_packed_head", "build structure model_bytes modified bytes n_rows path_bytes")
_ROW_BYTES: int = ffi.sizeof("ml_packed_row")


class Head(NamedTuple):
    """The head of a file of packed weights."""

    build: int
    """A hash of the sources of the core that packed them."""
    structure: int
    model_bytes: int
    modified: int
    """The model's time of modification, in nanoseconds."""
    bytes: int
    """The size of the file of packed weights."""
    rows: int
    """The number of weights in it."""
    path_bytes: int

    @property
    def is_of_this_build(self) -> bool:
        """True if this build of the core takes it."""
        return bool(self.build == lib.ml_packed_build())


def file_name(path: str) -> str:
    """The name of the file with the packed weights of a model."""
    text = os.fsencode(path)
    return f"{lib.ml_packed_name(text, len(text)):016x}.packed"


def keep(store: Store, file: File, origin: Origin) -> None:
    """Lets the store's weights be in a file; once, before all else here."""
    lib.ml_store_keep(store.pointer, file.rows, origin.bytes, origin.modified)


def take(store: Store, descriptor: int, size: int) -> None:
    """Lets the store take weights from a file, which is mapped, or else read.

    Raises: ModelFormatError if it is none for that model; ArenaError, OSError."""
    error = fresh_error()
    if not lib.ml_store_take(store.pointer, descriptor, ffi.NULL, size, error):
        return
    if error.status == lib.ML_ARENA_ERROR:
        error = fresh_error()
        content = _read(descriptor, size)
        if not lib.ml_store_take(store.pointer, -1, ffi.from_buffer(content), len(content), error):
            return
    raise_error(error, None)


def share(store: Store, descriptor: int, size: int) -> None:
    """Lets weights that were packed, and are the same in a file, lie in its memory, where the system can do that.

    Raises: as `take`."""
    error = fresh_error()
    if lib.ml_store_share(store.pointer, descriptor, size, error):
        raise_error(error, None)


def _read(descriptor: int, size: int) -> bytearray:
    found = bytearray()
    while len(found) < size and (piece := os.read(descriptor, size - len(found))):
        found += piece
    return found


def asking(graph: Graph) -> Callable[[], int]:
    """The call of `unkept_bytes`, with its argument."""
    return functools.partial(lib.ml_graph_unkept_bytes, graph.pointer)


def unkept_bytes(graph: Graph) -> int:
    """Bytes of packed weights that could be in a file, and are in none."""
    return int(lib.ml_graph_unkept_bytes(graph.pointer))


def pieces(graph: Graph, path: str) -> Iterator[Any]:
    """The bytes of a file of all weights that were packed or taken, piece by piece; they count as kept from now on.
    `path` is the model's.

    Raises: ArenaError."""
    text = os.fsencode(path)
    image, error = owned.empty("ml_packed_image *", lib.ml_packed_image_free), fresh_error()
    if lib.ml_graph_packed_image(graph.pointer, text, len(text), image, error):
        raise_error(error, None)
    return _pieces(image)


def _pieces(image: Any) -> Iterator[Any]:
    for piece in image.pieces[0 : image.n_pieces]:
        yield ffi.buffer(piece.data, piece.bytes)
        yield bytes(piece.zeros)


def check(data: Any, *, every_byte: bool = False) -> None:
    """Checks a file in memory: its head and rows, or every byte. Raises: ModelFormatError with the first fault."""
    error = fresh_error()
    if lib.ml_packed_check(ffi.from_buffer(data), len(data), every_byte, error):
        raise_error(error, None)


def head_of(data: Any) -> tuple[Head, str]:
    """The head of a file, and the path of its model, as far as they are there: they need not be right.

    Raises: ModelFormatError if the file is too short for a head."""
    if len(data) < _HEAD.size:
        message = f"the file has {len(data)} bytes, packed weights have {_HEAD.size} or more"
        raise errors.ModelFormatError(message)
    head = Head(*_HEAD.unpack_from(data))
    at = _HEAD.size + max(head.rows, 0) * _ROW_BYTES
    return head, os.fsdecode(bytes(data[at : at + max(head.path_bytes, 0)]))
