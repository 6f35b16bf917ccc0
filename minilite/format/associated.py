"""Reads associated files, such as labels and vocabularies, from the zip archive after a model's flatbuffer.

Source: TensorFlow Lite's guide "Adding metadata to TensorFlow Lite models", on packing associated files.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

from minilite.errors import ModelFormatError, shortened

MOST_BYTES = 64 << 20
"""The most bytes that all files together may have when unpacked."""
MOST_FILES = 1000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_associated_files(data: Any) -> dict[str, bytes]:
    """The files in the archive at the end of a model's bytes, by name; empty without an archive. Nothing is written to
    disk.

    Raises: ModelFormatError for archives that are broken, that unpack to more than MOST_BYTES or MOST_FILES, and for
    names that lead out of the archive.
    """
    reader = BytesFile(memoryview(data))
    try:
        if not zipfile.is_zipfile(reader):
            return {}
        with zipfile.ZipFile(reader) as archive:
            entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
            _check(entries)
            return {entry.filename: _unpacked(archive, entry) for entry in entries}
    except (ModelFormatError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - zipfile raises many classes, and other ones in each version of Python
        message = f"associated files: the zip archive at the file's end cannot be read: {' '.join(str(error).split())}"
        raise ModelFormatError(message) from None


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """A file's bytes; no more are unpacked than the size in the archive, which `_check` limits."""
    with archive.open(entry) as file:
        return file.read(entry.file_size)


def _check(entries: list[zipfile.ZipInfo]) -> None:
    size = sum(entry.file_size for entry in entries)
    if len(entries) > MOST_FILES or size > MOST_BYTES:
        message = f"associated files: {len(entries)} files of {size} bytes, must be at most {MOST_FILES} files of {MOST_BYTES} bytes"
        raise ModelFormatError(message)
    for entry in entries:
        name = entry.filename
        if not name:
            message = "associated files: an entry of the archive has no name, must have one"
            raise ModelFormatError(message)
        parts = name.replace("\\", "/").split("/")
        if ".." in parts or "" in parts or ":" in parts[0] or not name.isprintable():
            message = f"associated files: the name {shortened(repr(name))} leads out of the archive"
            raise ModelFormatError(message)
        if entry.compress_type not in _METHODS:
            message = f"associated files: {shortened(repr(name))} is packed by method {entry.compress_type}, must be stored or deflated"
            raise ModelFormatError(message)


class BytesFile(io.RawIOBase):
    """A file object over bytes, without a copy."""

    def __init__(self, data: memoryview) -> None:
        self._data = data.cast("B")
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        room = memoryview(target).cast("B")
        found = self._data[self._at : self._at + len(room)]
        room[: len(found)] = found
        self._at += len(found)
        return len(found)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._data)}[whence]
        if start + offset < 0:
            message = f"position {start + offset} lies before the first byte"
            raise OSError(message)
        self._at = start + offset
        return self._at
