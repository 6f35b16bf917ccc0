"""QUANTIZE, DEQUANTIZE against numpy and LiteRT, bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

import numpy as np
import pytest
from compare import check, run_minilite
from elementwise import FLOAT32, INT8, INT16, INT32, UINT8, one_node, scaled, values

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.quantization import NOT_QUANTIZED, Quantization

KINDS = [INT8, UINT8, INT16]
REQUANTIZED = [
    (INT8, INT8),
    (INT8, UINT8),
    (INT8, INT16),
    (UINT8, INT8),
    (UINT8, UINT8),
    (UINT8, INT16),
    (INT16, INT8),
    (INT16, INT16),
    (INT16, INT32),
    (INT32, INT8),
    (INT32, INT16),
]


@pytest.mark.parametrize("kind", KINDS)
def test_quantize(kind: TensorType) -> None:
    """Random numbers, and every step and half step of the range and somewhat beyond."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        q = scaled(rng, kind, 1e-3, 0.1)
        info = np.iinfo(numpy_type(kind))
        halves = np.arange(info.min - q.zero_point - 3, info.max - q.zero_point + 3, 0.5) * q.scale
        x = np.concatenate([rng.permutation(halves), rng.uniform(halves[0], halves[-1], 500)]).astype(np.float32)
        check(one_node("QUANTIZE", [(x, NOT_QUANTIZED)], kind, scale=q), [x])
    empty = np.zeros((0, 2), np.float32)
    check(one_node("QUANTIZE", [(empty, NOT_QUANTIZED)], kind, scale=q), [empty])


@pytest.mark.parametrize("kind", KINDS)
def test_quantize_saturates(kind: TensorType) -> None:
    """Beyond int32 LiteRT's conversion is undefined in C++ (x86 wraps): the limits; NaN gives the lowest value."""
    x = np.array([np.nan, np.inf, -np.inf, 1e20, -1e20, 3e9, -3e9], np.float32)
    model = one_node("QUANTIZE", [(x, NOT_QUANTIZED)], kind, scale=Quantization((0.1,), (0,)))
    (y,) = check(model, [x], against_litert=False)
    info = np.iinfo(y.dtype)
    np.testing.assert_array_equal(y, np.array([info.min, info.max, info.min] + [info.max, info.min] * 2, y.dtype))


@pytest.mark.parametrize("kind", KINDS)
def test_quantize_next_to_a_tie(kind: TensorType) -> None:
    """Half a step rounds away from zero; the float below it does not, though adding 0.5 to it gives 1."""
    below = np.nextafter(np.float32(0.5), np.float32(0))
    x = np.array([below, -below, 0.5, -0.5], np.float32)
    (y,) = check(one_node("QUANTIZE", [(x, NOT_QUANTIZED)], kind, scale=Quantization((1.0,), (10,))), [x])
    assert y.tolist() == [10, 10, 11, 9]


@pytest.mark.parametrize(("source", "target"), REQUANTIZED)
def test_requantize(source: TensorType, target: TensorType) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        x = values(rng, source, (3, 171)) if source != INT32 else rng.integers(-100_000, 100_000, (3, 171), np.int32)
        scales = [
            q if q.scales else Quantization((1e-4,), (0,))
            for q in (scaled(rng, k, 1e-3, 1e-1) for k in (source, target))
        ]
        check(one_node("QUANTIZE", [(x, scales[0])], target, scale=scales[1]), [x])


@pytest.mark.parametrize("kind", KINDS)
def test_dequantize(kind: TensorType) -> None:
    rng = np.random.default_rng(5)
    for shape in ((300,), (2, 3, 4), (), (0, 2)):
        x = values(rng, kind, shape)
        check(one_node("DEQUANTIZE", [(x, scaled(rng, kind, 1e-3, 1))], FLOAT32), [x])


@pytest.mark.parametrize("kind", KINDS)
def test_dequantize_per_channel(kind: TensorType) -> None:
    """LiteRT has 8 bits only."""
    rng = np.random.default_rng(5)
    for shape, axis in (((5, 7, 3), 1), ((5, 7), 0), ((2, 9), 1)):
        n = shape[axis]
        scales = tuple(float(s) for s in rng.uniform(0.01, 1, n).astype(np.float32))
        zero_points = tuple(int(z) for z in values(rng, kind, (n,)))
        x = values(rng, kind, shape)
        model = one_node("DEQUANTIZE", [(x, Quantization(scales, zero_points, axis))], FLOAT32)
        check(model, [x], against_litert=kind != INT16)


def test_dequantize_halves() -> None:
    x = np.arange(65536).astype(np.uint16).view(np.float16)
    check(one_node("DEQUANTIZE", [(x, NOT_QUANTIZED)], FLOAT32), [x])


def test_constants_are_folded() -> None:
    for x, q in ((np.float16([[1.5, -2]]), NOT_QUANTIZED), (np.int8([[-128, 5]]), Quantization((0.5,), (3,)))):
        model = one_node("DEQUANTIZE", [(x, q)], FLOAT32, constants=[0], shape=(1, 2))
        interpreter = minilite.Interpreter(model_content=model)
        interpreter.allocate_tensors()
        interpreter.invoke()
        expected = x.astype(np.float32) if not q.scales else np.float32([[-65.5, 1]])
        np.testing.assert_array_equal(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), expected)


def test_refusals() -> None:
    x, y = np.zeros((3, 2), np.int8), np.zeros(2, np.float32)
    per_row = one_node("DEQUANTIZE", [(x, Quantization((0.1, 0.2, 0.3), (0, 0, 0), 0))], FLOAT32)
    with pytest.raises(ShapeError, match="3 scales do not match dimension 0 of size 2"):
        run_minilite(per_row, [x[:2]])
    with pytest.raises(UnsupportedOpError, match="'x0' must have a scale"):
        run_minilite(one_node("DEQUANTIZE", [(x, NOT_QUANTIZED)], FLOAT32), [x])
    to_int32 = one_node("QUANTIZE", [(y, NOT_QUANTIZED)], INT32, scale=Quantization((1.0,), (0,)))
    with pytest.raises(UnsupportedOpError, match="float32 cannot be quantized to INT32"):
        run_minilite(to_int32, [y])
