"""Picture: an output that is an image, a mask or a map of classes, as pixels."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from minilite.format.model import Array
    from minilite.report.results import Output

_LEAST = 8
"""The least height and width of a picture: smaller arrays are features."""
_MOST_CLASSES = 256
_MOST_OF_BYTES = 64
_SHARES = 4
"""The number of classes whose shares are named."""
Kind = Literal["image", "mask", "classes"]


class Picture(NamedTuple):
    """An output as pixels."""

    kind: Kind
    pixels: Array
    """uint8: (height, width, 3) of an image; (height, width) of a mask, 255 for its greatest value, or of the numbers
    of classes."""
    note: str
    """The range of the values, or the way in which they became classes."""
    labels: Sequence[str] = ()

    def shares(self) -> list[tuple[int, float]]:
        """Returns the classes of a map and their shares of its pixels, greatest first."""
        numbers, counts = np.unique(self.pixels, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return [(int(numbers[at]), float(counts[at]) / self.pixels.size) for at in order]

    def name(self, number: int) -> str:
        """Returns the label of a class, or its number."""
        return self.labels[number] if number < len(self.labels) and self.labels[number] else str(number)

    def shares_text(self) -> str:
        """Returns the shares in words: ``background: 81 %, cat: 19 %``."""
        shares = self.shares()
        told = [f"{self.name(number)}: {100 * share:.3g} %" for number, share in shares[:_SHARES]]
        return ", ".join(told) + (f" and {len(shares) - _SHARES} more classes" if len(shares) > _SHARES else "")

    def palette(self) -> list[int] | None:
        """Returns red, green and blue of each number of a class; None for other pictures."""
        return [part for number in range(_MOST_CLASSES) for part in colour(number)] if self.kind == "classes" else None

    def colours(self) -> Array:
        """Returns RGB pixels (height, width, 3): a mask in greys, classes in the colours of `colour`."""
        if self.kind == "classes":
            return np.array([colour(number) for number in range(_MOST_CLASSES)], np.uint8)[self.pixels]
        return self.pixels if self.kind == "image" else np.repeat(self.pixels[..., None], 3, axis=-1)


def colour(number: int) -> tuple[int, int, int]:
    """Returns the colour of a class: black for 0, which is the background in most maps; others far apart in hue."""
    if number == 0:
        return 0, 0, 0
    hue = number * 0.618033988749895 % 1  # steps of the golden ratio keep neighbours apart
    red, green, blue = colorsys.hsv_to_rgb(hue, (0.85, 0.6)[number // 8 % 2], (1.0, 0.75)[number // 4 % 2])
    return round(255 * red), round(255 * green), round(255 * blue)


def picture_of(output: Output) -> Picture | None:
    """Returns an output as a picture; None if its shape is that of something else.

    (height, width) with a batch of 1, and one channel: a mask, or classes if the values are integers without a scale
    or labels' numbers; three channels: an image; more, two, or as many as labels: scores of classes.
    """
    array = output.array
    if array.ndim and array.shape[0] == 1 and array.ndim in (3, 4):
        array = array[0]
    if array.dtype.kind not in "fiub" or array.ndim not in (2, 3):
        return None
    if array.ndim == 3 and array.shape[0] in (1, 3) and array.shape[2] > 4:
        array = array.transpose(1, 2, 0)
    if min(array.shape[:2]) < _LEAST or (array.ndim == 3 and array.shape[2] > _MOST_CLASSES):
        return None
    labels = output.labels
    channels = 1 if array.ndim == 2 else array.shape[2]
    if channels == 1:
        flat = array.reshape(array.shape[:2])
        scaled = bool(output.tensor.quantization.scales)
        if labels.of_values or (flat.dtype.kind in "iu" and not scaled and _are_classes(flat)):
            return Picture("classes", _as_classes(flat), "numbers of classes", labels.texts)
        pixels, note = _pixels(output._replace(array=flat).values)
        return Picture("mask", pixels, note)
    if channels == 3 and len(labels.texts) != 3:
        pixels, note = _pixels(output._replace(array=array).values)
        return Picture("image", pixels, note)
    texts = labels.texts if len(labels.texts) == channels and not labels.of_values else ()
    best = np.argmax(array, axis=-1).astype(np.uint8)
    return Picture("classes", best, f"the greatest of {channels} scores", texts)


def _are_classes(array: Array) -> bool:
    """True if integers can be numbers of classes; bytes that go beyond _MOST_OF_BYTES are greys."""
    most = _MOST_OF_BYTES if array.dtype == np.uint8 else _MOST_CLASSES
    return bool(array.size) and int(array.min()) >= 0 and int(array.max()) < most


def _as_classes(array: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.clip(np.nan_to_num(array.astype(np.float64)), 0, _MOST_CLASSES - 1).astype(np.uint8)


def _pixels(values: Array) -> tuple[Array, str]:
    """Converts real numbers to bytes: by the range in which they lie, 0 to 1, -1 to 1 or 0 to 255, a little more
    allowed; else from the least to the greatest."""
    values = np.nan_to_num(values.astype(np.float64), nan=0.0)
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    for least, most, slack in ((0.0, 1.0, 0.05), (-1.0, 1.0, 0.1), (0.0, 255.0, 4.0)):
        if least - slack <= low and high <= most + slack and (most < 255 or high > 2):
            break
    else:
        least, most = low, high
    scaled = (values - least) * (255 / ((most - least) or 1.0))
    return np.clip(np.round(scaled), 0, 255).astype(np.uint8), f"{least:.4g} to {most:.4g} became 0 to 255"


def spread_text(values: Array) -> str:
    """Returns the range of many values: ``0.00012 to 0.998, mean 0.31``; integers of few values with their shares."""
    if values.dtype.kind in "iub":
        numbers, counts = np.unique(values, return_counts=True)
        if len(numbers) <= _MOST_CLASSES // 8:
            order = np.argsort(-counts, kind="stable")[:_SHARES]
            told = ", ".join(f"{numbers[at]}: {100 * counts[at] / values.size:.3g} %" for at in order)
            return told + (" ..." if len(numbers) > _SHARES else "")
    there = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    lost = values.size - there.size
    if not there.size:
        return "none is finite"
    text = f"{there.min():.6g} to {there.max():.6g}, mean {there.mean(dtype=np.float64):.6g}"
    return text + (f", {lost} not finite" if lost else "")
