"""SignalFramer, SignalOverlapAdd, SignalDelay, SignalStacker: C kernels agree, run by run, with numpy over the whole
stream and with TensorFlow Lite Micro."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from support.compare import compare
from support.micro import INSTALLED, run_micro, run_steps
from support.node import Array, OneNode, Out, values

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.dtypes import TensorType


def custom(**options: Any) -> bytes:
    return bytes(flexbuffers.Dumps(options))


def framer(shape: Any, size: int = 6, step: int = 2, prefill: bool = False) -> OneNode:
    made = (*shape[:-1], shape[-1] // step, size) if shape else ()
    options = custom(frame_size=size, frame_step=step, prefill=prefill)
    outs = [Out("s16", shape=made), Out("b8", shape=())]
    return OneNode("SignalFramer", [np.zeros(shape, np.int16)], outs=outs, custom=options)


def overlap(shape: Any, step: int = 2, kind: str = "s16") -> OneNode:
    made = (*shape[:-2], shape[-2] * step) if len(shape) > 1 else ()
    options = custom(T=int(TensorType.INT16 if kind == "s16" else TensorType.FLOAT32), frame_step=step)
    x = np.zeros(shape, np.int16 if kind == "s16" else np.float32)
    return OneNode("SignalOverlapAdd", [x], outs=[Out(kind, shape=made)], custom=options)


def delay(shape: Any, length: int) -> OneNode:
    x = np.zeros(shape, np.int16)
    return OneNode("SignalDelay", [x], outs=[Out("s16", shape=shape)], custom=custom(delay_length=length))


def stacker(channels: int, left: int, right: int, step: int, given: int | None = None) -> OneNode:
    options = custom(num_channels=channels, stacker_left_context=left, stacker_right_context=right, stacker_step=step)
    outs = [Out("s16", shape=(channels * (left + right + 1),)), Out("b8", shape=())]
    return OneNode("SignalStacker", [np.zeros(given or channels, np.int16)], outs=outs, custom=options)


def drawn(shape: Any, kind: str = "s16", count: int = 6) -> list[Array]:
    return [values(np.random.default_rng(i), kind, shape) for i in range(count)]


def agree(node: OneNode, steps: list[Array]) -> list[list[Array]]:
    """The outputs by run; where they are not valid TensorFlow Lite Micro leaves output 0 as it was."""
    found = run_steps(node.model, [[x] for x in steps])
    if INSTALLED:
        for i, (expected, here) in enumerate(zip(run_micro(node.model, [[x] for x in steps]), found, strict=True)):
            if len(expected) == 1 or expected[1]:
                compare(expected[:1], here[:1], 0, f"C kernel against TensorFlow Lite Micro, run {i}")
            assert expected[1:] == here[1:]
    return found


@pytest.mark.parametrize("prefill", [False, True])
@pytest.mark.parametrize(
    ("size", "step", "samples"), [(6, 2, 2), (6, 2, 8), (5, 2, 4), (7, 7, 7), (400, 160, 160), (3, 1, 5)]
)
def test_framer(size: int, step: int, samples: int, prefill: bool) -> None:
    for outer in ((), (3,), (2, 2)):
        steps = drawn((*outer, samples))
        found = agree(framer((*outer, samples), size, step, prefill), steps)
        stream = np.concatenate([np.zeros((*outer, size - step), np.int16)] * prefill + steps, -1)
        first = 0 if prefill else -(-size // step) - 1  # the first step that fills a frame
        many = samples // step
        for run, (y, valid) in enumerate(found):
            assert valid == (run * many >= first)
            for frame in range(many):
                start = (run * many + frame - first) * step
                whole = stream[..., start : start + size] if start >= 0 else np.zeros((*outer, size), np.int16)
                np.testing.assert_array_equal(y[..., frame, :], whole)


@pytest.mark.parametrize("kind", ["s16", "f32"])
@pytest.mark.parametrize(("frames", "size", "step"), [(1, 4, 2), (3, 4, 2), (2, 5, 2), (1, 3, 3), (4, 7, 1)])
def test_overlap(frames: int, size: int, step: int, kind: str) -> None:
    for outer in ((), (3,)):
        steps = drawn((*outer, frames, size), kind)
        found = agree(overlap((*outer, frames, size), step, kind), steps)
        low, high = (-32768, 32767) if kind == "s16" else (-np.inf, np.inf)
        sums = np.zeros((*outer, (len(steps) * frames) * step + size), np.float32 if kind == "f32" else np.int64)
        for i in range(len(steps) * frames):
            here = sums[..., i * step : i * step + size]
            here[...] = np.clip(here + steps[i // frames][..., i % frames, :], low, high)
        stream = np.concatenate([y for [y] in found], -1)
        np.testing.assert_array_equal(stream, sums[..., : stream.shape[-1]])


@pytest.mark.parametrize("length", [0, 1, 4, 5, 11])
def test_delay(length: int) -> None:
    for shape in ((4,), (2, 3), (1, 2, 5)):
        steps = drawn(shape)
        found = agree(delay(shape, length), steps)
        stream = np.concatenate([np.zeros((*shape[:-1], length), np.int16), *steps], -1)
        np.testing.assert_array_equal(np.concatenate([y for [y] in found], -1), stream[..., : 6 * shape[-1]])


def unsigned(name: str, number: int) -> bytes:
    """Returns a flexbuffer map with one unsigned number of eight bytes."""
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key(name)
        builder.UInt(2**62, 8)
    return bytes(builder.Finish()).replace((2**62).to_bytes(8, "little"), number.to_bytes(8, "little"))


def test_options_that_are_numbers_without_a_sign_or_none() -> None:
    x, outs = np.zeros((2, 3), np.int16), [Out("s16", shape=(2, 3))]
    found = agree(OneNode("SignalDelay", [x], outs=outs, custom=unsigned("delay_length", 1)), drawn((2, 3)))
    for one, other in zip(found, agree(delay((2, 3), 1), drawn((2, 3))), strict=True):
        np.testing.assert_array_equal(one[0], other[0])
    for number, text in ((2**64 - 2, r"1\.84467e\+19"), (2**31, "2147483648")):
        node = OneNode("SignalDelay", [x], outs=outs, custom=unsigned("delay_length", number))
        node.refused(UnsupportedOpError, f"option delay_length is {text}, expected 0 to 2147483647", by_litert=False)
    for value, text in (("3", "text"), ([3], "a vector"), ([3, "a"], "missing"), (None, "missing")):
        node = OneNode("SignalDelay", [x], outs=outs, custom=custom(delay_length=value))
        node.refused(UnsupportedOpError, f"option delay_length is {text}, must be a number", by_litert=False)


@pytest.mark.parametrize(("left", "right", "step"), [(0, 0, 1), (1, 1, 1), (2, 1, 2), (3, 0, 4), (0, 3, 2)])
def test_stacker(left: int, right: int, step: int) -> None:
    steps = drawn((5,), count=9)
    found = agree(stacker(5, left, right, step), steps)
    frames = [steps[0]] * left
    for x, (y, valid) in zip(steps, found, strict=True):
        frames.append(x)
        assert valid == (len(frames) > left + right)
        whole = frames[: left + right + 1] if valid else [np.zeros_like(y)]
        np.testing.assert_array_equal(y, np.concatenate(whole))
        frames = frames[step:] if valid else frames


def test_streams_begin_again_after_a_reset() -> None:
    """With the variables, and with another shape."""
    interpreter = minilite.Interpreter(model_content=delay((4,), 2).model)
    found = []
    for how in ("", "", "reset", "", "resize", ""):
        if how == "reset":
            interpreter.reset_all_variables()
        samples = 3 if found and len(found) >= 4 else 4
        interpreter.resize_tensor_input(0, (samples,))
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, np.full(samples, len(found) + 1, np.int16))
        interpreter.invoke()
        found.append(interpreter.get_tensor(1).tolist())
    assert found == [[0, 0, 1, 1], [1, 1, 2, 2], [0, 0, 3, 3], [3, 3, 4, 4], found[4], [5, 5, 6]]
    assert found[4] in ([0, 0, 5], [4, 4, 5])


def test_interpreters_hear_for_themselves() -> None:
    model = minilite.Interpreter(model_content=delay((4,), 4).model)
    model.allocate_tensors()
    other = model.clone()
    other.allocate_tensors()
    for one, value in ((model, 1), (other, 2), (model, 3)):
        one.set_tensor(0, np.full(4, value, np.int16))
        one.invoke()
    assert model.get_tensor(1).tolist() == [1] * 4
    assert other.get_tensor(1).tolist() == [0] * 4


def test_refused() -> None:
    framer((7,)).refused(ShapeError, "7 samples are not a multiple of the step, 2")
    framer((2,), size=1).refused(UnsupportedOpError, "frames have 1 samples, the step is 2: it must not be longer")
    framer((300, 200), size=200).refused(
        ShapeError, "300 streams of 202 elements exceed the limit of 32768 elements in all"
    )
    overlap((3,)).refused(ShapeError, r"the input must be frames of samples, its shape is \(3\)")
    overlap((1, 1)).refused(ShapeError, "frames have 1 samples, the step is 2: it must not be longer")
    delay((4,), 40000).refused(ShapeError, "1 streams of 40000 elements exceed the limit")
    delay((4,), -1).refused(UnsupportedOpError, "option delay_length is -1")
    stacker(5, 1, 1, 4).refused(UnsupportedOpError, "3 frames are stacked, the step is 4: it must not be longer")
    stacker(5, 1, 1, 1, given=4).refused(ShapeError, "the input has 4 channels, the options say 5")
