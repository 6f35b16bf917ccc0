"""Calls of the primitives that blend pixels of four, and the shapes that their tests share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, Place, pointer

from minilite._core import ffi

PLACES: list[Place] = [at_end, at_start, lambda values: shifted(values, 1)]
CHANNELS = [1, 3, 7, 8, 9, 15, 16, 17, 33, 64, 70]
COLUMNS = [(0, 0), (0, 1), (2, 3), (4, 4), (3, 4), (1, 2), (0, 1)]
"""The two columns of each pixel, of five."""


AFTER = [(0, 0), (3, 0), (70, 0), (70, 9), (70, 70)]
"""Elements after each line, and after the last pixel, that a primitive may touch."""


def blend(
    level: str,
    name: str,
    lines: NDArray,
    down: Any,
    across: NDArray,
    y: NDArray,
    room: NDArray | None = None,
    after: tuple[int, int] = (0, 0),
) -> NDArray:
    """Blends lines (2, 5, n) into y, (7, n): `down` of the lower one, across[i] of the second column. As many elements
    as `after` has lie after each line and after y."""
    kind = "fixed" if across.dtype.kind == "i" else "real"
    taps = ffi.new("ml_blend_tap[]", len(COLUMNS))
    for tap, (first, second), part in zip(taps, COLUMNS, across, strict=True):
        tap.first, tap.second = first, second
        setattr(tap.part, kind, part.item())
    fields = {
        "upper": pointer(lines[0], "void *"),
        "lower": pointer(lines[1], "void *"),
        "down": {kind: down},
        "taps": taps,
        "pixels": len(COLUMNS),
        "n": lines.shape[2],
        "y": pointer(y, "void *"),
        "columns": lines.shape[1],
        "x_after": after[0],
        "y_after": after[1],
        "room": ffi.NULL if room is None else pointer(room, "float *"),
    }
    getattr(SIMD[level], name)(ffi.new("ml_blend_args *", fields))
    return y


def everywhere(
    level: str, name: str, lines: NDArray, down: Any, across: NDArray, weighs: bool = False
) -> Iterator[NDArray]:
    """Blends lines at the end and at the start of memory, and with elements after them, and after y, that may be
    touched: NaN, or the greatest number; with room for columns, if they are weighed."""
    n, most = lines.shape[2], np.nan if lines.dtype.kind == "f" else np.iinfo(lines.dtype).max
    for place, after in itertools.product(PLACES, AFTER):
        whole = np.full((2, 5 * n + after[0]), most, lines.dtype)
        whole[:, : 5 * n] = lines.reshape(2, -1)
        x = place(whole)[:, : 5 * n].reshape(2, 5, n)
        y = place(np.zeros(len(COLUMNS) * n + after[1], lines.dtype))[: len(COLUMNS) * n].reshape(-1, n)
        room = place(np.zeros(lines.shape, np.float32)) if weighs else None
        yield blend(level, name, x, down, across, y, room, after)


def corners(lines: NDArray) -> list[NDArray]:
    """Upper left, lower left, upper right, lower right of each pixel, (7, n) each."""
    first, second = np.array(COLUMNS).T
    return [lines[0, first], lines[1, first], lines[0, second], lines[1, second]]
