"""Reads sound for a tensor: samples from -1 to 1, in one row."""

from __future__ import annotations

import io
import math
import wave
from typing import TYPE_CHECKING

import numpy as np

from minilite.errors import InputError
from minilite.format.dtypes import TensorType
from minilite.inputs.feed import Feed, Reading
from minilite.inputs.foreign import foreign
from minilite.numeric import whole

if TYPE_CHECKING:
    from minilite.format.model import Array

_MOST_CHANNELS, _MOST_WIDTH = 8, 4


def is_sound(data: bytes) -> bool:
    """True if the bytes begin like a .wav file."""
    return data[:4] == b"RIFF" and data[8:12] == b"WAVE"


def read_sound(data: bytes, name: str, feed: Feed) -> Reading:
    """Reads the bytes of a .wav file for the tensor; if its length is fixed, cuts them or adds silence. Raises:
    InputError."""
    samples, rate = _samples(data, name)
    done = [f"{len(samples) / rate:.3g} s of {rate} Hz"]
    given = None if feed.rate is None else whole(f"{feed.label()}: rate", feed.rate, least=0)
    wanted = given or (feed.about.sample_rate if feed.about is not None else 0)
    if wanted and wanted != rate:
        samples = _resampled(samples, rate, wanted, name, feed)
        done.append(f"resampled to {wanted} Hz")
    axis = _axis(feed)
    channels = feed.shape[-1] if axis != len(feed.shape) - 1 and feed.shape[-1] > 1 else 1
    if samples.shape[1] != channels:
        if channels != 1:
            message = f"{name} has {samples.shape[1]} channels, {feed.label()} takes {channels}"
            raise feed.error(message)
        done.append(f"mean of {samples.shape[1]} channels")
        samples = samples.mean(axis=1, keepdims=True, dtype=np.float32)
    length = feed.shape[axis] if feed.shape[axis] >= 0 else len(samples)
    if length < len(samples):
        done.append(f"the first {length} of {len(samples)} samples")
    elif length > len(samples):
        done.append(f"{length - len(samples)} samples of silence added")
        samples = np.concatenate([samples, np.zeros((length - len(samples), channels), np.float32)])
    shape = [1] * len(feed.shape)
    shape[axis] = length
    shape[-1] = channels if axis != len(feed.shape) - 1 else length
    made = _of_samples(samples[:length].reshape(shape), feed)
    return Reading(made.array, ", ".join([*done, *filter(None, [made.note])]))


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


def _samples(data: bytes, name: str) -> tuple[Array, int]:
    """Returns samples (frames, channels) from -1 to 1, without 1, and the number of frames per second. Raises:
    InputError."""
    rule = "; samples have to be integers of 8 to 32 bits"
    with foreign(f"{name} is a .wav file that cannot be read", rule), wave.open(io.BytesIO(data)) as file:
        channels, width, rate, frames = file.getparams()[:4]
        raw = file.readframes(frames)
    if width > _MOST_WIDTH:
        message = f"{name} is a .wav file of {8 * width} bits per sample{rule}"
        raise InputError(message)
    if not raw or not rate:
        message = f"{name} is a .wav file without samples"
        raise InputError(message)
    raw = raw[: len(raw) // (channels * width) * channels * width]
    values: Array
    if width == 1:
        values = np.frombuffer(raw, np.uint8).astype(np.float32) - 128
    elif width == 3:
        padded = np.zeros((len(raw) // 3, 4), np.uint8)
        padded[:, 1:] = np.frombuffer(raw, np.uint8).reshape(-1, 3)
        values = padded.view("<i4")[:, 0].astype(np.float32) / 256
    else:
        values = np.frombuffer(raw, f"<i{width}").astype(np.float32)
    return (values * np.float32(math.ldexp(1, 1 - 8 * width))).reshape(-1, channels), rate
