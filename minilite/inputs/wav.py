"""Reads .wav files: integers of 8 to 32 bits, floats, mu-law and A-law, as floats from -1 to 1.

Sources: Microsoft's "Multimedia Programming Interface and Data Specifications" (RIFF, WAVE), its description of
WAVEFORMATEXTENSIBLE, and ITU-T G.711 for both laws.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from minilite.errors import InputError

if TYPE_CHECKING:
    from minilite.format.model import Array

_PCM, _FLOAT, _A_LAW, _MU_LAW, _EXTENSIBLE = 1, 3, 6, 7, 0xFFFE
_NAMES = {2: "ADPCM", 0x11: "ADPCM", 0x31: "GSM", 0x50: "MPEG", 0x55: "MP3", 0x161: "WMA", 0xFF: "AAC"}
_WIDTHS = {_PCM: (8, 16, 24, 32), _FLOAT: (32, 64), _A_LAW: (8,), _MU_LAW: (8,)}
_RULE = "; samples have to be integers of 8 to 32 bits, floats of 32 or 64, or mu-law or A-law: ffmpeg -i FILE -c:a pcm_s16le out.wav converts it"
_MOST_CHANNELS = 1024


class Header(NamedTuple):
    """The form of the samples in a .wav file."""

    kind: int
    channels: int
    rate: int
    """Frames per second."""
    bits: int
    """The bits of one sample."""
    begin: int
    """The position of the first sample."""
    frames: int


def is_wav(data: bytes) -> bool:
    """True if the bytes begin like a .wav file."""
    return data[:4] in (b"RIFF", b"RF64") and data[8:12] == b"WAVE"


def read_header(data: bytes, name: str, size: int | None = None) -> Header:
    """Reads the form of a .wav file from its beginning; `size` is the size of the file, that of `data` if None.
    Raises: InputError."""
    size, at = len(data) if size is None else size, 12
    form: tuple[int, int, int, int, int, int] | None = None
    while at + 8 <= min(size, len(data)):
        part, length = struct.unpack_from("<4sI", data, at)
        at += 8
        if part == b"fmt ":
            form = _form(data[at : at + length], name)
        elif part == b"data":
            return _header(form, at, min(length, size - at), name)
        at += length + length % 2
    message = (
        f"{name} is a .wav file without samples"
        if form is not None
        else f"{name} is a .wav file that ends before its samples"
    )
    raise InputError(message)


def _form(body: bytes, name: str) -> tuple[int, int, int, int, int, int]:
    if len(body) < 16:
        message = f"{name} is a .wav file whose header of {len(body)} bytes is too short, must have 16"
        raise InputError(message)
    kind, channels, rate, per_second, block, bits = struct.unpack_from("<HHIIHH", body)
    if kind == _EXTENSIBLE and len(body) >= 26:
        (kind,) = struct.unpack_from("<H", body, 24)
    return kind, channels, rate, per_second, block, bits


def _header(form: tuple[int, int, int, int, int, int] | None, begin: int, bytes_: int, name: str) -> Header:
    if form is None:
        message = f"{name} is a .wav file whose samples come before their description"
        raise InputError(message)
    kind, channels, rate, _, _, bits = form
    if kind not in _WIDTHS or bits not in _WIDTHS[kind]:
        what = _NAMES.get(kind, f"format {kind}") if kind not in _WIDTHS else f"{bits} bits per sample"
        message = f"{name} is a .wav file of {what}{_RULE}"
        raise InputError(message)
    if not 0 < channels <= _MOST_CHANNELS or not rate:
        message = f"{name} is a .wav file of {channels} channels and {rate} samples per second"
        raise InputError(message)
    frames = bytes_ // (channels * bits // 8)
    if not frames:
        message = f"{name} is a .wav file without samples"
        raise InputError(message)
    return Header(kind, channels, rate, bits, begin, frames)


def read_samples(data: bytes, name: str) -> tuple[Array, int]:
    """Returns samples (frames, channels) as float32, integers as fractions of full scale, and frames per second. Floats
    stay as they are. Raises: InputError, also for floats that are not finite."""
    header = read_header(data, name)
    raw = memoryview(data)[header.begin :][: header.frames * header.channels * header.bits // 8]
    values = _values(header, raw)
    if header.kind == _FLOAT and not np.isfinite(values).all():
        message = f"{name} is a .wav file of floats, {np.count_nonzero(~np.isfinite(values))} of which are not finite"
        raise InputError(message)
    return values.reshape(-1, header.channels), header.rate


def _values(header: Header, raw: memoryview) -> Array:
    if header.kind == _FLOAT:
        with np.errstate(over="ignore"):  # what becomes infinite is refused
            return np.frombuffer(raw, f"<f{header.bits // 8}").astype(np.float32)
    if header.kind in (_MU_LAW, _A_LAW):
        table = _mu_law() if header.kind == _MU_LAW else _a_law()
        return table[np.frombuffer(raw, np.uint8)]
    values: Array
    if header.bits == 8:
        values = np.frombuffer(raw, np.uint8).astype(np.float32) - 128
    elif header.bits == 24:
        padded = np.zeros((len(raw) // 3, 4), np.uint8)
        padded[:, 1:] = np.frombuffer(raw, np.uint8).reshape(-1, 3)
        values = padded.view("<i4")[:, 0].astype(np.float32) / 256
    else:
        values = np.frombuffer(raw, f"<i{header.bits // 8}").astype(np.float32)
    return values * np.float32(2.0 ** (1 - header.bits))


def _mu_law() -> Array:
    """Returns the value of each code: the inverted byte is a sign, three bits of exponent and four of mantissa."""
    code = ~np.arange(256, dtype=np.uint8)
    size = (((code & 15).astype(np.int32) << 3) + 132 << ((code >> 4) & 7).astype(np.int32)) - 132
    return (np.where(code & 128, -size, size) / 32768).astype(np.float32)


def _a_law() -> Array:
    """Returns the value of each code: the byte with every second bit inverted, as in `_mu_law`."""
    code = np.arange(256, dtype=np.uint8) ^ 0x55
    exponent = ((code >> 4) & 7).astype(np.int32)
    size = ((code & 15).astype(np.int32) << 4) + 8
    size = np.where(exponent == 0, size, (size + 256) << np.maximum(exponent - 1, 0))
    return (np.where(code & 128, size, -size) / 32768).astype(np.float32)
