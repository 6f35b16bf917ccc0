"""PAD, PADV2, MIRROR_PAD: C kernel, numpy reference and LiteRT (BUILTIN_REF) agree; what LiteRT refuses is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import Case
from support.compare import REFERENCE
from support.node import Given, OneNode, const, counting, quantized

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

INT_MAX, INT_MIN = 2**31 - 1, -(2**31)
TYPES = [np.dtype(t) for t in (np.float32, np.float16, np.uint8, np.int8, np.int16, np.int32, np.int64, bool)]


CONSTANT = "f32 f16 s8 u8 b8 s16 s32 s64"
MIRRORED = "f32 s8 u8 s16 s32 s64"
PADDINGS = [[0, 1], [0, 0], [2, 1]]
EVERY_TYPE = {
    "PAD": Case([(2, 3, 2), PADDINGS], litert=CONSTANT, one_scale=True),
    "PADV2": Case([(2, 3, 2), PADDINGS, ()], litert=CONSTANT, one_scale=True),
    "MIRROR_PAD": Case([(2, 3, 4), [[0, 0], [1, 2], [3, 1]]], {"mode": "REFLECT"}, litert=MIRRORED, one_scale=True),
}
PADS = [
    ((4,), [[1, 2]]),
    ((4,), [[0, 0]]),
    ((2, 3), [[0, 0], [0, 1]]),
    ((2, 3), [[2, 0], [0, 0]]),
    ((1, 5, 4, 3), [[0, 0], [1, 2], [3, 0], [0, 0]]),
    ((2, 5, 4, 3), [[0, 0], [1, 1], [1, 1], [0, 0]]),
    ((2, 3, 2, 3), [[0, 0], [0, 0], [1, 0], [0, 0]]),
    ((2, 1, 3, 2), [[0, 1], [0, 0], [0, 0], [1, 0]]),
    ((2, 1, 2, 1, 3), [[1, 0], [0, 1], [2, 2], [1, 1], [0, 2]]),
    ((0, 3), [[1, 2], [0, 1]]),
    ((0, 3), [[0, 0], [0, 1]]),
    ((3, 0), [[1, 0], [2, 3]]),
    ((0, 3, 0), [[7, 0], [2, 0], [50, 1]]),
]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("depth", [1, 3, 8, 70])
def test_many_channels_padded(depth: int, dtype: Any) -> None:
    """Pads a line of short runs that is longer than a block, so that blocks end within a run and within a gap."""
    for after in (1, depth, 40, 90):
        x = counting((1, 70, 61, depth), dtype)
        paddings = [[0, 0], [0, 0], [0, 0], [2, after]]
        np.testing.assert_array_equal(OneNode("PAD", [x, const(paddings)]).check(), np.pad(x, paddings))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(("shape", "paddings"), PADS)
def test_table(shape: Any, paddings: Any, dtype: Any) -> None:
    x = counting(shape, dtype)
    expected = np.pad(x, paddings)
    np.testing.assert_array_equal(OneNode("PAD", [x, const(paddings)]).check(), expected)
    computed = OneNode("PAD", [x, np.array(paddings, np.int32)])
    # LiteRT's Python cannot read an empty output whose shape came out of the run
    np.testing.assert_array_equal(computed.check(oracle=REFERENCE if expected.size > 0 else None), expected)
    value = counting((), dtype) * dtype.type(3)
    expected = np.pad(x, paddings, constant_values=value)
    np.testing.assert_array_equal(OneNode("PADV2", [x, const(paddings), value.astype(dtype)]).check(), expected)


@pytest.mark.parametrize("integer", [np.int32, np.int64, np.int16, np.int8])
def test_types_of_paddings(integer: Any) -> None:
    x, paddings = counting((2, 3)), [[1, 2], [0, 100]]
    OneNode("PAD", [x, const(paddings, integer)]).check()
    OneNode("PAD", [x, np.array(paddings, integer)]).check()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
@pytest.mark.parametrize("zero", [-7, 5, 0])
def test_quantized_tensors_are_padded_with_the_zero_point_of_the_output(dtype: Any, zero: int) -> None:
    x, paddings, zero = counting((1, 2, 3, 1), dtype), const([[0, 0], [1, 1], [0, 2], [0, 0]]), zero % 256
    zero = zero - 256 if dtype != np.uint8 and zero > 127 else zero
    out = Quantization((0.5,), (zero,))
    assert OneNode("PAD", [quantized(x, 0.5, zero), paddings], quantization=out).check()[0, 0, 0, 0] == zero
    value = Given(np.array([9], dtype), True, out)
    assert OneNode("PADV2", [quantized(x, 0.5, zero), paddings, value], quantization=out).check()[0, 0, 0, 0] == 9
    value = Given(np.array([9], dtype), True, Quantization((0.25,), (zero,)))
    OneNode("PADV2", [quantized(x, 0.5, zero), paddings, value], quantization=out).refused(
        UnsupportedOpError, rf"\(0.25, {zero}\) of the padding value do not match \(0.5, {zero}\) of the output"
    )


def test_a_tensor_without_scale_is_padded_with_0() -> None:
    x, paddings = counting((2, 3), np.int8), const([[1, 0], [0, 0]])
    assert OneNode("PAD", [x, paddings], quantization=Quantization((0.5,), (4,))).check()[0, 0] == 0


def test_scalar() -> None:
    assert OneNode("PAD", [counting(()), const(np.zeros((0, 2)))]).check().shape == ()


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=5),
    st.sampled_from(TYPES),
    st.integers(0, 31),
)
def test_random(dimensions: list[tuple[int, int, int]], dtype: Any, unpadded: int) -> None:
    """`unpadded` is a mask of dimensions that are left alone."""
    paddings = [(0, 0) if unpadded >> i & 1 else d[1:] for i, d in enumerate(dimensions)]
    x = counting([d[0] for d in dimensions], dtype)
    np.testing.assert_array_equal(OneNode("PAD", [x, const(paddings)]).check(), np.pad(x, paddings))


@pytest.mark.parametrize(
    ("paddings", "message"),
    [
        ([[-1, 2], [0, 0]], "dimension 0 is padded by -1 and 2, expected 0 or more"),
        ([[0, 0], [0, INT_MIN]], "dimension 1 is padded by 0 and -2147483648"),
        ([[INT_MAX, 0], [0, 0]], "dimension 0 of size 2 padded by 2147483647 and 0 exceeds 2147483647"),
        ([[INT_MAX, INT_MAX], [0, 0]], "padded by 2147483647 and 2147483647 exceeds"),
        ([[1, 2]], r"paddings have the shape \(1, 2\), expected \(2, 2\)"),
        ([[1, 2, 3], [1, 2, 3]], r"paddings have the shape \(2, 3\)"),
        ([1, 2, 3, 4], r"paddings have the shape \(4\)"),
    ],
)
def test_refused(paddings: Any, message: str) -> None:
    x = counting((2, 3))
    for integer in (np.int32, np.int64):
        OneNode("PAD", [x, const(paddings, integer)]).refused(ShapeError, message)
        OneNode("PAD", [x, np.array(paddings, integer)]).refused(ShapeError, message)


def test_more_refused() -> None:
    x, paddings = counting((2, 3)), const([[1, 2], [0, 0]])
    for value in (2**31, 2**63 - 1, -(2**63)):
        OneNode("PAD", [x, const([[1, value], [value, value]], np.int64)]).refused(ShapeError, "dimension 0")
    OneNode("PAD", [x, const([[2**29] * 2] * 2)]).refused(ShapeError, "more elements than an int64 counts")
    OneNode("PADV2", [x, paddings, counting((2,))]).refused(
        ShapeError, r"value has the shape \(2\), expected one element"
    )
    OneNode("PADV2", [x, paddings, np.int32(1)]).refused(
        UnsupportedOpError, "types f32 s32 s32 -> f32 of x paddings value"
    )
    OneNode("PAD", [x, const([[1, 2]], np.uint8)]).refused(UnsupportedOpError, "types f32 u8 -> f32")
    OneNode("PAD", [x, paddings], kind=TensorType.INT32).refused(UnsupportedOpError, "types f32 s32 -> s32")
    OneNode("PAD", [x]).refused(UnsupportedOpError, r"input 1 \(paddings\) is absent")


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.float64, np.complex64], ids=str)
def test_types_refused(dtype: Any) -> None:
    OneNode("PAD", [counting((3,), dtype), const([[1, 1]])]).refused(UnsupportedOpError, "are not supported")


def test_resize_and_change_of_paddings_between_runs() -> None:
    node = OneNode("PAD", [counting((2, 3)), np.zeros((2, 2), np.int32)])
    interpreter = minilite.Interpreter(model_content=node.model)
    y = interpreter.get_output_details()[0]["index"]
    for shape in ((2, 3), (5, 1), (0, 4), (2, 3)):
        interpreter.resize_tensor_input(0, shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, counting(shape))
        for paddings in ([[0, 0], [0, 0]], [[1, 2], [0, 3]], [[0, 0], [9, 0]]):
            interpreter.set_tensor(1, np.array(paddings, np.int32))
            interpreter.invoke()
            np.testing.assert_array_equal(interpreter.get_tensor(y), np.pad(counting(shape), paddings))
        interpreter.set_tensor(1, np.array([[0, 0], [-1, 0]], np.int32))
        with pytest.raises(ShapeError, match="dimension 1 is padded by -1 and 0"):
            interpreter.invoke()


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize(
    ("shape", "paddings"),
    [
        ((4,), [[3, 2]]),
        ((2, 3), [[0, 0], [0, 0]]),
        ((1, 5, 4, 3), [[0, 0], [1, 2], [3, 3], [0, 0]]),
        ((2, 3, 40), [[1, 0], [2, 1], [39, 20]]),
        ((2, 5, 7, 3), [[1, 0], [2, 1], [0, 0], [0, 0]]),
        ((3, 5, 2), [[2, 1], [0, 0], [0, 0]]),
    ],
)
def test_mirror(mode: str, shape: Any, paddings: Any) -> None:
    x = counting(shape)
    expected = np.pad(x, paddings, mode=mode.lower())  # type: ignore[call-overload]
    for wrap in (const, lambda value: np.array(value, np.int32)):
        result = OneNode("MIRROR_PAD", [x, wrap(paddings)], {"mode": mode}).check()
        np.testing.assert_array_equal(result, expected)


def test_mirror_refused() -> None:
    x = counting((2, 3))

    def refused(mode: str, paddings: Any, message: str, by_litert: bool = True) -> None:
        for wrap in (const, lambda value: np.array(value, np.int32)):
            OneNode("MIRROR_PAD", [x, wrap(paddings)], {"mode": mode}).refused(ShapeError, message, by_litert=by_litert)

    refused("REFLECT", [[2, 0], [0, 0]], "dimension 0 of size 2 is padded by 2 and 0, at most 1 is reflected")
    refused("SYMMETRIC", [[0, 0], [0, 4]], "dimension 1 of size 3 is padded by 0 and 4, at most 3 is reflected")
    refused("REFLECT", [[0, 0], [-1, 0]], "dimension 1 is padded by -1 and 0, expected 0 or more", by_litert=False)
    refused("REFLECT", [[1, 1]], "paddings have the shape .1, 2., expected .2, 2.")
    scaled_input = OneNode(
        "MIRROR_PAD", [quantized(counting((2,), np.int8), 0.5, 1), const([[1, 0]])], {"mode": "REFLECT"}
    )
    scaled_input.refused(UnsupportedOpError, "of the input do not match")
