"""Reads images for a tensor: scaled to its height and width, with its number of channels."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite.errors import InputError
from minilite.inputs.feed import Feed, Fit, Reading, Shape
from minilite.inputs.foreign import foreign

if TYPE_CHECKING:
    from minilite.format.model import Array

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")
"""The formats that are read: only common ones, because images may come from untrusted sources."""
BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"BM", b"GIF8", b"II*\0", b"MM\0*", b"P5", b"P6")


class Layout(NamedTuple):
    """The height, width and channels of a tensor that takes an image; -1 for any size."""

    height: int
    width: int
    channels: int
    first: bool
    """True if channels come before height and width."""
    shape: Shape

    def arranged(self, pixels: Array) -> Array:
        """Returns an array (height, width, channels) in the tensor's order and rank."""
        array = np.ascontiguousarray(pixels.transpose(2, 0, 1)) if self.first else pixels
        rank = len(self.shape)
        if rank == 2 or (rank == 3 and self.shape[0] == 1 and self.channels == 1 and not self.first):
            array = array[..., 0]
        return array[None] if array.ndim < rank else array


def is_image(data: bytes) -> bool:
    """True if the bytes begin like an image."""
    return data.startswith(BEGINNINGS) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")


def layout(feed: Feed) -> Layout:
    """Finds the dimensions of an image in a tensor: (batch of 1, height, width, channels), channels first, or without
    some of them. Raises: InputError."""
    found = _layout(tuple(feed.shape))
    if found is None or 1 in (found.height, found.width) or (len(found.shape) == 2 and feed.shape.count(-1) == 1):
        message = f"{feed.label()} takes no image: an image has height, width and 1, 3 or 4 channels, and a batch of 1"
        raise feed.error(message)
    return found


def _layout(shape: Shape) -> Layout | None:
    if len(shape) == 2:
        return Layout(*shape, 1, False, shape)
    inner = shape[1:] if len(shape) == 4 else shape
    if len(inner) != 3 or (len(shape) == 4 and shape[0] not in (1, -1)):
        return None
    if inner[2] in _MODES:
        return Layout(inner[0], inner[1], inner[2], False, shape)
    if inner[0] in _MODES and not (len(shape) == 3 and inner[0] == 1):
        return Layout(inner[1], inner[2], inner[0], True, shape)
    if len(shape) == 3 and inner[0] in (1, -1):
        return Layout(inner[1], inner[2], 1, False, (1, *inner[1:]))
    return None


def read_image(data: bytes, name: str, feed: Feed) -> Reading:
    """Reads the bytes of an image file for the tensor, fitted to its height and width as `feed.fit` says. Raises:
    InputError."""
    wanted = layout(feed)
    image = opened(data, name)
    size, mode = image.size, image.mode
    width = wanted.width if wanted.width > 0 else size[0]
    height = wanted.height if wanted.height > 0 else size[1]
    done = [f"{size[0]}x{size[1]} {mode}"]
    with foreign(f"{name} is an image that cannot be converted"):
        image = image.convert(_MODES[wanted.channels])
        if (width, height) != size:
            image, how = _fitted(image, (width, height), feed.fit)
            done.append(how)
        pixels = np.asarray(image, np.uint8).reshape(height, width, wanted.channels)
    made = feed.of_pixels(pixels)
    return Reading(wanted.arranged(made.array), ", ".join([*done, *filter(None, [made.note])]), size, (width, height))


def _fitted(image: Any, size: tuple[int, int], fit: Fit) -> tuple[Any, str]:
    """Fits an image to this width and height; returns it and how it was fitted. Proportions count as different if a
    side is off by a pixel or more."""
    from PIL import Image, ImageOps

    how, (width, height) = f"scaled to {size[0]}x{size[1]}", size
    kept = abs(image.width * height - image.height * width) < max(image.width, image.height)
    if fit == "stretch" or kept:
        return image.resize(size, Image.Resampling.BILINEAR), how if kept else f"stretched: {how}"
    if fit == "crop":
        return ImageOps.fit(image, size, Image.Resampling.BILINEAR), f"the middle, {how}"
    scale = min(width / image.width, height / image.height)
    inner = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    padded = Image.new(image.mode, size)
    corner = round((width - inner[0]) / 2), round((height - inner[1]) / 2)
    padded.paste(image.resize(inner, Image.Resampling.BILINEAR), corner)
    return padded, f"padded with black, {how}"


def opened(data: bytes, name: str) -> Any:
    """Opens an image, upright, with 8 bits per channel. Raises: InputError."""
    try:
        from PIL import Image, ImageOps
    except ImportError:
        message = f"{name} is an image, and reading one takes Pillow: pip install pillow"
        raise InputError(message) from None
    with foreign(f"{name} is an image that cannot be read"), warnings.catch_warnings():
        warnings.simplefilter("error")  # makes Pillow's warning of very large images an error
        image: Image.Image = Image.open(io.BytesIO(data), formats=_FORMATS)
        image.load()
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I;16"):
            return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        message = f"{name} is an image of {image.mode} elements, must have 8 or 16 bits per channel"
        raise InputError(message)
    return image
