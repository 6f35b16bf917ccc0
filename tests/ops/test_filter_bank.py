"""SignalFilterBank*, SignalPCAN: C kernels, numpy references and TensorFlow Lite Micro agree."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from support.compare import compare
from support.micro import INSTALLED, agrees_with_micro, run_micro, run_steps
from support.node import Array, OneNode, Out, const, values

import minilite
from minilite.errors import KernelError, ShapeError, UnsupportedOpError


def custom(**options: Any) -> bytes:
    return bytes(flexbuffers.Dumps(options))


STARTS, WIDTHS = [0, 2, 3, 6, 9], [2, 1, 3, 3, 0]


def bank(x: Any, weights: Any, starts: Any = STARTS, widths: Any = WIDTHS, channels: int = 4) -> OneNode:
    at = [0, *np.cumsum(widths)[:-1]]
    rest = 4096 - np.asarray(weights)
    given = [x, *(const(v, np.int16) for v in (weights, rest, starts, at, widths))]
    return OneNode(
        "SignalFilterBank", given, outs=[Out("u64", shape=(channels,))], custom=custom(num_channels=channels)
    )


def root(x: Any, bits: int = 0) -> OneNode:
    given = [np.asarray(x, np.uint64), np.array(bits, np.int32)]
    outs = [Out("u32", shape=np.shape(x))]
    return OneNode("SignalFilterBankSquareRoot", given, outs=outs, custom=custom())


NOISE = {
    "alternate_one_minus_smoothing": 15401,
    "alternate_smoothing": 983,
    "clamping": False,
    "min_signal_remaining": 819,
    "num_channels": 6,
    "one_minus_smoothing": 15975,
    "smoothing": 409,
    "smoothing_bits": 10,
    "spectral_subtraction_bits": 14,
}


def noise(x: Any, **options: Any) -> OneNode:
    outs = [Out("u32", shape=np.shape(x))] * 2
    return OneNode("SignalFilterBankSpectralSubtraction", [x], outs=outs, custom=custom(**{**NOISE, **options}))


def pcan(x: Any, heard: Any, gains: Any, shift: int = 6) -> OneNode:
    given = [x, heard, const(gains, np.int16)]
    return OneNode("SignalPCAN", given, outs=[Out("u32", shape=np.shape(x))], custom=custom(snr_shift=shift))


def log(x: Any, bits: int = 3, scale: int = 64) -> OneNode:
    options = custom(input_correction_bits=bits, output_scale=scale)
    return OneNode("SignalFilterBankLog", [x], outs=[Out("s16", shape=np.shape(x))], custom=options)


def gains() -> Array:
    """A table such as that of TensorFlow Lite Micro's preprocessor: it falls, by parabolas."""
    table = np.zeros(125)
    table[:3] = [32636, 32633, 32630]
    for length in range(2, 33):
        low, high = (32767 * (2.0**n / 60 + 1) ** -0.95 for n in (length - 1, length))
        table[4 * length - 6 : 4 * length - 3] = [low, (high - low) * 1.1, (high - low) * -0.1]
    return np.clip(table, -32768, 32767).astype(np.int16)


def spread(rng: Any, count: int) -> Array:
    """Numbers of every length in bits."""
    return (rng.integers(0, 1 << 32, count, np.uint32) >> rng.integers(0, 33, count).astype(np.uint64)).astype(
        np.uint32
    )


EVERY_TYPE = {  # LiteRT has none of them
    "SignalFilterBank": lambda rng, *_: (bank(spread(rng, 9), rng.integers(0, 4096, 9)), {"oracle": None}),
    "SignalFilterBankSquareRoot": lambda rng, *_: (root(values(rng, "u64", 20), 2), {"oracle": None}),
    "SignalPCAN": lambda rng, *_: (pcan(spread(rng, 40), spread(rng, 40), gains()), {"oracle": None}),
    "SignalFilterBankLog": lambda rng, *_: (log(spread(rng, 40)), {"oracle": None}),
}


def test_bank() -> None:
    rng = np.random.default_rng(1)
    agrees_with_micro(bank(values(rng, "u32", 9), rng.integers(0, 4096, 9)))
    agrees_with_micro(bank(values(rng, "u32", 9), rng.integers(-32000, 32000, 9) // 2))  # sums wrap
    agrees_with_micro(bank(values(rng, "u32", 9), rng.integers(0, 4096, 9), channels=2))
    agrees_with_micro(bank(values(rng, "u32", 9), rng.integers(0, 4096, 9), widths=[2, -1, 3, 3, 0]))


@pytest.mark.parametrize("bits", [0, 1, 7, 31])
def test_square_root(bits: int) -> None:
    rng = np.random.default_rng(bits)
    squares = [
        int(n) ** 2 + more
        for n in (1, 2, 255, 65535, 1 << 20, (1 << 32) - 1)
        for more in (-1, 0, 1, int(n), int(n) + 1)
    ]
    edges = [0, (1 << 32) - 1, 1 << 32, (1 << 64) - 1, *(n for n in squares if n < 1 << 64)]
    agrees_with_micro(root(edges, bits))
    agrees_with_micro(root(values(rng, "u64", 200) >> rng.integers(0, 64, 200).astype(np.uint64), bits))


@pytest.mark.parametrize("clamping", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"smoothing_bits": 4, "min_signal_remaining": 0}, {"spectral_subtraction_bits": 3}]
)
def test_noise(clamping: bool, options: Any) -> None:
    rng = np.random.default_rng(1)
    steps = [[spread(rng, 6) >> np.uint32(by)] for by in (0, 12, 20, 12, 12, 0)]
    node = noise(steps[0][0], clamping=clamping, **options)
    found = run_steps(node.model, steps)
    if INSTALLED:
        for expected, here in zip(run_micro(node.model, steps), found, strict=True):
            compare(expected, here, 0, "C kernel against TensorFlow Lite Micro")
    heard = [0] * 6
    for [x], (y, estimate) in zip(steps, found, strict=True):
        for i in range(6):
            assert (y[i], estimate[i]) == quieter(int(x[i]), heard, i, {**NOISE, "clamping": clamping, **options})


