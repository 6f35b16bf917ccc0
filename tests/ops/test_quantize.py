"""QUANTIZE, DEQUANTIZE: bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import REFERENCE
from support.node import Array, Given, OneNode, Out, const, dtype_of, quantized, scaled, values
from support.sparse import SparseNode, compressed, model, sparse

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.quantization import NOT_QUANTIZED, Quantization

KINDS = ["s8", "u8", "s16"]


def every_quantize(rng: np.random.Generator, inputs: Any, outputs: Any) -> tuple[OneNode, Any]:
    (source,), (target,) = inputs, outputs
    x = rng.integers(-100_000, 100_000, (3, 171), np.int32) if source == "s32" else values(rng, source, (3, 171))
    q, q_out = (
        Quantization((1e-4 if kind == "s32" else 0.1,), (0,)) if kind in ("s32", "s4") else scaled(rng, kind, 1e-3, 0.1)
        for kind in (source, target)
    )
    outs = [Out(target, q_out, x.shape)]
    return OneNode("QUANTIZE", [Given(x, quantization=q)], outs=outs, version=6 if target == "s4" else 1), {}


def every_densify(rng: np.random.Generator, inputs: Any, outputs: Any) -> Any:
    x = sparse(rng, dtype_of(outputs[0]).type)
    return SparseNode(model(*compressed(x), x.shape)), {}


def every_dequantize(rng: np.random.Generator, inputs: Any, outputs: Any) -> Any:
    if inputs[0] not in ("s4", "s2", "u4"):
        return Case([(2, 3, 40)])
    given = Given(values(rng, inputs[0], (2, 3, 40)), quantization=Quantization((0.37,), (1,)), kind=inputs[0])
    oracle = None if inputs[0] == "s2" else REFERENCE  # LiteRT takes no arrays of s2
    return OneNode("DEQUANTIZE", [given], kind="f32", version=6), {"oracle": oracle}


EVERY_TYPE = {"QUANTIZE": every_quantize, "DEQUANTIZE": every_dequantize, "DENSIFY": every_densify}


@pytest.mark.parametrize(("scale", "zero_point"), [(1.0, 0), (0.5, 2), (0.3, -7)])
def test_floats_to_nibbles(scale: float, zero_point: int) -> None:
    """An odd number of floats, with ties, and values beyond -8 to 7. Infinity becomes -8 in LiteRT, 7 in minilite."""
    x = np.array([-100, -8.6, -8.5, -8.4, -1.5, -0.5, -0.0, 0.5, 1.5, 7.4, 7.5, 8.5, 100], np.float32)
    q = Quantization((scale,), (zero_point,))
    for array in (x, x[::-1].copy(), x[:0], np.full((3, 5), 0.7, np.float32)):
        OneNode("QUANTIZE", [array], outs=[Out("s4", q, array.shape)], version=6).check()
    ends = OneNode("QUANTIZE", [np.float32([np.inf, -np.inf, np.nan])], outs=[Out("s4", q, (3,))], version=6)
    assert ends.check(oracle=None).tolist() == [7, -8, -8]


@pytest.mark.parametrize("by_channel", [False, True])
@pytest.mark.parametrize("kind", ["s4", "s2", "u4"])
def test_packed_weights(kind: str, by_channel: bool) -> None:
    scales = (0.37, 0.2, 3.5) if by_channel else (0.37,)
    x = values(np.random.default_rng(1), kind, (3, 7))
    given = Given(x, True, Quantization(scales, (0,) * len(scales)), kind)
    y = OneNode("DEQUANTIZE", [given], kind="f32", version=6).check()
    np.testing.assert_array_equal(y, x * np.array(scales, np.float32)[:, None])


def by_channel(rng: np.random.Generator, kind: str, axis: int, count: int) -> Quantization:
    """Random scales and zero points along a dimension."""
    scales = tuple(float(s) for s in rng.uniform(0.01, 1, count).astype(np.float32))
    zero_points = (0,) * count if kind == "s16" else tuple(int(z) for z in values(rng, kind, (count,)))
    return Quantization(scales, zero_points, axis)


def quantize(x: Array, kind: str, q: Quantization) -> OneNode:
    return OneNode("QUANTIZE", [x], kind=kind, quantization=q)


def dequantize(x: Any, q: Quantization = NOT_QUANTIZED) -> OneNode:
    return OneNode("DEQUANTIZE", [Given(x, quantization=q) if isinstance(x, np.ndarray) else x], kind="f32")


@pytest.mark.parametrize("kind", KINDS)
def test_quantize(kind: str) -> None:
    """Random numbers, and every step and half step of the range and somewhat beyond."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        q = scaled(rng, kind, 1e-3, 0.1)
        info = np.iinfo(dtype_of(kind))
        halves = np.arange(info.min - q.zero_point - 3, info.max - q.zero_point + 3, 0.5) * q.scale
        x = np.concatenate([rng.permutation(halves), rng.uniform(halves[0], halves[-1], 500)]).astype(np.float32)
        quantize(x, kind, q).check()
    quantize(np.zeros((0, 2), np.float32), kind, q).check()
    quantize(np.float32([0.49999997, -0.49999997, 0.5, -0.5]), kind, Quantization((1.0,), (0,))).check()


