"""Reads sound for a tensor: samples from -1 to 1, in one row; or window by window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from minilite.errors import InputError
from minilite.format.dtypes import TensorType
from minilite.inputs.feed import Feed, Reading
from minilite.inputs.foreign import foreign
from minilite.inputs.wav import read_header, read_samples
from minilite.numeric import whole

if TYPE_CHECKING:
    from minilite.format.model import Array

HEADER_BYTES = 1 << 16
"""The beginning of a file in which `window_starts` looks for the form of its samples."""
_MOST_CHANNELS = 8


class Sound(NamedTuple):
    """The samples of a file as a tensor takes them, before they are cut to its length."""

    samples: Array
    """(frames, channels), float32."""
    rate: int
    """Frames per second."""
    done: list[str]
    """The changes that were made, in words."""


def read_sound(data: bytes, name: str, feed: Feed) -> Reading:
    """Reads the bytes of a .wav file for the tensor; if its length is fixed, cuts them or adds silence. Raises:
    InputError."""
    sound = load_sound(data, name, feed)
    length = _length(feed)
    done = [*sound.done]
    if 0 <= length < len(sound.samples):
        done.append(f"the first {length} of {len(sound.samples)} samples")
    elif length > len(sound.samples):
        done.append(f"{length - len(sound.samples)} samples of silence added")
    made = window(sound, 0, feed)
    return Reading(made.array, ", ".join([*done, *filter(None, [made.note])]))


def load_sound(data: bytes, name: str, feed: Feed) -> Sound:
    """Reads all samples, in the rate and the channels that the tensor takes. Raises: InputError."""
    samples, rate = read_samples(data, name)
    done = [f"{len(samples) / rate:.3g} s of {rate} Hz"]
    wanted = _rate(feed, rate)
    if wanted != rate:
        samples = _resampled(samples, rate, wanted, name, feed)
        done.append(f"resampled to {wanted} Hz")
    channels = _channels(feed)
    if samples.shape[1] != channels:
        if channels != 1:
            message = f"{name} has {samples.shape[1]} channels, {feed.label()} takes {channels}"
            raise feed.error(message)
        done.append(f"mean of {samples.shape[1]} channels")
        samples = samples.mean(axis=1, keepdims=True, dtype=np.float32)
    return Sound(samples, wanted, done)


def window(sound: Sound, start: int, feed: Feed) -> Reading:
    """Returns the samples from frame `start` on, as many as the tensor takes, with silence after the last. Raises:
    InputError."""
    axis, channels = _axis(feed), _channels(feed)
    length = _length(feed)
    part = sound.samples[start:] if length < 0 else sound.samples[start : start + length]
    if len(part) < length:
        part = np.concatenate([part, np.zeros((length - len(part), channels), np.float32)])
    shape = [1] * len(feed.shape)
    shape[-1] = channels
    shape[axis] = len(part)
    return _of_samples(part.reshape(shape), feed)


def window_starts(data: bytes, name: str, feed: Feed, hop: float | None, size: int | None = None) -> list[float]:
    """Returns the starts, in seconds, of the windows that cover a sound: `hop` seconds apart, or without a gap if it is
    None. One window if the tensor takes any length, or all of the sound.

    `data` may be only the beginning of a file of `size` bytes. Raises: InputError.
    """
    header = read_header(data, name, size)
    rate, length = _rate(feed, header.rate), _length(feed)
    frames = header.frames * rate // header.rate
    if length <= 0 or frames <= length:
        return [0.0]
    step = length if hop is None else max(1, round(hop * rate))
    count = min(1 + math.ceil((frames - length) / step), math.ceil(frames / step))
    return [number * step / rate for number in range(count)]


def takes_windows(feed: Feed) -> bool:
    """True if the tensor takes sound of a fixed length."""
    try:
        return feed.tensor.type != TensorType.STRING and _length(feed) > 1
    except InputError:
        return False


def _rate(feed: Feed, rate: int) -> int:
    """Returns the rate that the tensor takes, `rate` if it takes any."""
    given = None if feed.rate is None else whole(f"{feed.label()}: rate", feed.rate, least=0)
    return given or (feed.about.sample_rate if feed.about is not None else 0) or rate


def _channels(feed: Feed) -> int:
    return feed.shape[-1] if _axis(feed) != len(feed.shape) - 1 and feed.shape[-1] > 1 else 1


def _length(feed: Feed) -> int:
    """Returns the number of frames that the tensor takes; -1 for any. Raises: InputError."""
    return feed.shape[_axis(feed)]


def _resampled(samples: Array, rate: int, wanted: int, name: str, feed: Feed) -> Array:
    """Resamples sound to another rate; frequencies too high for it are filtered out. Raises: InputError."""
    try:
        import soxr
    except ImportError:
        message = (
            f"{name} has {rate} samples per second, {feed.label()} takes {wanted}, and resampling takes soxr: pip install soxr, "
            f"or sox {name} -r {wanted} out.wav"
        )
        raise feed.error(message) from None
    with foreign(f"{name} of {rate} samples per second cannot be resampled to {wanted}"):
        return np.asarray(soxr.resample(samples, rate, wanted), np.float32)


def _of_samples(samples: Array, feed: Feed) -> Reading:
    """Converts samples to the tensor's type; for int16 without a scale, as in 16-bit .wav files."""
    if feed.tensor.type == TensorType.INT16 and not feed.tensor.quantization.scales:
        return Reading(np.clip(np.round(samples * 32768), -32768, 32767).astype(np.int16), "as integers of 16 bits")
    return feed.of_reals(samples)


def _axis(feed: Feed) -> int:
    """Returns the dimension with the samples: the only one that is not 1, apart from channels. Raises: InputError."""
    shape = feed.shape
    long = [at for at, dim in enumerate(shape) if dim != 1]
    if len(long) == 2 and long[1] == len(shape) - 1 and 1 < shape[-1] <= _MOST_CHANNELS:
        long.pop()
    if len(long) == 2 and shape[long[0]] < 0 and long[0] == 0:
        long.pop(0)  # the batch
    if len(long) != 1:
        message = f"{feed.label()} takes no sound: samples lie in one dimension; features go in as .npy"
        raise feed.error(message)
    return long[0]
