"""AudioSpectrogram, Mfcc: spectrograms and coefficients of recordings, for audio models."""

from __future__ import annotations

import numpy as np

from minilite.errors import KernelError
from minilite.format.flexbuffer import scalars
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "AudioSpectrogram",
    rounding={
        "": "in float64, powers rounded once, then roots",
    },
    options=scalars,
)
def spectrogram(node: OpNode, x: Array) -> Array:
    """Frames times a periodic Hann window, padded with zeros to a power of two, and transformed."""
    window, stride = int(node.options["window_size"]), int(node.options["stride"])
    squared = node.options.get("magnitude_squared", False)
    length = 1 << (window - 1).bit_length()
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    if x.shape[0] < window:
        return np.zeros((x.shape[1], 0, length // 2 + 1), np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), window, axis=0)[::stride]
    spectrum = np.fft.rfft(frames * hann, n=length)
    power = (np.square(spectrum.real) + np.square(spectrum.imag)).astype(np.float32)
    return np.ascontiguousarray((power if squared else np.sqrt(power)).transpose(1, 0, 2))


def _mel(frequency: Array) -> Array:
    return np.asarray(1127.0 * np.log1p(frequency / 700.0))


@reference(
    "Mfcc",
    rounding={
        "": "in float64, rounded once",
    },
    options=scalars,
)
def mfcc(node: OpNode, x: Array, rate: Array) -> Array:
    """Sums magnitudes in triangular bands of equal width on the mel scale; then the cosine transform of their
    logarithms."""
    upper, lower = (int(node.options.get(f"{end}_frequency_limit", 0)) for end in ("upper", "lower"))
    bands, coefficients = int(node.options["filterbank_channel_count"]), int(node.options["dct_coefficient_count"])
    hertz, bins = int(rate.ravel()[0]), x.shape[2]
    if hertz <= 0:
        message = f"the sample rate is {hertz}, expected 1 or more"
        raise KernelError(message)
    width = 0.5 * hertz / (bins - 1)
    first, last = int(1.5 + lower / width), int(upper / width)
    if last >= bins:
        return np.zeros((*x.shape[:2], coefficients), np.float32)
    low, high = _mel(np.array([lower, upper]))
    edges = low + (high - low) / (bands + 1) * np.arange(bands + 2)
    here = _mel(np.arange(first, last + 1) * width)
    band = np.minimum(np.searchsorted(edges[1:], here), bands)
    share = (edges[band + 1] - here) / (edges[band + 1] - edges[band])
    sizes = np.sqrt(x[..., first : last + 1].astype(np.float64))
    energies = np.zeros((bands + 2, *x.shape[:2]))
    np.add.at(energies, band, np.moveaxis(sizes * share, 2, 0))
    np.add.at(energies, band + 1, np.moveaxis(sizes - sizes * share, 2, 0))
    bare = np.moveaxis(energies[1 : bands + 1], 0, 2)
    logs = np.log(np.where(bare < 1e-12, 1e-12, bare))
    angles = np.outer(np.arange(coefficients), np.arange(bands) + 0.5) * np.pi / bands
    return np.asarray((logs @ (np.sqrt(2.0 / bands) * np.cos(angles)).T).astype(np.float32))
