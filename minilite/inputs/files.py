"""Reads a file as the array for a tensor; the file's first bytes tell its kind."""

from __future__ import annotations

import io
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.errors import InputError, InputTypeError
from minilite.format.dtypes import ENCODED, TensorType, array_type
from minilite.format.origin import looks_like, why_not_opened
from minilite.inputs.feed import Feed, Reading
from minilite.inputs.foreign import foreign
from minilite.inputs.image import is_image, read_image
from minilite.inputs.sound import read_sound
from minilite.inputs.wav import is_wav

if TYPE_CHECKING:
    from minilite.format.model import Array

STDIN = "-"
_NPY, _ZIP, _MODEL = b"\x93NUMPY", b"PK\x03\x04", b"TFL3"


def read_source(path: str | os.PathLike[str]) -> bytes:
    """Returns the bytes of a file; "-" is the standard input. Raises: InputError."""
    if not isinstance(path, str | os.PathLike):
        message = f"path is of type {type(path).__name__}, must be a path; pass arrays to run() directly"
        raise InputTypeError(message)
    if path == STDIN:
        with foreign("could not read standard input"):
            return _standard_input()
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        message = f"could not open {str(path)!r}: {reason}{why_not_opened(str(path))}"
        raise InputError(message) from None


def _standard_input() -> bytes:
    if sys.stdin is None:
        message = "standard input is closed"
        raise InputError(message)
    return sys.stdin.buffer.read()


def load_input(path: str | os.PathLike[str], feed: Feed) -> Reading:
    """Reads a file as the array for a tensor: .npy, .npz with one array, an image, .wav, lines of text for strings, or
    raw bytes.

    The kind of a file is found from its first bytes, not from its name. Raises: InputError.
    """
    if not isinstance(feed, Feed):
        message = f"feed is of type {type(feed).__name__}, must be a Feed: Feed.of(model.subgraphs[0].tensors[0])"
        raise InputTypeError(message)
    return read_input(read_source(path), "standard input" if path == STDIN else str(path), feed)


def read_input(data: bytes, name: str, feed: Feed) -> Reading:
    """Reads the bytes of a file as `load_input` does; `name` is the file's name in messages."""
    if data[4:8] == _MODEL:
        message = f"{name} is a .tflite model, not data for {feed.label()}"
        raise feed.error(message)
    if data.startswith(_NPY):
        return fitting(load_array(data, name), name, feed)
    if data.startswith(_ZIP):
        return _of_archive(load_archive(data, name), name, feed)
    if is_image(data):
        return read_image(data, name, feed)
    if is_wav(data):
        return read_sound(data, name, feed)
    if feed.tensor.type == TensorType.STRING:
        return _lines(data)
    return _raw(data, name, feed)


def load_array(data: bytes, name: str) -> Array:
    """Returns the array of a .npy file's bytes. Raises: InputError."""
    return _array_of(io.BytesIO(data), name)


def map_array(path: str) -> Array:
    """Maps the array of a .npy file, so that only the parts in use are read. Raises: InputError."""
    if not Path(path).exists():
        message = f"could not open {path!r}: no such file or directory{why_not_opened(path)}"
        raise InputError(message)
    return _array_of(path, path, mmap_mode="r")


def _array_of(source: Any, name: str, **options: Any) -> Array:
    rule = ", must be of numbers or strings"
    try:
        with foreign(f"{name} is a .npy file that cannot be read", rule):
            array = np.load(source, allow_pickle=False, **options)
    except InputError as error:
        if "Object arrays" not in str(error):
            raise
        message = f"{name} is a .npy file of objects{rule}"
        raise InputError(message) from None
    if not isinstance(array, np.ndarray):
        message = f"{name} is not a .npy file, but an archive"
        raise InputError(message)
    return array


def load_archive(data: bytes, name: str) -> dict[str, Array]:
    """Returns the arrays of a .npz file by name. Raises: InputError."""
    what = f"{name} is a zip archive that cannot be read as .npz file"
    with foreign(what), np.load(io.BytesIO(data), allow_pickle=False) as archive:
        found = {key: archive[key] for key in archive.files}
    if not found or not all(isinstance(array, np.ndarray) for array in found.values()):
        message = f"{name} is a zip archive that holds no arrays, not an .npz file"
        raise InputError(message)
    return found


