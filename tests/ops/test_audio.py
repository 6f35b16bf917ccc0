"""AudioSpectrogram, Mfcc: C kernels, numpy references and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from support.compare import EPS
from support.node import Given, OneNode, const, values
from support.weighted import same_for_any_number_of_threads

from minilite.errors import KernelError, ShapeError, UnsupportedOpError


def spectrogram(x: Any, window: Any = 480, stride: Any = 160, squared: bool = True) -> OneNode:
    options = {"window_size": window, "stride": stride, "magnitude_squared": squared}
    return OneNode("AudioSpectrogram", [x], custom=bytes(flexbuffers.Dumps(options)))


LIMITS = {
    "upper_frequency_limit": 4000,
    "lower_frequency_limit": 20,
    "filterbank_channel_count": 40,
    "dct_coefficient_count": 13,
}


def mfcc(x: Any, rate: Any = 16000, constant: bool = True, **options: Any) -> OneNode:
    given = [x, Given(np.array(rate, np.int32), constant)]
    return OneNode("Mfcc", given, custom=bytes(flexbuffers.Dumps({**LIMITS, **options})))


def spectra(shape: Any) -> Any:
    return np.square(values(np.random.default_rng(2), "f32", shape, 5.0))


EVERY_TYPE = {
    "AudioSpectrogram": lambda rng, inputs, outputs: (
        spectrogram(values(rng, "f32", (2000, 2))),
        {"tolerance": 1e-2},
    ),
    "Mfcc": lambda rng, inputs, outputs: (mfcc(spectra((1, 5, 257))), {"tolerance": 1e-4}),
}


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize(("window", "stride"), [(2, 1), (3, 5), (8, 8), (480, 160), (512, 512), (400, 700)])
def test_windows(window: int, stride: int, squared: bool) -> None:
    rng = np.random.default_rng(window)
    for samples, channels in ((window, 1), (window + stride, 1), (3000, 1), (1500, 3)):
        x = values(rng, "f32", (samples, channels), 1.0)
        top = float(np.abs(x).sum() ** (2 if squared else 1))
        spectrogram(x, window, stride, squared).check(tolerance=4 * EPS * top)


def test_a_tone_is_one_frequency() -> None:
    x = np.sin(2 * np.pi * 50 * np.arange(2048) / 512).astype(np.float32)[:, None]
    y = spectrogram(x, 512, 512).check(tolerance=0.1)
    assert (y[0].argmax(axis=1) == 50).all()


def test_too_few_samples() -> None:
    y = spectrogram(np.zeros((479, 2), np.float32)).check()
    assert y.shape == (2, 0, 257)


def test_spectrogram_refused() -> None:
    spectrogram(np.zeros(500, np.float32)).refused(ShapeError, r"must be \(samples, channels\), its shape is \(500\)")
    x = np.zeros((500, 1), np.float32)
    spectrogram(x, window=1).refused(UnsupportedOpError, "option window_size is 1, expected 2 to")
    spectrogram(x, stride=0).refused(UnsupportedOpError, "option stride is 0, expected 1 to")


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("rate", [8000, 16000, 44100])
@pytest.mark.parametrize("bins", [129, 257, 513])
def test_mfcc(bins: int, rate: int, constant: bool) -> None:
    x = spectra((2, 4, bins))
    for options in ({}, {"upper_frequency_limit": 3000.9, "lower_frequency_limit": 0}, {"dct_coefficient_count": 40}):
        mfcc(x, rate, constant, **options).check(tolerance=1e-4)


def test_special_spectra() -> None:
    x = spectra((1, 6, 257))
    x[0, 1] = 0
    x[0, 2, 100] = np.nan
    x[0, 3, 100] = np.inf
    x[0, 4] = 1e-30
    mfcc(x).check(tolerance=1e-4)
    mfcc(x, rate=4000).check()  # bands above all frequencies
    mfcc(spectra((0, 3, 257))).check()


def test_threads() -> None:
    same_for_any_number_of_threads(spectrogram(values(np.random.default_rng(1), "f32", (20000, 2)), 480, 40))


def test_mfcc_refused() -> None:
    x = spectra((1, 3, 257))
    for constant in (True, False):
        mfcc(x, 0, constant).refused(KernelError, "the sample rate is 0, expected 1 or more")
    mfcc(x, [1, 2]).refused(ShapeError, "the sample rate must be one number, it has 2")
    mfcc(x[0]).refused(ShapeError, "the spectrogram must be")
    mfcc(x[..., :1]).refused(ShapeError, "the spectrogram must be")
    mfcc(x, upper_frequency_limit=20).refused(UnsupportedOpError, "frequencies from 20 to 20")
    mfcc(x, dct_coefficient_count=41).refused(UnsupportedOpError, "there are 41 coefficients for 40 bands")
    given = [x, const([16000], np.int64)]
    node = OneNode("Mfcc", given, custom=bytes(flexbuffers.Dumps(LIMITS)))
    node.refused(UnsupportedOpError, "types f32 s64 -> f32")
