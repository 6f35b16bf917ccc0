"""Calls of the pooling primitives with numpy arrays, and the windows that their tests share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, Place, pointer

from minilite._core import ffi

PLACES: list[Place] = [at_end, at_start, lambda values: shifted(values, 1)]
CHANNELS = [1, 3, 7, 8, 15, 16, 17, 33, 64, 65, 130, 300, 600]


class Window(NamedTuple):
    """Windows of (height, width), `step` columns apart."""

    height: int
    width: int
    step: int
    pixels: int

    @property
    def columns(self) -> int:
        return (self.pixels - 1) * self.step + self.width


WINDOWS = [Window(2, 2, 2, 3), Window(3, 3, 2, 2), Window(3, 3, 1, 5), Window(1, 1, 1, 4), Window(4, 7, 3, 2), Window(7, 5, 1, 1), Window(2, 2, 2, 71), Window(3, 3, 1, 66), Window(3, 3, 2, 21)]  # fmt: skip
AFTER = [(0, 0), (9, 0), (0, 9), (200, 200)]
"""Elements after an image, and after its pools, that a primitive may touch."""


def pool(
    level: str,
    name: str,
    image: NDArray,
    window: Window,
    y: NDArray,
    limits: tuple[float, float] = (-np.inf, np.inf),
    after: tuple[int, int] = (0, 0),
) -> NDArray:
    """Pools an image of (height, columns, n) into y, (pixels, n); limits are y's where they are infinite. As many
    elements as `after` has lie after both arrays."""
    n, integer = image.shape[2], y.dtype.kind != "f"
    low, high = (np.iinfo(y.dtype).min, np.iinfo(y.dtype).max) if integer else limits
    if integer and np.isfinite(limits).all():
        low, high = (int(limit) for limit in limits)
    fields = {
        "x": pointer(image, "void *"),
        "height": window.height,
        "width": window.width,
        "line_step": window.columns * n,
        "pixel_step": window.step * n,
        "pixels": window.pixels,
        "n": n,
        "y": pointer(y, "void *"),
        "x_after": after[0],
        "y_after": after[1],
        "is_signed": y.dtype == np.int8,
    }
    fields |= {"low": low, "high": high} if integer else {"minimum": low, "maximum": high}
    getattr(SIMD[level], name)(ffi.new("ml_pool_args *", fields))
    return y


def everywhere(level: str, name: str, image: NDArray, window: Window) -> Iterator[NDArray]:
    """Pools an image at the end and at the start of memory, and with elements after it, and after y, that may be
    touched: NaN, or the greatest number."""
    most = np.nan if image.dtype.kind == "f" else np.iinfo(image.dtype).max
    for place, after in itertools.product(PLACES, AFTER):
        x = place(np.append(image, np.full(after[0], most, image.dtype)))[: image.size].reshape(image.shape)
        y = place(np.zeros(window.pixels * image.shape[2] + after[1], image.dtype))
        yield pool(level, name, x, window, y[: y.size - after[1]].reshape(window.pixels, -1), after=after)


def windows(image: NDArray, window: Window) -> NDArray:
    """Returns the window of each pixel, (pixels, height * width, n), lines after each other."""
    starts = range(0, window.pixels * window.step, window.step)
    return np.stack([image[:, start : start + window.width].reshape(-1, image.shape[2]) for start in starts])