def quieter(x: int, heard: list[int], i: int, options: Any) -> tuple[int, int]:
    """The rule for one number, and the noise after it."""
    which = "alternate_" if i % 2 else ""
    share, kept = options[f"{which}smoothing"], options[f"{which}one_minus_smoothing"]
    loud, by = (x << options["smoothing_bits"]) % (1 << 32), options["spectral_subtraction_bits"]
    heard[i] = (loud * share + heard[i] * kept) % (1 << 64) >> by & 0xFFFFFFFF
    taken = min(heard[i], loud)
    if options["clamping"]:
        heard[i] = taken
    return max(
        loud - taken >> options["smoothing_bits"], x * options["min_signal_remaining"] >> by & 0xFFFFFFFF
    ), heard[i]


def test_noise_begins_again_after_a_reset() -> None:
    x = np.full(6, 1000, np.uint32)
    interpreter = minilite.Interpreter(model_content=noise(x).model)
    interpreter.allocate_tensors()
    found = []
    for again in (False, False, True):
        if again:
            interpreter.reset_all_variables()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        found.append(interpreter.get_tensor(interpreter.get_output_details()[1]["index"]).tolist())
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize("shift", [0, 6, 20])
def test_pcan(shift: int) -> None:
    rng = np.random.default_rng(shift)
    every = np.array([0, 1, 2, 3, *itertools.chain(*((1 << n, (1 << n) + 1, (1 << n + 1) - 1) for n in range(2, 32)))])
    heard = every.astype(np.uint32)
    agrees_with_micro(pcan(spread(rng, len(heard)), heard, gains(), shift))
    agrees_with_micro(pcan(spread(rng, 300), spread(rng, 300), gains(), shift))


@pytest.mark.parametrize("bits", [0, 3, 16])
@pytest.mark.parametrize("scale", [1, 64, 1600, 65535])
def test_log(bits: int, scale: int) -> None:
    rng = np.random.default_rng(bits)
    edges = np.array([0, 1, 2, 3, 0xFFFFFFFF, 1 << 31, (1 << 31) - 1, 65535, 65536, 65537], np.uint32)
    agrees_with_micro(log(np.concatenate([edges, spread(rng, 500)]), bits, scale))


def test_nothing() -> None:
    for made in (root(np.zeros(0)), log(np.zeros(0, np.uint32))):
        made.check(oracle=None)
    empty = np.zeros(0, np.uint32)
    pcan(empty, empty, gains()).check(oracle=None)


def test_refused() -> None:
    x = np.zeros(9, np.uint32)
    for starts, widths in (([0, 2, 3, 7, 9], WIDTHS), ([-1, 2, 3, 6, 9], WIDTHS), (STARTS, [2, 1, 3, 4, 0])):
        bank(x, np.zeros(9), starts, widths).refused(KernelError, "frequencies from")
    bank(x, np.zeros(8)).refused(
        KernelError, "channel 3 takes 3 frequencies from 6 and weights from 6, there are 9 and 8"
    )
    bank(x, np.zeros(9), channels=5).refused(ShapeError, "input 3 has 5 numbers, for 5 channels it must have 6")
    bank(x.reshape(3, 3), np.zeros(9)).refused(ShapeError, r"input 0 must be a row, its shape is \(3, 3\)")
    root([1, 2], 32).refused(KernelError, "the number of bits is 32, expected 0 to 31")
    root([1, 2], [1, 2]).refused(ShapeError, "the number of bits must be one number, it has 2")
    noise(x[:5]).refused(ShapeError, "the input has 5 bands, the options say 6")
    noise(x, num_channels=1025).refused(UnsupportedOpError, "option num_channels is 1025, expected 1 to 1024")
    pcan(x, x[:8], gains()).refused(ShapeError, r"bands have shape \(9\), noise has \(8\)")
    pcan(x, x, gains()[:124]).refused(ShapeError, "the table has 124 gains, expected 125 or more")
    log(x.reshape(3, 3)).refused(ShapeError, "a row of bands")
