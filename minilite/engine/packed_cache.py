"""PackedCache: keeps the packed weights of a model in a file, which processes share, so that they are packed once."""

from __future__ import annotations

import os
import stat
import threading
import time
from typing import TYPE_CHECKING

from minilite import errors
from minilite._native import packed

if TYPE_CHECKING:
    from collections.abc import Callable

    from minilite._native.file import File, Origin, Store
    from minilite._native.graph import Graph

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_LONGEST_TURN = 5.0
"""Seconds that a process waits while others write, before it writes too."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def use(file: File | None, folder: str, option: str) -> None:
    """Keeps the packed weights of a model's file in a folder. A model that was given by its bytes, or made by hand, is
    left alone. `option` names the option, for errors.

    Raises: InputError for a folder that is none, or in which others could write, and for a second one."""
    try:
        path = os.path.realpath(folder)
    except ValueError as error:  # a zero byte
        message = f"{option} is {errors.shown(folder)}, which is no path: {error}"
        raise errors.InputError(message) from None
    if file is None or file.origin is None or not _checked_folder(path, option):
        return
    store = file.store
    if store.cache is None:
        store.cache = PackedCache(file, file.origin, path)
    elif store.cache.folder != path:
        message = (
            f"{option} is {errors.shown(path)}, but {errors.shown(store.cache.folder)} has this Model's packed weights: "
            "a Model has one folder"
        )
        raise errors.InputError(message)


def _checked_folder(folder: str, option: str) -> bool:
    """Makes the folder if it is missing; False if the system refuses that. Raises: InputError."""
    what = f"{option} is {errors.shown(folder)}"
    try:
        about = _made(folder)
    except (FileExistsError, NotADirectoryError):
        about = None
    except OSError:
        return False
    if about is None or not stat.S_ISDIR(about.st_mode):
        message = f"{what}, which is not a folder: packed weights are kept in one"
        raise errors.InputError(message)
    if hasattr(os, "geteuid") and about.st_uid != os.geteuid():
        message = (
            f"{what}, which belongs to user {about.st_uid}: must belong to user {os.geteuid()}, because who writes there "
            "changes results"
        )
        raise errors.InputError(message)
    if hasattr(os, "geteuid") and about.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(about.st_mode)
        message = f"{what}, of mode {mode:04o}, in which others may write: must be {mode & ~_OTHERS_WRITE:04o}, or 0700"
        raise errors.InputError(message)
    return True


def _made(folder: str) -> os.stat_result:
    """The folder, made if it is missing. Raises: OSError."""
    try:
        return os.stat(folder)  # noqa: PTH116 - importing pathlib takes longer than taking the weights
    except FileNotFoundError:
        from pathlib import Path

        path = Path(folder)
        path.mkdir(0o700, parents=True, exist_ok=True)
        return path.stat()


class PackedCache:
    """The file of one Model. Whatever cannot be read or written there is packed in memory, as without a cache."""

    def __init__(self, file: File, origin: Origin, folder: str) -> None:
        self.folder: str = folder
        self._model = os.path.realpath(origin.path)
        self.path: str = f"{folder}{os.sep}{packed.file_name(self._model)}"
        """The file with the packed weights; it need not be there."""
        self._store = file.store
        self._taken: tuple[int, int, int] | None = None  # the file that was taken or written last
        self._writing = threading.Lock()
        packed.keep(self._store, file, origin)
        self._use(packed.take)

    def _use(self, how: Callable[[Store, int, int], None]) -> None:
        """Takes weights from the file, or shares its memory, if it is there, is not the last one, and fits."""
        try:
            descriptor = os.open(self.path, _FLAGS)
        except OSError:
            return
        try:
            about = os.fstat(descriptor)
            if stat.S_ISREG(about.st_mode) and _identity(about) != self._taken:
                self._taken = _identity(about)
                how(self._store, descriptor, about.st_size)
        except (OSError, MemoryError, errors.MiniliteError):  # damaged, or of another model
            pass
        finally:
            os.close(descriptor)

    def asking(self, graph: Graph) -> Callable[[], int]:
        """Returns the call that says how many bytes were packed that the file has not: one call into C, because each
        allocation asks."""
        return packed.asking(graph)

    def keep(self, graph: Graph) -> None:
        """Writes the weights that were packed into the file; those that another process wrote stay in it."""
        if not self._writing.acquire(blocking=False):
            return
        turn: int | None = None
        try:
            turn = _turn(self.folder)
            self._use(packed.take)
            if packed.unkept_bytes(graph):
                self._write(graph)
        except (OSError, MemoryError):
            pass
        finally:
            if turn is not None:
                os.close(turn)
            self._writing.release()

    def _write(self, graph: Graph) -> None:
        from pathlib import Path  # only who packs first waits for these imports

        from minilite.writing import write_whole

        path = Path(self.path)
        if path.exists() and not path.is_file():  # a pipe, say, which write_whole would write to
            return
        write_whole(path, packed.pieces(graph, self._model), synced=True)
        self._use(packed.share)


def _turn(folder: str) -> int | None:
    """Waits until no other process writes to the folder, so that those that begin together share one file; no longer
    than such a file takes. A descriptor that holds the turn until it is closed; None where the system has no locks, or
    the folder can only be written to."""
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # there is no fcntl on Windows
        return None
    end = time.monotonic() + _LONGEST_TURN
    try:
        while time.monotonic() < end:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:  # the file system has no locks
                break
            else:
                break
    except BaseException:  # Ctrl-C
        os.close(descriptor)
        raise
    return descriptor


def _identity(about: os.stat_result) -> tuple[int, int, int]:
    return about.st_ino, about.st_size, about.st_mtime_ns
