"""Forms of .wav files: each gives the samples that were written, or a line that says how to convert it."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from minilite.errors import InputError
from minilite.inputs.wav import read_header, read_samples

TONE = np.sin(np.arange(1000) / 7).astype(np.float32) * np.float32(0.8)
EXTENSIBLE = 0xFFFE


def made(
    kind: int, bits: int, data: bytes, channels: int = 1, rate: int = 16000, extra: bytes = b"", odd: bytes = b""
) -> bytes:
    """A .wav file; with `extra`, that part comes after the form; `odd` before the samples."""
    form = struct.pack("<HHIIHH", kind, channels, rate, rate * channels * bits // 8, channels * bits // 8, bits) + extra
    parts = b"fmt " + struct.pack("<I", len(form)) + form + odd + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(parts)) + b"WAVE" + parts


def integers(bits: int) -> bytes:
    values = np.round(TONE * (2 ** (bits - 1) - 1)).astype("<i4")
    if bits == 8:
        return (values + 128).astype(np.uint8).tobytes()
    return values.view(np.uint8).reshape(-1, 4)[:, : bits // 8].tobytes()


def extension(kind: int, bits: int) -> bytes:
    return struct.pack("<HHIH", 22, bits, 4, kind) + bytes.fromhex("000000001000800000aa00389b71")


@pytest.mark.parametrize("bits", [8, 16, 24, 32])
@pytest.mark.parametrize("extended", [False, True])
def test_integers(bits: int, extended: bool) -> None:
    data = (
        made(EXTENSIBLE, bits, integers(bits), extra=extension(1, bits)) if extended else made(1, bits, integers(bits))
    )
    samples, rate = read_samples(data, "x.wav")
    assert (samples.shape, samples.dtype, rate) == ((1000, 1), np.float32, 16000)
    np.testing.assert_allclose(samples[:, 0], TONE, atol=2.0 ** (2 - bits) + 1e-6)


@pytest.mark.parametrize("extended", [False, True])
def test_floats_stay_as_they_are(extended: bool) -> None:
    for bits in (32, 64):
        data = (TONE * 3).astype(f"<f{bits // 8}").tobytes()
        file = made(EXTENSIBLE, bits, data, extra=extension(3, bits)) if extended else made(3, bits, data)
        assert np.array_equal(read_samples(file, "x.wav")[0][:, 0], TONE * 3)


def decoded(code: int, a_law: bool) -> float:
    """G.711, bit by bit."""
    byte = code ^ (0x55 if a_law else 0xFF)
    sign, exponent, mantissa = byte >> 7, byte >> 4 & 7, byte & 15
    if a_law:
        size = (mantissa * 16 + 8) if exponent == 0 else (mantissa * 16 + 264) * 2 ** (exponent - 1)
        return (size if sign else -size) / 32768
    size = (mantissa * 8 + 132) * 2**exponent - 132
    return (-size if sign else size) / 32768


@pytest.mark.parametrize(("kind", "a_law"), [(7, False), (6, True)])
def test_both_laws(kind: int, a_law: bool) -> None:
    samples = read_samples(made(kind, 8, bytes(range(256))), "x.wav")[0][:, 0]
    assert samples.tolist() == [decoded(code, a_law) for code in range(256)]
    assert (float(samples.min()), float(samples.max())) == pytest.approx(
        (-0.984375, 0.984375) if a_law else (-0.980346679688, 0.980346679688)
    )


def test_other_parts_are_stepped_over_and_a_cut_file_has_fewer_samples() -> None:
    odd = b"LIST" + struct.pack("<I", 3) + b"abc\0"
    data = made(1, 16, integers(16), odd=odd)
    assert len(read_samples(data, "x.wav")[0]) == 1000
    assert len(read_samples(data[:-101], "x.wav")[0]) == 949
    assert read_header(data[:64], "x.wav", len(data)).frames == 1000
    stereo = made(1, 16, integers(16), channels=2, rate=44100)
    assert read_samples(stereo, "x.wav")[0].shape == (500, 2)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (made(2, 4, bytes(99)), "is a .wav file of ADPCM; samples have to be .*: ffmpeg"),
        (made(0x55, 0, bytes(99)), "is a .wav file of MP3; .*: ffmpeg"),
        (made(99, 16, bytes(99)), "is a .wav file of format 99; .*: ffmpeg"),
        (made(1, 12, bytes(99)), "is a .wav file of 12 bits per sample; .*: ffmpeg"),
        (made(1, 16, b""), "is a .wav file without samples"),
        (made(1, 16, bytes(8), channels=0), "is a .wav file of 0 channels and 16000 samples per second"),
        (made(1, 16, bytes(8), rate=0), "is a .wav file of 1 channels and 0 samples per second"),
        (made(1, 16, bytes(8))[:36], "is a .wav file without samples"),
        (b"RIFF\0\0\0\0WAVEdata\4\0\0\0abcd", "samples come before their description"),
        (b"RIFF\0\0\0\0WAVEfmt \4\0\0\0abcd", "header of 4 bytes is too short"),
        (b"RIFF\0\0\0\0WAVE", "ends before its samples"),
        (made(3, 32, np.float32([1, np.nan, np.inf]).tobytes()), "of floats, 2 of which are not finite"),
        (made(3, 64, np.float64([1, 1e300]).tobytes()), "of floats, 1 of which are not finite"),
    ],
)
def test_what_cannot_be_read_is_named(data: bytes, text: str) -> None:
    with pytest.raises(InputError, match=text) as caught:
        read_samples(data, "x.wav")
    assert "\n" not in str(caught.value)