@pytest.mark.parametrize("kind", KINDS)
def test_quantize_saturates(kind: str) -> None:
    """Beyond int32 LiteRT's conversion is undefined in C++ (x86 wraps): the limits; NaN gives the lowest value."""
    x = np.array([np.nan, np.inf, -np.inf, 1e20, -1e20, 3e9, -3e9], np.float32)
    y = quantize(x, kind, Quantization((0.1,), (0,))).check(oracle=None)
    info = np.iinfo(y.dtype)
    np.testing.assert_array_equal(y, np.array([info.min, info.max, info.min] + [info.max, info.min] * 2, y.dtype))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "axis"), [((5, 7, 3), 1), ((5, 7), 0), ((2, 9), 1), ((4, 1, 6), 1)])
def test_by_channel(kind: str, shape: tuple[int, ...], axis: int) -> None:
    rng = np.random.default_rng(5)
    q = by_channel(rng, kind, axis, shape[axis])
    quantize(values(rng, "f32", shape) * 9, kind, q).check()
    known_to_litert = kind != "s16" or not q.per_channel
    dequantize(values(rng, kind, shape), q).check(oracle=REFERENCE if known_to_litert else None)


def test_requantize_wide() -> None:
    """int16 to int32 and back at the ends of the range, with multipliers beyond 1."""
    x = np.array([-32768, -32767, -1, 0, 1, 32767], np.int16)
    for scale in (1e-9, 1e-6, 0.5, 3.0):
        OneNode("QUANTIZE", [quantized(x, 0.1, 0)], kind="s32", quantization=Quantization((scale,), (0,))).check(
            oracle=REFERENCE if scale > 1e-6 else None  # LiteRT's left shift overflows
        )


@pytest.mark.parametrize("kind", KINDS)
def test_dequantize(kind: str) -> None:
    rng = np.random.default_rng(5)
    for shape in ((300,), (2, 3, 4), (), (0, 2)):
        dequantize(values(rng, kind, shape), scaled(rng, kind, 1e-3, 1)).check()


def test_dequantize_halves() -> None:
    dequantize(np.arange(65536).astype(np.uint16).view(np.float16)).check()


def test_constants_are_folded() -> None:
    for x, q in ((np.float16([[1.5, -2]]), NOT_QUANTIZED), (np.int8([[-128, 5]]), Quantization((0.5,), (3,)))):
        interpreter = minilite.Interpreter(model_content=dequantize(const(x, x.dtype, q)).model)
        interpreter.allocate_tensors()
        interpreter.invoke()
        expected = x.astype(np.float32) if not q.scales else np.float32([[-65.5, 1]])
        np.testing.assert_array_equal(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), expected)


def test_refusals() -> None:
    x, y = np.zeros((3, 2), np.int8), np.zeros(2, np.float32)
    per_row = Quantization((0.1, 0.2, 0.3), (0, 0, 0), 0)
    OneNode("DEQUANTIZE", [Given(x[:2], quantization=per_row, shape=(3, 2))], kind="f32").refused(
        ShapeError, "3 scales do not match dimension 0 of size 2", by_litert=False
    )
    beyond = per_row._replace(quantized_dimension=7)
    dequantize(x, beyond).refused(ShapeError, "quantized dimension 7 is outside rank 2", by_litert=False)
    dequantize(const(x, np.int8, beyond)).refused(
        UnsupportedOpError, r"3 scales along dimension 7 of shape \(3, 2\)", by_litert=False
    )
    dequantize(x).refused(UnsupportedOpError, "'x0' must have a scale", by_litert=False)  # LiteRT reads past its scales
    q = Quantization((1.0,), (0,))
    quantize(y, "s32", q).refused(UnsupportedOpError, "types f32 -> s32 of x -> y are not supported, f32 -> s8|u8|s16")
    OneNode("DENSIFY", [const(x, np.int8)]).refused(
        UnsupportedOpError, "'c0' must be a sparse constant", by_litert=False
    )
    negative = dequantize(x, Quantization((-0.5,), (0,)))
    negative.refused(UnsupportedOpError, "'x0' must have a positive scale, it has -0.5", by_litert=False)
    far = dequantize(x, Quantization((1.0,), (2**20,)))
    far.refused(UnsupportedOpError, f"'x0' has the zero point {2**20}, must be -128 to 127", by_litert=False)
