"""Reads a Model from a file or from bytes. The C reader checks every table, index, code and size once; this module
opens files and words the errors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from minilite import errors
from minilite._native.file import IDENTIFIER, File, map_file, read_file
from minilite.errors import InputTypeError
from minilite.format.rows import model_of
from minilite.late import Later

if TYPE_CHECKING:
    import mmap

    from minilite._native.file import Origin
    from minilite.format import origin
    from minilite.format.model import Model
else:
    origin = Later("minilite.format.origin")


def load_model(
    path: str | os.PathLike[str] | bytes | bytearray | memoryview, load: Literal["map", "copy"] = "map"
) -> Model:
    """Read a file. It is mapped, so that constants stay in the file, or, with `load="copy"`, read into memory.

    Small files, and files that cannot be mapped, such as pipes, are always read into memory, up to 4 GiB. A mapped file
    must not change while the model lives; use "copy" for files that may. If `path` is a model's bytes, these are read.
    `face.task:detector.tflite` reads the section of that name in a bundle (`minilite.Bundle`).

    Raises: ModelNotFoundError, ModelFormatError, InputError.
    """
    if load not in ("map", "copy"):
        raise ValueError(f"load is {load!r}, expected 'map' or 'copy'")
    size = None
    if isinstance(path, bytes | bytearray | memoryview):
        path = _plain_bytes(path)
        if path[4:8] == IDENTIFIER:
            return _read(path)
        size, path = len(path), bytes(path[:4097])  # longer than any path
    name = path if type(path) is str else _name(path)
    try:
        data, source = map_file(name) if load == "map" else read_file(name)
    except errors.ModelFormatError as error:
        raise errors.ModelFormatError(f"{name!r}: {error}") from None
    except (OSError, ValueError) as error:
        if size is None and ":" in name and (model := _of_section(name, load)) is not None:
            return model
        if size is not None:  # they may be a whole file, too long to show
            message = f"path is {size} bytes, which are neither the name of a file nor a model (b'TFL3' at byte 4)"
            raise errors.ModelNotFoundError(message) from None
        reason = getattr(error, "strerror", None) or str(error)
        message = f"Could not open {name!r}: {reason.lower()}{origin.why_not_opened(name, '.tflite')}"
        raise errors.ModelNotFoundError(message) from error
    try:
        return _read(data, source)
    except errors.ModelFormatError as error:
        raise origin.explained(error, data, name) from None


def _of_section(name: str, load: str) -> Model | None:
    """The Model in a section of a bundle; None if the name leads into none. Raises: ModelFormatError, InputError."""
    from minilite.format.bundle import section_bytes  # which reads models

    found = section_bytes(name)
    if found is None:
        return None
    section, source = found
    if load == "copy":
        section, source = memoryview(bytes(section)), source and source._replace(mapped=False)
    try:
        return _read(section, source)
    except errors.ModelFormatError as error:
        raise origin.explained(error, section, name) from None


def _name(path: Any) -> str:
    """The path as text. Raises: InputTypeError."""
    if not isinstance(path, str | bytes | os.PathLike):
        message = f"path is of type {type(path).__name__}, must be a path or a model's bytes"
        raise InputTypeError(message)
    return os.fsdecode(path)


def read_model(source: bytes | bytearray | memoryview | mmap.mmap) -> Model:
    """Read a model from bytes; large constants are read-only views on them.

    Raises: ModelFormatError, InputError.
    """
    return _read(_plain_bytes(source))


def _plain_bytes(source: Any) -> memoryview:
    """A buffer's bytes, read-only. Raises: InputError for memory that is not contiguous or was freed."""
    try:
        view = memoryview(source)
    except ValueError as error:
        message = f"the memory of the model's bytes is gone: {error}"
        raise errors.InputError(message) from None
    if not view.c_contiguous:
        message = (
            f"the model's bytes have gaps between them, strides {view.strides}: must be contiguous, as bytes(it) is"
        )
        raise errors.InputError(message)
    return view.toreadonly().cast("B") if view.nbytes else memoryview(b"")


def _read(data: memoryview | bytes, source: Origin | None = None) -> Model:
    """The Model in `data`, which never changes."""
    _check_header(data)
    # while the array lives, the caller's bytes cannot be closed or resized
    return model_of(File(np.frombuffer(data, np.uint8), source))


def _check_header(data: memoryview | bytes) -> None:
    """Refuse bytes that do not begin like a .tflite file."""
    if len(data) < 8:
        message = f"the model has {len(data)} bytes, too few for a .tflite file" if len(data) else "the model is empty"
        raise errors.ModelFormatError(message)
    identifier = bytes(data[4:8])
    if identifier != IDENTIFIER:
        message = f"file identifier at byte 4 is {identifier!r}, a .tflite file has {IDENTIFIER!r}"
        raise errors.ModelFormatError(message)
