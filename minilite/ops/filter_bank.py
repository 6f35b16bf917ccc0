"""SignalFilterBank, SignalFilterBankSquareRoot, SignalFilterBankSpectralSubtraction, SignalPCAN, SignalFilterBankLog:
from energies of frequencies to loudness in bands, in integers; custom operators of TensorFlow Lite Micro's front end
for audio. Spectral subtraction has no reference, because its noise estimate is kept between runs by the engine."""

from __future__ import annotations

import math

import numpy as np

from minilite.errors import KernelError
from minilite.format.flexbuffer import scalars
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "SignalFilterBank",
    rounding={
        "": "sums wrap",
    },
    options=scalars,
)
def bank(node: OpNode, x: Array, weights: Array, rest: Array, *places: Array) -> Array:
    """Each frequency is shared by two bands: its weight goes to this one, the rest to the next. Raises: KernelError."""
    channels = int(node.options["num_channels"])
    weighed = min(len(weights), len(rest))
    sums = np.zeros((2, channels + 2), np.uint64)
    for i in range(channels + 1):
        start, at, width = (int(place[i]) for place in places)
        if width > 0 and (start < 0 or at < 0 or start + width > len(x) or at + width > weighed):
            message = (
                f"channel {i} takes {width} frequencies from {start} and weights from {at}, "
                f"there are {len(x)} and {weighed}"
            )
            raise KernelError(message)
        if width > 0:
            heard = x[start : start + width].astype(np.uint64)
            shares = np.stack([weights[at : at + width], rest[at : at + width]]).astype(np.int64).view(np.uint64)
            sums[:, i] = (shares * heard).sum(axis=1)
    return sums[0, 1:-1] + sums[1, :-2]


@reference(
    "SignalFilterBankSquareRoot",
    rounding={
        "": "to the nearest, 65535 at most below 2^32; then cut off to the right",
    },
)
def square_root(node: OpNode, x: Array, bits: Array) -> Array:  # noqa: ARG001
    """Rounded to nearest, and limited to half of the bits. Raises: KernelError."""
    shift = int(bits.ravel()[0])
    if not 0 <= shift <= 31:
        message = f"the number of bits is {shift}, expected 0 to 31"
        raise KernelError(message)

    def root(value: int) -> int:
        down = math.isqrt(value)
        return min(down + (value - down * down > down), 0xFFFFFFFF if value >> 32 else 0xFFFF)

    return np.array([root(value) >> shift for value in x.tolist()], np.uint32)


def _gains(noise: Array, gains: Array) -> Array:
    """Interpolates by parabolas between powers of two: value, slope, curvature of each."""
    length = np.frexp(np.maximum(noise, 3).astype(np.float64))[1].astype(np.int64)
    wide = noise.astype(np.int64)
    part = np.where(length < 11, wide << np.maximum(11 - length, 0), wide >> np.maximum(length - 11, 0)) & 1023
    value, slope, curvature = (gains.astype(np.int64)[4 * length - 6 + i] for i in range(3))
    curved = ((curvature * part >> 5) + slope * 32) * part + (1 << 14) >> 15
    return np.where(noise <= 2, gains[np.minimum(noise, 2)], (curved + value).astype(np.int16))


@reference(
    "SignalPCAN",
    rounding={
        "": "gains by parabolas between powers of two, in Q15; the product cut off to the right",
    },
    options=scalars,
)
def pcan(node: OpNode, x: Array, noise: Array, gains: Array) -> Array:
    """Loudness times a gain that falls with the noise; small values are squared."""
    gain = _gains(noise, gains.ravel()).astype(np.int32).view(np.uint32).astype(np.uint64)
    ratio = (x.astype(np.uint64) * gain >> np.uint64(node.options["snr_shift"])).astype(np.uint32)
    return np.where(ratio < 2 << 12, ratio * ratio >> np.uint32(20), (ratio >> np.uint32(6)) - np.uint32(1 << 6))


@reference(
    "SignalFilterBankLog",
    rounding={
        "": "log2 by 128 lines in Q16, as flat as TensorFlow Lite Micro has them; saturates",
    },
    options=scalars,
)
def log(node: OpNode, x: Array) -> Array:
    """log2 by 128 lines, with slopes 128 times too flat as in TFLM; times log(2) and the scale, each rounded in Q16."""
    scaled = x << np.uint32(node.options["input_correction_bits"])
    safe = np.maximum(scaled, 1)
    whole = np.frexp(safe.astype(np.float64))[1].astype(np.int64) - 1
    above = safe.astype(np.int64) - (np.int64(1) << whole)
    part = np.where(whole < 16, above << np.maximum(16 - whole, 0), above >> np.maximum(whole - 16, 0))
    at = np.arange(129) / 128
    table = np.floor(0.5 + 65536 * (np.log2(1 + at) - at)).astype(np.int64)
    seg, past = part >> 9, part & 511
    log2 = (whole << 16) + part + table[seg] + ((table[seg + 1] - table[seg]) * past >> 16)
    log = (45426 * log2 + (1 << 15) >> 16).astype(np.uint32)
    value = np.uint32(node.options["output_scale"] & 0xFFFFFFFF) * log + np.uint32(1 << 15) >> np.uint32(16)
    return np.where(scaled > 1, np.minimum(value, (1 << 15) - 1), 0).astype(np.int16)


SPECTRAL_SUBTRACTION = reference(
    "SignalFilterBankSpectralSubtraction",
    rounding={
        "": "the estimate is kept from run to run, in the units of `smoothing_bits`; cut off to the right",
    },
)(None)
