"""A recording's file: a .npz without pickles that is written whole or not at all, and read only if nothing in it was
changed.

Members: `recording.npy`, JSON in UTF-8 as bytes (the model's hash, options, calls, and the type, shape and SHA-256 of
each array); `seal.npy`, the SHA-256 of that; `aN.npy`, the arrays. Strings are two arrays, `aN_bytes` and `aN_offsets`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import secrets
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from minilite._native.status import MAX_RANK
from minilite.errors import InputError, shortened
from minilite.recording.calls import Call, call_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minilite.format.model import Array

FORMAT = 1
_HEADER, _SEAL = "recording", "seal"
_MOST_HEADER = 1 << 28
"""The largest number of bytes of JSON that is read; a call takes about a hundred."""
_MOST_ARRAY = 1 << 32
"""The largest number of bytes of an array that is read. The size of the file does not bound it: archives unpack to a
thousand times their size."""
_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time stamp of all members, so that a file does not tell when it was recorded."""

_FACTS = {
    "minilite": str, "level": str, "model": str, "model_bytes": int, "options": dict, "custom_ops": list, "calls": list,
    "arrays": dict,
}  # fmt: skip
_ARRAY_FACTS = {"type": str, "shape": list, "sha256": str}


class Recording(NamedTuple):
    """The contents of a recording's file, checked against its seal; arrays are read when they are needed."""

    path: Path
    minilite: str
    """The version of minilite that recorded."""
    level: str
    """The level of instructions; "" where numpy ran every node."""
    model: str
    """SHA-256 of the model's bytes."""
    model_bytes: int
    options: Mapping[str, Any]
    """The arguments of the constructor."""
    custom_ops: Sequence[str]
    """The names of the caller's custom operators."""
    calls: Sequence[Call]
    arrays: Mapping[str, Any]

    def array(self, name: str) -> Array:
        """Returns an array by name. Raises: InputError."""
        row = self.arrays.get(name)
        if row is None:
            raise _refused(self.path, f"a call needs the array '{name}', which is missing")
        with _opened(self.path) as archive:
            if row["type"] != "strings":
                return _read(self.path, archive, name)
            data, offsets = (_read(self.path, archive, f"{name}_{part}") for part in ("bytes", "offsets"))
        whole = data.tobytes()
        found = np.empty(len(offsets) - 1, object)
        for i in range(len(found)):
            found[i] = whole[offsets[i] : offsets[i + 1]]
        return found.reshape(row["shape"])


def _refused(path: Path, why: str) -> InputError:
    return InputError(f"'{path.name}' cannot be replayed: {why}")


class Writer:
    """Writes calls and arrays to a file beside the path, and renames it to the path when all is written.

    The owner calls `discard` if anything, Ctrl-C included, ends the writing early. After `discard` and `finish` it
    writes nothing more.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Creates no file yet. Raises: OSError."""
        self._path = Path(path)
        if not self._path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        if self._path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        # The name is known before the file exists, so that `discard` finds the file whenever it is interrupted. File
        # systems take 255 bytes.
        self._part = self._path.with_name(f".{self._path.name[:50]}.{secrets.token_hex(8)}.part")
        self._file: BinaryIO | None = None
        self._archive: zipfile.ZipFile | None = None
        self._names: dict[tuple[str, tuple[int, ...], str], str] = {}
        self._rows: dict[str, Any] = {}
        self._calls: list[Call] = []
        self.whole: bool = True
        """False after an array could not be written."""

    def begin(self) -> None:
        """Creates the file. Raises: OSError."""
        self._file = self._part.open("xb")
        self._archive = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)

    def add(self, call: Call) -> None:
        """Adds a call."""
        self._calls.append(call)

    def array(self, array: Array) -> str:
        """Writes an array and returns its name; equal arrays are written once. Returns "" after the end of writing."""
        if self._archive is None or self._archive.fp is None:
            return ""
        if array.dtype.kind == "V":  # bfloat16: any numpy can read its bits
            array = array.view(np.uint16)
        parts = _parts(array)
        digest = _digest(parts)
        kind = "strings" if "_bytes" in parts else array.dtype.str
        key = (kind, array.shape, digest)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"a{len(self._names)}"
            self._rows[name] = {"type": kind, "shape": list(array.shape), "sha256": digest}
            for suffix, part in parts.items():
                self._member(f"{name}{suffix}", part)
        return name

    def _member(self, name: str, array: Array) -> None:
        info = zipfile.ZipInfo(f"{name}.npy", _EARLIEST)
        info.compress_type = zipfile.ZIP_DEFLATED
        assert self._archive is not None
        whole, self.whole = self.whole, False
        with self._archive.open(info, "w", force_zip64=True) as file:
            np.lib.format.write_array(file, np.asarray(array, order="C"), allow_pickle=False)
        self.whole = whole

    def finish(self, facts: Mapping[str, Any]) -> None:
        """Writes the header and renames the file to its path. Raises: OSError, also if an earlier write failed."""
        if not self.whole:
            raise OSError(errno.EIO, "not written: an array could not be written to the recording", str(self._path))
        whole = {"format": FORMAT, **facts, "calls": [call.to_json() for call in self._calls], "arrays": self._rows}
        text = json.dumps(whole, sort_keys=True).encode()
        self._member(_HEADER, np.frombuffer(text, np.uint8))
        self._member(_SEAL, np.frombuffer(hashlib.sha256(text).digest(), np.uint8))
        assert self._archive is not None
        assert self._file is not None
        self._archive.close()
        self._file.close()
        self._part.replace(self._path)

    def discard(self) -> None:
        """Removes the unfinished file, wherever the writing stopped."""
        if self._archive is not None:
            self._archive.fp = None  # otherwise closing it writes its table of members, and fails on an interrupted one
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
        self._calls, self._names, self._rows = [], {}, {}
        with suppress(OSError):
            self._part.unlink()


