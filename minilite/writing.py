"""Writes files whole: readers of a path see the old file or the new one, never a part of it."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from minilite.errors import InputError

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "'")


def write_whole(path: Path, data: str | bytes | Iterable[Any], *, synced: bool = False) -> None:
    """Writes a file atomically: readers of `path` see the old file or the new one, also after Ctrl-C; with `synced`,
    after a loss of power too. `data` are text, bytes, or buffers one after the other.

    The new one has the mode of the old one. If several threads or processes write one path, the last one's file stays.
    Devices and pipes are written to as they are. Raises: OSError.
    """
    payload = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    pieces: Iterable[Any] = [payload] if isinstance(payload, bytes) else payload
    target = path.resolve()  # a link stays a link
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            file.writelines(pieces)
        return
    beside = target.with_name(f".{target.name[:100]}.{os.urandom(8).hex()}")  # nobody else's
    try:
        with beside.open("xb") as file:
            if target.exists():
                beside.chmod(stat.S_IMODE(target.stat().st_mode))
            file.writelines(pieces)
            if synced:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(target)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        beside.unlink(missing_ok=True)


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """CSV whose text no spreadsheet runs as a formula, which it does if text begins with = + - @, a tab or CR.

    Text that begins with one of these, or with a single quote, has one quote more before it: who reads the file takes
    off one, and has what was written. Numbers are written as they are."""
    import csv  # long to import

    lines: list[str] = []
    # Cells with a CR are quoted if CR ends lines; each line is one call.
    sink = SimpleNamespace(write=lambda line: lines.append(f"{line[:-2]}\n"))
    csv.writer(sink, lineterminator="\r\n").writerows(map(_cells, rows))
    return "".join(lines)


def _cells(row: Iterable[Any]) -> list[Any]:
    return [f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULAS) else cell for cell in row]


def npz_bytes(arrays: Mapping[str, Any]) -> bytes:
    """The bytes of a .npz file. Raises: InputError for strings that it cannot hold."""
    import zipfile  # long to import

    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:  # savez has arguments of its own, which an array may be called like
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, without_objects(name, array), allow_pickle=False)
    return made.getvalue()


def without_objects(name: str, array: Any) -> Any:
    """The array in a form that a .npy file without objects can hold. Raises: InputError."""
    if array.dtype != object:
        return array
    if any(value.endswith(b"\0") for value in array.ravel()):
        message = f"output '{name}' has strings that end in a zero byte: a .npy file cannot hold them"
        raise InputError(message)
    return array.astype(bytes)
