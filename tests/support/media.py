"""Makes image, audio and text files from which inputs are read."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Array = NDArray[Any]


def png(pixels: Any, kind: str = "PNG", mode: str | None = None, **options: Any) -> bytes:
    """An image file of an array (height, width[, channels])."""
    file = io.BytesIO()
    image = Image.fromarray(np.asarray(pixels))
    (image.convert(mode) if mode else image).save(file, kind, **options)
    return file.getvalue()


def wav(samples: Any, rate: int = 16000, width: int = 2) -> bytes:
    """A .wav file of integers (frames[, channels]), `width` bytes each."""
    array = np.asarray(samples)
    array = array[:, None] if array.ndim == 1 else array
    raw = array.astype("<i4").tobytes()
    packed = (array + 128).astype(np.uint8).tobytes() if width == 1 else b"".join(
        raw[i : i + width] for i in range(0, len(raw), 4)
    )  # fmt: skip
    file = io.BytesIO()
    with wave.open(file, "wb") as made:
        made.setnchannels(array.shape[1])
        made.setsampwidth(width)
        made.setframerate(rate)
        made.writeframes(packed)
    return file.getvalue()


def npy(array: Any) -> bytes:
    """A .npy file."""
    file = io.BytesIO()
    np.save(file, np.asarray(array))
    return file.getvalue()


def npz(**arrays: Any) -> bytes:
    """A .npz file."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()
