"""Draws boxes into a picture, and converts the boxes of a model to its pixels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from minilite.errors import InputError
from minilite.inputs.feed import Fit
from minilite.inputs.image import opened

Box = tuple[float, float, float, float]
_COLOURS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#f032e6")


def in_picture(box: Box, size: tuple[int, int], seen: tuple[int, int], fit: Fit) -> Box:
    """Converts a box (top, left, bottom, right, in fractions of the model's input) to pixels of the picture: left, top,
    right, bottom, cut to its edges. `seen` is the width and height that the picture of `size` was fitted to."""
    sides = []
    for low, high, length, wanted in ((1, 3, size[0], seen[0]), (0, 2, size[1], seen[1])):
        scales = (seen[0] / size[0], seen[1] / size[1])
        scale = {"crop": max(scales), "pad": min(scales)}.get(fit, wanted / length)
        extent = wanted / scale  # the size of the model's input in pixels of the picture, around its middle
        start = (length - extent) / 2
        sides.append([min(max(start + box[side] * extent, 0.0), float(length)) for side in (low, high)])
    (left, right), (top, bottom) = sides
    return left, top, right, bottom


def draw_boxes(source: str, data: bytes, boxes: Sequence[tuple[Box, str, int]], target: Path) -> None:
    """Writes a picture with boxes in it, each with a text and a number that chooses its colour. Raises: InputError."""
    from PIL import ImageDraw

    image = opened(data, source).convert("RGB")
    draw = ImageDraw.Draw(image)
    thick = max(2, round(max(image.size) / 250))
    for (left, top, right, bottom), text, number in reversed(boxes):  # draws the best last, on top
        colour = _COLOURS[number % len(_COLOURS)]
        draw.rectangle((left, top, max(left, right), max(top, bottom)), outline=colour, width=thick)
        corner = (left + thick, max(top - 12, 0))
        draw.rectangle(draw.textbbox(corner, text), fill=colour)
        draw.text(corner, text, fill="white")
    try:
        image.save(target)
    except (OSError, ValueError) as error:  # a folder that is missing, or a suffix of no format
        message = f"could not write {target}: {' '.join(str(error).split())}"
        raise InputError(message) from None