def _parts(array: Array) -> dict[str, Array]:
    """Returns the plain arrays that an array is written as, by the end of their names."""
    if array.dtype != object:
        return {"": array}
    texts = [value.encode() if isinstance(value, str) else bytes(value) for value in array.ravel().tolist()]
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return {"_bytes": np.frombuffer(b"".join(texts), np.uint8), "_offsets": offsets}


def _digest(parts: Mapping[str, Array]) -> str:
    found = hashlib.sha256()
    for part in parts.values():
        found.update(np.ascontiguousarray(part).data if part.size else b"")
    return found.hexdigest()


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Reads and checks a recording. Raises: InputError, which says what is wrong; OSError."""
    where = Path(path)
    with _opened(where) as archive:
        names = archive.namelist()
        if f"{_HEADER}.npy" not in names or f"{_SEAL}.npy" not in names:
            raise _refused(where, "it is no recording of minilite's: it has no member 'recording.npy'")
        text = _read(where, archive, _HEADER, _MOST_HEADER).tobytes()
        if hashlib.sha256(text).digest() != _read(where, archive, _SEAL, 64).tobytes():
            raise _refused(where, "it was edited: its calls do not fit their seal")
        recording = _parsed(where, text)
        for name, row in recording.arrays.items():
            suffixes = ("_bytes", "_offsets") if row["type"] == "strings" else ("",)
            parts = {suffix: _read(where, archive, f"{name}{suffix}") for suffix in suffixes}
            if _digest(parts) != row["sha256"] or not _fits(row, parts):
                raise _refused(where, f"it was edited: array '{name}' does not fit its hash")
    return recording


def _fits(row: Mapping[str, Any], parts: Mapping[str, Array]) -> bool:
    """True if the plain arrays have the type and shape that the row states."""
    if row["type"] != "strings":
        return bool(parts[""].dtype.str == row["type"] and list(parts[""].shape) == row["shape"])
    offsets, count = parts["_offsets"], math.prod(row["shape"])
    ordered = (
        offsets.dtype == np.int64
        and offsets.shape == (count + 1,)
        and offsets[0] == 0
        and (np.diff(offsets) >= 0).all()
    )
    return bool(ordered and parts["_bytes"].dtype == np.uint8 and offsets[-1] == parts["_bytes"].size)


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # zipfile, for wrong offsets
            raise
        with path.open("rb") as file:
            start = file.read(4)
        why = "it is truncated" if start == b"PK\x03\x04" else "it is no .npz"
        raise _refused(path, why) from None


def _read(path: Path, archive: zipfile.ZipFile, name: str, most: int | None = None) -> Array:
    """Reads a member that has as many bytes as its array needs. Raises: InputError."""
    try:
        info = archive.getinfo(f"{name}.npy")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _refused(path, f"array '{name}' is compressed in a way that recordings are not")
        with archive.open(info) as file:
            version = np.lib.format.read_magic(file)
            read_header = (
                np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = read_header(file)
            needed, most = math.prod(shape) * dtype.itemsize, _MOST_ARRAY if most is None else most
            if needed > most:
                raise _refused(path, f"array '{name}' needs {needed} bytes, must be at most {most}")
            if dtype.hasobject or needed > info.file_size or min(shape, default=0) < 0:
                raise _refused(path, f"array '{name}' has a size or a type that it cannot have")
        with archive.open(info) as file:
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
            return array
    except InputError:
        raise
    except KeyError:
        raise _refused(path, f"array '{name}' is missing") from None
    except Exception as error:  # noqa: BLE001 - zipfile and numpy raise many classes, which differ by version
        raise _refused(path, f"array '{name}' is damaged: {' '.join(str(error).split())}") from None


def _parsed(path: Path, text: bytes) -> Recording:
    try:
        facts = json.loads(text)
        if facts["format"] != FORMAT:
            raise _refused(path, f"its format is {shortened(repr(facts['format']))}, this version reads {FORMAT}")
        for name, kind in _FACTS.items():
            if type(facts[name]) is not kind:
                message = f"'{name}' is {shortened(repr(facts[name]))}"
                raise ValueError(message)
        return Recording(
            path,
            facts["minilite"],
            facts["level"],
            facts["model"],
            facts["model_bytes"],
            facts["options"],
            tuple(map(str, facts["custom_ops"])),
            tuple(map(call_of, facts["calls"])),
            {name: _array_row(row) for name, row in facts["arrays"].items()},
        )
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _refused(path, f"it says what no recording says: {error}") from None


def _array_row(row: Any) -> Mapping[str, Any]:
    """Checks the row of an array. Raises: ValueError."""
    if type(row) is not dict or {name: type(value) for name, value in row.items()} != _ARRAY_FACTS:
        message = "an array without type, shape and hash"
        raise ValueError(message)
    if not all(type(size) is int and 0 <= size < 1 << 62 for size in row["shape"]) or len(row["shape"]) > MAX_RANK:
        message = f"an array of shape {shortened(repr(row['shape']))}"
        raise ValueError(message)
    return row
