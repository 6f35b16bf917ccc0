"""CONCATENATION, PACK: C kernels, numpy references and LiteRT (BUILTIN_REF) agree; what LiteRT refuses is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.node import Given, OneNode, const, counting, quantized, scaled, values

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.quantization import Quantization

X = counting((2, 3, 4))
PACKED = [np.dtype(t) for t in (np.float32, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64)]
CONCATENATED = [*PACKED, np.dtype(np.float16), np.dtype(bool)]


def every_type(rng: Any, inputs: Any, outputs: Any) -> Any:
    """Three inputs of one quantization."""
    kind, q = inputs[0], scaled(rng, inputs[0])
    parts = [Given(values(rng, kind, (2, 3)), quantization=q, kind=kind) for _ in range(3)]
    node = OneNode("CONCATENATION", parts, {"axis": 1, "fused_activation_function": "NONE"}, quantization=q)
    return node, {}


def every_type_of_pack(rng: Any, inputs: Any, outputs: Any) -> Any:
    q = scaled(rng, inputs[0])
    parts = [Given(values(rng, inputs[0], (2, 3)), quantization=q) for _ in range(3)]
    return OneNode("PACK", parts, {"axis": 1, "values_count": 3}, quantization=q), {}


EVERY_TYPE = {"CONCATENATION": every_type, "PACK": every_type_of_pack}


def concatenation(inputs: Any, axis: int, activation: str = "NONE", **rest: Any) -> OneNode:
    return OneNode("CONCATENATION", inputs, {"axis": axis, "fused_activation_function": activation}, **rest)


def pack(inputs: Any, axis: int, count: int | None = None, **rest: Any) -> OneNode:
    return OneNode("PACK", inputs, {"axis": axis, "values_count": len(inputs) if count is None else count}, **rest)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("dtype", CONCATENATED, ids=str)
def test_concatenation(axis: int, dtype: Any) -> None:
    parts = [counting((2, 3, 4), dtype)]
    for length in (1, 0, 5, 16):
        shape = [2, 3, 4]
        shape[axis] = length
        parts.append(counting(shape, dtype) if length != 5 else counting(shape, dtype)[::-1].copy())
    np.testing.assert_array_equal(concatenation(parts, axis).check(), np.concatenate(parts, axis))


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=5),
    st.lists(st.integers(0, 40), min_size=1, max_size=9),
    st.integers(-5, 4),
    st.sampled_from(CONCATENATED),
)
def test_random_concatenation(shape: list[int], lengths: list[int], axis: int, dtype: Any) -> None:
    axis = max(min(axis, len(shape) - 1), -len(shape))
    parts = []
    for length in lengths:
        shape[axis] = length
        parts.append(counting(shape, dtype))
    np.testing.assert_array_equal(concatenation(parts, axis).check(), np.concatenate(parts, axis))


def test_many_inputs() -> None:
    parts = [counting((3, i % 4)) + i for i in range(200)]
    np.testing.assert_array_equal(concatenation(parts, 1).check(), np.concatenate(parts, 1))
    np.testing.assert_array_equal(pack([X[0] + i for i in range(200)], -1).check()[0, 0], np.arange(200) + X[0, 0, 0])


@pytest.mark.parametrize("seed", range(20))
def test_uint8_inputs_are_requantized(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [
        quantized(
            rng.integers(0, 256, (3, 256), np.uint8), float(np.float32(rng.uniform(0.01, 4))), int(rng.integers(256))
        )
        for _ in range(4)
    ]
    parts[1] = quantized(np.arange(256, dtype=np.uint8)[None].repeat(3, 0), 0.5, 128)
    out = parts[2].quantization if seed % 2 else Quantization((1.0,), (3,))  # halves: 0.5 to 1
    concatenation(parts, 1, quantization=out).check()


def test_quantization_that_does_not_match() -> None:
    x, q = counting((2, 3), np.int8), Quantization((1.0,), (3,))
    message = r"scale and zero point \(2, 3\) of input 1 do not match \(1, 3\) of the output"
    concatenation([quantized(x, 1, 3), quantized(x, 1, 3)], 0, quantization=q).check()
    concatenation([quantized(x, 1, 3), quantized(x, 2, 3)], 0, quantization=q).refused(UnsupportedOpError, message)
    pack([quantized(x, 1, 3), quantized(x, 1, 3)], 0, quantization=q).check()
    pack([quantized(x, 1, 3), quantized(x, 2, 3)], 0, quantization=q).refused(UnsupportedOpError, message)
    words, q = x.astype(np.int16), Quantization((1.0,), (0,))
    concatenation([quantized(words, 1, 0), quantized(words, 2, 0)], 0, quantization=q).check()  # as LiteRT: bytes
    concatenation([quantized(words, 1, 1), quantized(words, 2, 0)], 0, quantization=q).refused(
        UnsupportedOpError, "zero point 1 of an int16 tensor, expected 0"
    )
    concatenation([quantized(x.view(np.uint8), 1, 3)], 0).refused(
        UnsupportedOpError, "cannot be converted to the output's, 0", by_litert=False
    )  # LiteRT divides by 0


def test_scalars() -> None:
    one, two = np.float32(1), np.float32(2)
    assert concatenation([const(one, np.float32), const(two, np.float32)], 0).check().tolist() == [1, 2]
    assert concatenation([one, two], 0).check(oracle=None).tolist() == [1, 2]  # LiteRT takes constant ones only
    concatenation([const(one, np.float32)], -1).refused(ShapeError, "axis -1")


def test_refused() -> None:
    x = X[0]
    concatenation([x, x], 2).refused(ShapeError, "axis 2, expected -2 to 1")
    concatenation([x, x], -3).refused(ShapeError, "axis -3, expected -2 to 1")
    concatenation([x, x], -(2**31)).refused(ShapeError, "axis -2147483648")
    concatenation([x, x.T], 0).refused(
        ShapeError, r"input 0 has the shape \(3, 4\), input 1 \(4, 3\): .* outside axis 0"
    )
    concatenation([x, X], 0).refused(ShapeError, r"input 1 \(2, 3, 4\)")
    concatenation([x, x], 0, "RELU").refused(UnsupportedOpError, "activation RELU is not supported, only NONE")
    concatenation([x, x.astype(np.int32)], 0).refused(
        UnsupportedOpError, "types f32 s32 -> f32 of x... -> y are not supported"
    )
    concatenation([], 0).refused(UnsupportedOpError, r"input 0 \(x\) is absent")
    pack([x, x], 3).refused(ShapeError, "axis 3, expected -3 to 2")
    pack([x, x], -4).refused(ShapeError, "axis -4, expected -3 to 2")
    pack([x, x.T], 0).refused(ShapeError, r"input 0 has the shape \(3, 4\), input 1 \(4, 3\)")
    pack([x, x], 0, 3).refused(UnsupportedOpError, "values_count is 3, the node has 2 inputs")
    pack([x, None], 0).refused(UnsupportedOpError, r"input 1 \(x\) is absent")
    pack([counting((1,) * 8)], 0).refused(ShapeError, "rank 9, at most 8", by_litert=False)  # a limit of ours


def test_a_dimension_that_overflows() -> None:
    empty = np.zeros((2**30, 0), np.float32)
    concatenation([empty] * 2, 0).refused(ShapeError, "would be 2147483648, at most 2147483647 fits")


@pytest.mark.parametrize("dtype", [np.uint16, np.uint64, np.float64, np.complex64], ids=str)
def test_types_refused(dtype: Any) -> None:
    x = counting((2, 3), dtype)
    pack([x, x], 1).refused(UnsupportedOpError, "are not supported")
    concatenation([x, x], 1).refused(UnsupportedOpError, "are not supported")


@pytest.mark.parametrize("length", [1, 2, 3, 8])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_packed_elements(axis: int, length: int) -> None:
    """Runs that begin and end in the middle of a byte, on either side."""
    rng, parts = np.random.default_rng(length), []
    for i in range(4):
        shape = [2, 3, 3]
        shape[axis] = length + i
        parts.append(Given(values(rng, "s4", shape), kind="s4"))
    np.testing.assert_array_equal(
        concatenation(parts, axis).check(), np.concatenate([part.array for part in parts], axis)
    )


@given(st.lists(st.integers(0, 5), max_size=4), st.integers(1, 9), st.integers(-5, 4), st.sampled_from(PACKED))
def test_random_pack(shape: list[int], count: int, axis: int, dtype: Any) -> None:
    axis = max(min(axis, len(shape)), -len(shape) - 1)
    parts: list[Any] = [(counting(shape, dtype) + i).astype(dtype) for i in range(count)]
    parts[0] = Given(parts[0], constant=True)
    expected = np.stack([parts[0].array, *parts[1:]], axis)
    np.testing.assert_array_equal(pack(parts, axis).check(), expected)


def test_resized() -> None:
    builder = ModelBuilder()
    g = builder.subgraph()
    a, b = g.input("a", (1, 2)), g.input("b", (1, 2))
    both = g.node("CONCATENATION", [a, b], out=("c", (1, 4)), options={"axis": 1})
    g.output(g.node("PACK", [both, both], out=("y", (2, 1, 4)), options={"axis": 0, "values_count": 2}))
    interpreter = minilite.Interpreter(model_content=builder.build())
    for rows, left, right in ((1, 2, 2), (3, 0, 5), (0, 2, 2), (1, 2, 2), (7, 64, 1)):
        x, y = counting((rows, left)), counting((rows, right)) * 2
        for index, array in enumerate((x, y)):
            interpreter.resize_tensor_input(index, array.shape)
        interpreter.allocate_tensors()
        for index, array in enumerate((x, y)):
            interpreter.set_tensor(index, array)
        interpreter.invoke()
        found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        np.testing.assert_array_equal(found, np.stack([np.concatenate([x, y], 1)] * 2))
    interpreter.resize_tensor_input(0, (2, 2))
    with pytest.raises(ShapeError, match=r"input 0 has the shape \(2, 2\), input 1 \(7, 1\)"):
        interpreter.allocate_tensors()
