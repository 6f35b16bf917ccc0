"""Windows for the depthwise primitives: packed weights, calls with numpy arrays, the expected results by numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from primitives import Place, pointer

from minilite._core import ffi

PANEL = 16


class Window(NamedTuple):
    """The windows of pixels on an image of (lines, columns, channels)."""

    height: int
    width: int
    pixels: int
    tap_step: int = 1
    """Columns from tap to tap, and from pixel to pixel."""
    pixel_step: int = 1
    first: int = 0
    """The column of the first tap of the first pixel."""

    @property
    def columns(self) -> int:
        return self.first + (self.pixels - 1) * self.pixel_step + (self.width - 1) * self.tap_step + 1


WINDOWS = [
    *(Window(3, width, pixels, 1, step) for width in (3, 5) for step in (1, 2) for pixels in (1, 2, 7, 15)),
    *(Window(2, width, 1) for width in (1, 2, 4, 6)),
    Window(3, 3, 13, 2, 3, 1),
    Window(1, 7, 9, 1, 1, 2),
    Window(5, 5, 6, 2, 1),
    Window(0, 3, 5),
    Window(3, 140, 9),
    Window(33, 5, 10),
    Window(50, 3, 6, 1, 2),
]


def pack(weights: NDArray) -> NDArray:
    """Packs weights (height, width, n, ...) as panels (panels, height, width, 16, ...), filled up with zeros."""
    height, width, n, *rest = weights.shape
    panels = -(-n // PANEL)
    padded = np.zeros((height, width, panels * PANEL, *rest), weights.dtype)
    padded[:, :, :n] = weights
    split = padded.reshape(height, width, panels, PANEL, *rest)
    return np.ascontiguousarray(np.moveaxis(split, 2, 0))


def depthwise(
    run: Any,
    lines: Sequence[NDArray],
    window: Window,
    packed: NDArray,
    y: NDArray,
    start: NDArray | None = None,
    low: float = -np.inf,
    high: float = np.inf,
) -> NDArray:
    """Calls depthwise_f32 or depthwise_s8 on lines of (columns, n, 4 bytes) into y, (pixels, n)."""
    n = y.shape[1]
    pointers = ffi.new("void *[]", [pointer(line, "void *") for line in lines] or [ffi.NULL])
    fields = {
        "lines": pointers,
        "rows": 1,
        "first": window.first * n,
        "height": window.height,
        "width": window.width,
        "tap_step": window.tap_step * n,
        "pixel_step": window.pixel_step * n,
        "pixels": window.pixels,
        "n": n,
        "packed": pointer(packed, "void *"),
        "packed_line": window.width * PANEL,
        "packed_panel": window.height * window.width * PANEL,
        "start": pointer(start, "void *"),
        "y": pointer(y, "void *"),
        "low": low,
        "high": high,
    }
    run(ffi.new("ml_depthwise_args *", fields))
    return y


def taps(image: NDArray, window: Window) -> NDArray:
    """Returns the window of each pixel, (pixels, height, width, n, ...)."""
    pixel, tap = np.arange(window.pixels)[:, None], np.arange(window.width)
    columns = window.first + pixel * window.pixel_step + tap * window.tap_step
    return image[: window.height][:, columns].swapaxes(0, 1)


def placed(image: NDArray, window: Window, place: Place) -> list[NDArray]:
    """The image's lines, each where `place` puts it, none longer than the window sees."""
    return [place(np.ascontiguousarray(line[: window.columns])) for line in image[: window.height]]
