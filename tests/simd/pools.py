"""Calls of the pooling primitives with numpy arrays, and the windows that their tests share."""

from __future__ import annotations

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


WINDOWS = [Window(2, 2, 2, 3), Window(3, 3, 2, 2), Window(3, 3, 1, 5), Window(1, 1, 1, 4), Window(4, 7, 3, 2), Window(7, 5, 1, 1)]  # fmt: skip


def pool(
    level: str,
    name: str,
    image: NDArray,
    window: Window,
    y: NDArray,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> NDArray:
    """Pools an image of (height, columns, n) into y, (pixels, n); limits are y's where they are infinite."""
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
        "is_signed": y.dtype == np.int8,
    }
    fields |= {"low": low, "high": high} if integer else {"minimum": low, "maximum": high}
    getattr(SIMD[level], name)(ffi.new("ml_pool_args *", fields))
    return y


def windows(image: NDArray, window: Window) -> NDArray:
    """Returns the window of each pixel, (pixels, height * width, n), lines after each other."""
    starts = range(0, window.pixels * window.step, window.step)
    return np.stack([image[:, start : start + window.width].reshape(-1, image.shape[2]) for start in starts])
