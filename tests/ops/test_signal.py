"""SignalWindow, SignalFftAutoScale, SignalRfft, SignalIrfft, SignalEnergy: C kernels, numpy references and TensorFlow
Lite Micro agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from support.micro import agrees_with_micro
from support.node import OneNode, Out, const, values
from support.weighted import same_for_any_number_of_threads

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.dtypes import TensorType

T = {"s16": TensorType.INT16, "s32": TensorType.INT32, "f32": TensorType.FLOAT32}


def custom(**options: Any) -> bytes:
    return bytes(flexbuffers.Dumps(options))


def window(x: Any, weights: Any, shift: int = 12) -> OneNode:
    given = [x, const(weights, np.int16)]
    return OneNode("SignalWindow", given, outs=[Out("s16", shape=np.shape(x))], custom=custom(shift=shift))


def auto_scale(x: Any) -> OneNode:
    return OneNode("SignalFftAutoScale", [x], outs=[Out("s16", shape=x.shape), Out("s32", shape=())], custom=b"")


def fft(x: Any, length: int, op: str = "SignalRfft") -> OneNode:
    kind = {"int16": "s16", "int32": "s32", "float32": "f32"}[x.dtype.name]
    last = length + 2 if op == "SignalRfft" else length
    options = custom(T=int(T[kind]), fft_length=length)
    return OneNode(op, [x], outs=[Out(kind, shape=(*x.shape[:-1], last))], custom=options)


def energy(x: Any, start: int, end: int) -> OneNode:
    bins = x.shape[0] // 2 if x.ndim == 1 else 0
    return OneNode(
        "SignalEnergy", [x], outs=[Out("u32", shape=(bins,))], custom=custom(start_index=start, end_index=end)
    )


def every_fft(op: str) -> Any:
    def made(rng: Any, inputs: Any, outputs: Any) -> Any:
        node = fft(values(rng, inputs[0], (2, 66 if op == "SignalIrfft" else 50), 1.0), 64, op)
        return node, {"oracle": None, "tolerance": 1e-5}  # LiteRT has none of them: see agrees_with_micro

    return made


EVERY_TYPE = {
    "SignalWindow": lambda rng, *_: (window(values(rng, "s16", (3, 40)), values(rng, "s16", 40)), {"oracle": None}),
    "SignalFftAutoScale": lambda rng, *_: (auto_scale(values(rng, "s16", 70)), {"oracle": None}),
    "SignalRfft": every_fft("SignalRfft"),
    "SignalIrfft": every_fft("SignalIrfft"),
    "SignalEnergy": lambda rng, *_: (energy(values(rng, "s16", 34), 3, 15), {"oracle": None}),
}


@pytest.mark.parametrize("shift", [0, 3, 12, 15, 31])
@pytest.mark.parametrize("shape", [(1,), (40,), (2, 480), (2, 3, 7)])
def test_window(shape: Any, shift: int) -> None:
    rng = np.random.default_rng(shift)
    agrees_with_micro(window(values(rng, "s16", shape), values(rng, "s16", shape[-1:]), shift))


@pytest.mark.parametrize("most", [0, 1, 2, 3, 1000, 16383, 16384, 32767, -1, -16384, -32767])
def test_auto_scale(most: int) -> None:
    x = values(np.random.default_rng(1), "s16", 33) % np.int16(max(abs(most), 1))
    x[7] = most
    agrees_with_micro(auto_scale(x))


def test_the_lowest_number_is_the_largest() -> None:
    y = auto_scale(np.array([-32768, 5], np.int16)).check(
        oracle=None
    )  # TensorFlow Lite Micro shifts by 12: -32768 = -max
    assert y.tolist() == [-32768, 5]


@pytest.mark.parametrize("kind", ["s16", "s32", "f32"])
@pytest.mark.parametrize("length", [4, 8, 16, 64, 128, 512, 1024])
def test_rfft(kind: str, length: int) -> None:
    rng = np.random.default_rng(length)
    for shape in ((length,), (3, length), (2, 2, length - 3), (1, 1)):
        agrees_with_micro(fft(values(rng, kind, shape, 1.0), length), tolerance=2e-6 * length)


@pytest.mark.parametrize("kind", ["s16", "s32", "f32"])
@pytest.mark.parametrize("length", [4, 8, 16, 64, 128, 512, 1024])
def test_irfft(kind: str, length: int) -> None:
    rng = np.random.default_rng(length)
    for shape in ((length + 2,), (3, length + 2), (2, 2, length + 2)):
        agrees_with_micro(fft(values(rng, kind, shape, 1.0), length, "SignalIrfft"), tolerance=1e-6)


@pytest.mark.parametrize("value", [-32768, 32767])
def test_fixed_extremes(value: int) -> None:
    x = np.full((2, 64), value, np.int16)
    x[1, ::2] = -value - 1
    agrees_with_micro(fft(x, 64))
    agrees_with_micro(fft(x[:, :34], 32, "SignalIrfft"))
    wide = np.full((1, 66), value << 16 | 0xFFFF, np.int32)
    agrees_with_micro(fft(wide[:, :64], 64))
    agrees_with_micro(fft(wide, 64, "SignalIrfft"))


def test_inverse_fft_restores_the_signal() -> None:
    x = values(np.random.default_rng(1), "f32", (2, 256), 1.0)
    y = fft(x, 256).check(oracle=None, tolerance=1e-4)
    back = fft(y, 256, "SignalIrfft").check(oracle=None, tolerance=1e-6)
    np.testing.assert_allclose(back, x, atol=1e-5)


def test_energy() -> None:
    rng = np.random.default_rng(1)
    for bins, start, end in ((257, 0, 257), (1, 0, 1), (33, 0, 33)):
        agrees_with_micro(energy(values(rng, "s16", 2 * bins), start, end))
    y = energy(np.full(20, -32768, np.int16), 2, 5).check(
        oracle=None
    )  # TensorFlow Lite Micro leaves the others as they are
    assert y.tolist() == [0, 0, *[1 << 31] * 3, 0, 0, 0, 0, 0]


def test_nothing() -> None:
    window(np.zeros((0, 4), np.int16), [1, 2, 3, 4]).check(oracle=None)
    auto_scale(np.zeros(0, np.int16)).check(oracle=None)
    for kind in (np.int16, np.float32):
        fft(np.zeros((0, 8), kind), 8).check(oracle=None)
        fft(np.zeros((2, 0), kind), 8).check(oracle=None)
    energy(np.zeros(0, np.int16), 0, 0).check(oracle=None)


def test_threads() -> None:
    rng = np.random.default_rng(1)
    same_for_any_number_of_threads(fft(values(rng, "s16", (64, 512)), 512))
    same_for_any_number_of_threads(fft(values(rng, "f32", (64, 514)), 512, "SignalIrfft"))


def test_refused() -> None:
    x = np.zeros((2, 8), np.int16)
    window(x, [1, 2, 3]).refused(ShapeError, r"samples of shape \(2, 8\) do not fit a window of shape \(3\)")
    window(x, np.zeros(8), 32).refused(UnsupportedOpError, "option shift is 32, expected 0 to 31")
    fft(x, 12).refused(UnsupportedOpError, "option fft_length is 12, must be a power of two")
    fft(x, 2).refused(UnsupportedOpError, "option fft_length is 2, expected 4 to")
    fft(x, 4).refused(ShapeError, "rows of 8 numbers, a transform of 4 takes at most 4")
    fft(x, 8, "SignalIrfft").refused(ShapeError, "rows of 8 numbers, a transform of 8 takes 10")
    energy(np.zeros(8, np.int16), 2, 5).refused(ShapeError, "frequencies 2 to 5 are not a range within the 4")
    energy(np.zeros(8, np.int16), 3, 2).refused(ShapeError, "frequencies 3 to 2 are not a range within the 4")
    energy(np.zeros((2, 8), np.int16), 0, 1).refused(ShapeError, "pairs in a row")
    energy(np.zeros(8, np.int16), -1, 1).refused(UnsupportedOpError, "option start_index is -1")