def _of_archive(arrays: dict[str, Array], name: str, feed: Feed) -> Reading:
    """Returns the array with the tensor's name, or the only one."""
    if feed.tensor.name in arrays:
        return fitting(arrays[feed.tensor.name], name, feed)
    if len(arrays) == 1:
        return fitting(next(iter(arrays.values())), name, feed)
    message = f"{name} has {', '.join(sorted(arrays)[:8])}, and none has the name of {feed.label()}"
    raise feed.error(message)


def fitting(array: Array, name: str, feed: Feed) -> Reading:
    """Converts an array to the tensor's dtype: floats to floats, integers in range to integers, floats to quantized
    integers by the tensor's scale."""
    wanted = array_type(feed.tensor.type)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype == wanted or wanted == object:
        return Reading(array, "")
    kinds = array.dtype.kind + wanted.kind
    if kinds == "ff":
        return Reading(_narrowed(array, wanted, name, feed), f"from {array.dtype}")
    if kinds[0] == "f" and feed.tensor.quantization.scales:
        return feed.of_reals(array)
    if kinds[0] in "iu" and kinds[1] in "iu":
        limits = np.iinfo(wanted)
        if not array.size or (int(array.min()) >= limits.min and int(array.max()) <= limits.max):
            return Reading(array.astype(wanted), f"from {array.dtype}")
        message = (
            f"{name} has values from {array.min()} to {array.max()}, {feed.label()} takes {limits.min} to {limits.max}"
        )
        raise feed.error(message)
    message = f"{name} is of {array.dtype}, {feed.label()} takes {wanted}{_advice(array, wanted)}"
    raise feed.error(message)


def _narrowed(array: Array, wanted: np.dtype[Any], name: str, feed: Feed) -> Array:
    """Converts floats to floats. Raises: InputError where a number would become infinite."""
    with np.errstate(over="ignore"):
        made = array.astype(wanted)
    beyond = np.isinf(made) & np.isfinite(array)
    if beyond.any():
        first = int(np.flatnonzero(beyond)[0])
        greatest = float(np.finfo(wanted).max)
        message = f"{name} has {array.flat[first]:.6g} at element {first}, {feed.label()} takes {wanted} of at most {greatest:.6g}"
        raise feed.error(message)
    return made


def _advice(array: Array, wanted: np.dtype[Any]) -> str:
    if array.dtype == np.uint8 and wanted.kind == "f":
        return ": pixels become floats by (x - mean) / std; give the image file, or save the array as floats"
    return f": save it with .astype('{wanted}')"


def _lines(data: bytes) -> Reading:
    """Returns one string per line."""
    return Reading(np.array([*data.splitlines(), None], object)[:-1], "")


def _raw(data: bytes, name: str, feed: Feed) -> Reading:
    """Takes raw bytes of exactly the tensor's size; their number sets the size of an open dimension. Raises:
    InputError."""
    if feed.tensor.type in ENCODED:
        message = f"{name} is a file of unknown kind, and {feed.label()} takes no raw bytes: give it as .npy"
        raise feed.error(message)
    dtype = array_type(feed.tensor.type)
    open_dims = [at for at, dim in enumerate(feed.shape) if dim < 0]
    row = math.prod(dim for dim in feed.shape if dim >= 0) * dtype.itemsize
    shape = list(feed.shape)
    if len(open_dims) == 1 and row and data and len(data) % row == 0:
        shape[open_dims[0]] = len(data) // row
    else:
        shape = [abs(dim) for dim in shape]
        size = math.prod(shape) * dtype.itemsize
        if len(data) != size:
            guess = looks_like(memoryview(data))
            seems = (
                f"it looks like {guess}, numbers go in as .npy"
                if guess
                else "it is not a .npy, .npz, .wav or image file"
            )
            wants = f"has {size}" if len(open_dims) < 2 else "has any number, and needs a shape, as --shape gives it"
            message = f"{name} has {len(data)} bytes, raw data of {feed.label()} {wants}; {seems}"
            raise feed.error(message)
    return Reading(np.frombuffer(data, dtype).reshape(shape), "raw bytes")
