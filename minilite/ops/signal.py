"""SignalWindow, SignalFftAutoScale, SignalRfft, SignalIrfft, SignalEnergy: from samples to the power of their
frequencies, in integers; custom operators of TensorFlow Lite Micro's front end for audio."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.flexbuffer import scalars
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "SignalWindow",
    rounding={
        "": "the product, cut off to the right, saturates",
    },
    options=scalars,
)
def window(node: OpNode, x: Array, window: Array) -> Array:
    """Products, shifted right and saturated."""
    products = x.astype(np.int32) * window >> node.options["shift"]
    return np.asarray(np.clip(products, -(1 << 15), (1 << 15) - 1).astype(np.int16))


@reference(
    "SignalFftAutoScale",
    rounding={
        "": "-32768 counts as the largest; TFLM may overlook it",
    },
)
def auto_scale(node: OpNode, x: Array) -> tuple[Array, Array]:  # noqa: ARG001
    """Shifts all numbers left by as many bits as the largest leaves free."""
    most = int(np.abs(x.astype(np.int32)).max(initial=0))
    bits = max(15 - most.bit_length(), 0) if most else 0
    return x << np.int16(bits), np.array(bits, np.int32)


class _Fixed:
    """Complex numbers of 16 or 32 bits as (real, imaginary) in int64, with `bits` fraction bits."""

    def __init__(self, bits: int, *, inverse: bool) -> None:
        self.bits, self.sign = bits, 1 if inverse else -1

    def wrap(self, x: Array) -> Array:
        return np.asarray(x).astype(np.int16 if self.bits == 15 else np.int32).astype(np.int64)

    def rounded(self, x: Array) -> Array:
        return self.wrap(x + (1 << self.bits - 1) >> self.bits)

    def times(self, a: Array, b: Array) -> Array:
        return self.rounded(np.stack([a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]))

    def parted(self, a: Array, by: int) -> Array:
        return self.rounded(a * (((1 << self.bits) - 1) // by))

    def roots(self, phases: Array) -> Array:
        one = (1 << self.bits) - 1
        return np.floor(0.5 + one * np.stack([np.cos(phases), np.sin(phases)])).astype(np.int64)

    def turned(self, a: Array) -> Array:
        """Rotates by a quarter turn, in the direction of the transform."""
        return self.wrap(np.stack([-a[1], a[0]]) * self.sign)

    def transform(self, x: Array, step: int = 1) -> Array:
        """The transform divided by its length: passes divide by 4, the last one by 2 if needed."""
        n = x.shape[-1]
        if n == 1:
            return x
        radix = 2 if n % 4 else 4
        turns = np.arange(1, radix)[:, None] * np.arange(n // radix) * step
        phases = self.sign * 2 * np.pi * turns / (n * step)
        parts = [self.parted(self.transform(x[..., k::radix], radix * step), radix) for k in range(radix)]
        parts[1:] = [self.times(part, self.roots(p)[:, None]) for part, p in zip(parts[1:], phases, strict=True)]
        if radix == 2:
            return self.wrap(np.concatenate([parts[0] + parts[1], parts[0] - parts[1]], -1))
        even, odd = self.wrap(parts[0] + parts[2]), self.wrap(parts[0] - parts[2])
        added, gap = self.wrap(parts[1] + parts[3]), self.turned(self.wrap(parts[1] - parts[3]))
        return self.wrap(np.concatenate([even + added, odd + gap, even - added, odd - gap], -1))

    def halves(self, x: Array) -> tuple[Array, Array]:
        """For numbers 1 ... n / 2 and their mirrors: half their sum, and half their difference, rotated."""
        n = x.shape[-1]
        at = np.arange(1, n // 2 + 1)
        a, mirror = self.parted(x[..., at], 2), x[..., n - at]
        b = self.parted(self.wrap(np.stack([mirror[0], -mirror[1]])), 2)
        phases = self.sign * np.pi * (at / n + 0.5)
        return self.wrap(a + b), self.times(self.wrap(a - b), self.roots(phases)[:, None])


def _rows(x: Array, pairs: int) -> Array:
    """Rows of pairs as (real and imaginary, rows, pairs), padded with zeros."""
    rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1]).astype(np.int64)
    filled = np.pad(rows, ((0, 0), (0, 2 * pairs - x.shape[-1])))
    return np.moveaxis(filled.reshape(len(rows), pairs, 2), 2, 0)


@reference(
    "SignalRfft",
    rounding={
        "f32": "in float64, rounded once",
        "s16 s32": (
            "each pass is divided by its radix (4 as often as that goes, then 2), products rounded in Q15 or "
            "Q31, sums wrap"
        ),
    },
    options=scalars,
)
def rfft(node: OpNode, x: Array) -> Array:
    """Transforms pairs of neighbours as complex numbers, then separates the two halves; floats by numpy, in float64."""
    n = int(node.options["fft_length"])
    shape = (*x.shape[:-1], n + 2)
    if x.dtype == np.float32:
        spectrum = np.fft.rfft(x.astype(np.float64), n=n)
        return np.stack([spectrum.real, spectrum.imag], -1).astype(np.float32).reshape(shape)
    f = _Fixed(8 * x.dtype.itemsize - 1, inverse=False)
    z = f.transform(_rows(x, n // 2))
    ends = f.parted(z[..., 0], 2)
    even, odd = f.halves(z)
    y = np.zeros((2, z.shape[1], n // 2 + 1), np.int64)
    at = np.arange(1, n // 4 + 1)
    y[..., at] = even + odd >> 1
    y[0][:, n // 2 - at], y[1][:, n // 2 - at] = even[0] - odd[0] >> 1, odd[1] - even[1] >> 1
    y[0][:, 0], y[0][:, n // 2] = ends[0] + ends[1], ends[0] - ends[1]
    return np.moveaxis(y, 0, 2).astype(x.dtype).reshape(shape)


@reference(
    "SignalIrfft",
    rounding={
        "f32": "in float64, rounded once; divided by the length",
        "s16 s32": (
            "each pass is divided by its radix (4 as often as that goes, then 2), products rounded in Q15 or "
            "Q31, sums wrap"
        ),
    },
    options=scalars,
)
def irfft(node: OpNode, x: Array) -> Array:
    """The inverse; for floats it divides by the length, for integers by rounding in every pass."""
    n = int(node.options["fft_length"])
    shape = (*x.shape[:-1], n)
    if x.dtype == np.float32:
        pairs = x.astype(np.float64).reshape(*x.shape[:-1], n // 2 + 1, 2)
        return np.fft.irfft(pairs[..., 0] + 1j * pairs[..., 1], n=n).astype(np.float32).reshape(shape)
    f = _Fixed(8 * x.dtype.itemsize - 1, inverse=True)
    y = _rows(x, n // 2 + 1)
    z = y[..., :-1].copy()
    ends = np.stack([y[0][:, 0] + y[0][:, -1], y[0][:, 0] - y[0][:, -1]])
    even, odd = f.halves(z)
    at = np.arange(1, n // 4 + 1)
    back = f.wrap(even - odd)
    z[..., at] = f.wrap(even + odd)
    z[0][:, n // 2 - at], z[1][:, n // 2 - at] = back[0], f.wrap(-back[1])
    z[..., 0] = f.parted(f.wrap(ends), 2)
    return np.moveaxis(f.transform(z), 0, 2).astype(x.dtype).reshape(shape)


@reference(
    "SignalEnergy",
    rounding={
        "": "exact; frequencies that are not asked for are 0",
    },
    options=scalars,
)
def energy(node: OpNode, x: Array) -> Array:
    """The energies of a range of frequencies; the others are 0."""
    pairs = np.square(x.astype(np.int64)).reshape(-1, 2).sum(axis=1)
    inside = slice(int(node.options["start_index"]), int(node.options["end_index"]))
    y = np.zeros(len(pairs), np.uint32)
    y[inside] = pairs[inside]
    return y
