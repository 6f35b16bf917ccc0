"""Draws boxes, masks and maps of classes into a picture, and converts places of a model's input to its pixels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.errors import InputError
from minilite.inputs.feed import Fit
from minilite.inputs.image import opened

if TYPE_CHECKING:
    from minilite.format.model import Array

Box = tuple[float, float, float, float]
_COLOURS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#f032e6")
_LETTERS = 40
"""The longer side of a picture in heights of its labels."""
_LEAST_LETTER = 11
_PALETTES = (".png", ".gif", ".bmp", ".tif", ".tiff")
"""The suffixes of formats that keep numbers and a palette."""
_MASKED = 0.55
"""The share of its colour that a class or a mask has in a picture."""


def input_in_picture(size: tuple[int, int], seen: tuple[int, int], fit: Fit) -> Box:
    """Returns where the model's input lies in pixels of the picture: left, top, right, bottom. It may reach beyond the
    picture, which was padded. `seen` is the width and height that the picture of `size` was fitted to."""
    scales = (seen[0] / size[0], seen[1] / size[1])
    edges = []
    for length, wanted in zip(size, seen, strict=True):
        scale = {"crop": max(scales), "pad": min(scales)}.get(fit, wanted / length)
        extent = wanted / scale  # the size of the model's input in pixels of the picture, around its middle
        edges.append(((length - extent) / 2, (length + extent) / 2))
    (left, right), (top, bottom) = edges
    return left, top, right, bottom


def in_picture(box: Box, size: tuple[int, int], seen: tuple[int, int], fit: Fit) -> Box:
    """Converts a box (top, left, bottom, right, in fractions of the model's input) to pixels of the picture: left, top,
    right, bottom, cut to its edges."""
    left, top, right, bottom = input_in_picture(size, seen, fit)

    def at(start: float, end: float, fraction: float, length: int) -> float:
        return min(max(start + fraction * (end - start), 0.0), float(length))

    return (
        at(left, right, box[1], size[0]), at(top, bottom, box[0], size[1]),
        at(left, right, box[3], size[0]), at(top, bottom, box[2], size[1]),
    )  # fmt: skip


def draw_boxes(source: str, data: bytes, boxes: Sequence[tuple[Box, str, int]], target: Path) -> None:
    """Writes a picture with boxes in it, each with a text and a number that chooses its colour. Raises: InputError."""
    from PIL import ImageDraw

    image = opened(data, source).convert("RGB")
    draw = ImageDraw.Draw(image)
    thick = max(2, round(max(image.size) / 250))
    font = _font(image.size)
    taken: list[Box] = []
    for (left, top, right, bottom), _, number in reversed(boxes):  # draws the best last, on top
        shape = (left, top, max(left, right), max(top, bottom))
        draw.rectangle(shape, outline=_COLOURS[number % len(_COLOURS)], width=thick)
    for (left, top, _, _), text, number in boxes:  # the best take their places first
        label = _place(draw.textbbox((0, 0), text, font=font), (left, top), taken, image.size)
        taken.append(label)
        draw.rectangle(label, fill=_COLOURS[number % len(_COLOURS)])
        draw.text((label[0] + 2, label[1] + 1), text, fill="white", font=font, anchor="lt")
    save(image, target)


def _font(size: tuple[int, int]) -> Any:
    """Returns a font whose letters grow with the picture; Pillow before 10.1 has one size."""
    from PIL import ImageFont

    try:
        return ImageFont.load_default(max(_LEAST_LETTER, round(max(size) / _LETTERS)))
    except (TypeError, ImportError):
        return ImageFont.load_default()


def _place(extent: Sequence[float], corner: tuple[float, float], taken: Sequence[Box], size: tuple[int, int]) -> Box:
    """Returns the rectangle of a label: above its box's corner, or at the next free place below, within the picture."""
    width, height = extent[2] - extent[0] + 4, extent[3] - extent[1] + 4
    left = max(0.0, min(corner[0], size[0] - width))
    wanted = max(0.0, corner[1] - height)
    tops = [wanted, *sorted({box[3] + 1 for box in taken if box[3] >= wanted})]
    top = next((each for each in tops if each + height <= size[1] and _free(left, each, width, height, taken)), wanted)
    return left, top, left + width, top + height


def _free(left: float, top: float, width: float, height: float, taken: Sequence[Box]) -> bool:
    return not any(
        left <= box[2] and box[0] <= left + width and top <= box[3] and box[1] <= top + height for box in taken
    )


def draw_over(
    source: str, data: bytes, colours: Array, shares: Array, place: Box, legend: Sequence[tuple[str, Any]], target: Path
) -> None:
    """Writes a picture with colours over it: `colours` (height, width, 3) and `shares` (height, width, from 0 to 1) are
    stretched to `place` in its pixels; and a legend of names and colours. Raises: InputError."""
    from PIL import Image, ImageDraw

    image = opened(data, source).convert("RGB")
    left, top, right, bottom = (round(side) for side in place)
    size = (max(right - left, 1), max(bottom - top, 1))
    smooth = Image.Resampling.BILINEAR
    layer = Image.fromarray(np.ascontiguousarray(colours)).resize(size, Image.Resampling.NEAREST)
    alpha = Image.fromarray(np.round(255 * _MASKED * shares).astype(np.uint8)).resize(size, smooth)
    image.paste(layer, (left, top), alpha)
    if legend:
        _legend(image, ImageDraw.Draw(image), legend)
    save(image, target)


def _legend(image: Any, draw: Any, legend: Sequence[tuple[str, Any]]) -> None:
    """Draws names beside squares of their colours, one below the other."""
    font = _font(image.size)
    top = 4.0
    for text, colour in legend:
        extent = draw.textbbox((0, 0), text, font=font, anchor="lt")
        height = extent[3] - extent[1] + 6
        draw.rectangle((4, top, 4 + height + extent[2] + 8, top + height), fill="black")
        draw.rectangle((6, top + 2, 2 + height, top + height - 2), fill=colour)
        draw.text((8 + height, top + 3), text, fill="white", font=font, anchor="lt")
        top += height


def save(image: Any, target: Path) -> None:
    """Writes an image of Pillow's in the format of its suffix. Raises: InputError."""
    try:
        image.save(target)
    except (OSError, ValueError) as error:  # a folder that is missing, or a suffix of no format
        message = f"could not write {target}: {' '.join(str(error).split())}"
        raise InputError(message) from None


def save_pixels(pixels: Array, palette: Sequence[int] | None, target: Path) -> None:
    """Writes uint8 pixels (height, width[, 3]); with `palette`, red, green and blue of 256 numbers, they are numbers.
    Formats without palettes get their colours. Raises: InputError."""
    try:
        from PIL import Image
    except ImportError:
        message = f"{target}: writing a picture takes Pillow: pip install pillow"
        raise InputError(message) from None
    image = Image.fromarray(np.ascontiguousarray(pixels))
    if palette is not None:
        image.putpalette(palette)
        image = image if target.suffix.lower() in _PALETTES else image.convert("RGB")
    save(image, target)
