"""Arrays that begin or end at protected memory: a read or write outside of them kills the process."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
from numpy.typing import NDArray

_PROT_NONE = 0


def _mapped(values: NDArray, before: bool) -> NDArray:
    page = mmap.PAGESIZE
    room = -(-max(values.nbytes, 1) // page) * page
    memory = mmap.mmap(-1, room + page)
    whole = np.frombuffer(memory, np.uint8)
    guard = whole.ctypes.data + (0 if before else room)
    if ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), _PROT_NONE):
        raise OSError(ctypes.get_errno(), "mprotect")
    start = page if before else room - values.nbytes
    placed = whole[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    placed[...] = values
    return placed


def at_end(values: NDArray) -> NDArray:
    """A copy of `values` whose last byte is the last of a page, before one that may not be touched."""
    return _mapped(values, before=False)


def at_start(values: NDArray) -> NDArray:
    """A copy of `values` whose first byte is the first of a page, after one that may not be touched."""
    return _mapped(values, before=True)


def shifted(values: NDArray, elements: int) -> NDArray:
    """A copy of `values` that begins `elements` elements after a multiple of 64 bytes."""
    room = np.empty(values.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + elements * values.itemsize
    placed = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    placed[...] = values
    return placed
