"""Nodes at random of operators that go element by element, or along rows: unary, binary, reductions, softmax, casts."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.drawn import Draw, DrawNode, node, out
from support.node import OneNode

from minilite.format.quantization import NOT_QUANTIZED, Quantization

INTEGERS = "s8 u8 s16 s32 s64"
FIXED = {"LOGISTIC": {"s8": (1 / 256, -128), "u8": (1 / 256, 0), "s16": (1 / 32768, 0)}}
FIXED["TANH"] = {"s8": (1 / 128, 0), "u8": (1 / 128, 128), "s16": (1 / 32768, 0)}
FIXED["SOFTMAX"] = FIXED["LOGISTIC"]
FIXED["LOG_SOFTMAX"] = {"s8": (16 / 256, 127), "u8": (16 / 256, 255)}
FIXED["L2_NORMALIZATION"] = {"s8": (1 / 128, 0), "u8": (1 / 128, 128)}
"""The output's scale and zero point, where LiteRT wants these."""


def fixed(op: str, kind: str) -> Quantization | None:
    scale, zero_point = FIXED.get(op, {}).get(kind, (0, 0))
    return Quantization((scale,), (zero_point,)) if scale else None


def unary(op: str, kinds: str, options: Any = None, least: int = 0, spread: float | None = None) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        kind = d.kind(kinds)
        q = d.scale(kind, *((1e-5, 1e-2) if kind == "s16" else (1e-3, 0.5)))
        y = q if d.often(0.2) else d.scale(kind)
        if op in ("SOFTMAX", "LOGISTIC") and kind == "s16" and d.often(0.5):
            q = Quantization((2.0**-12,), (0,))
        if op == "EXP" and kind == "s16":
            q = d.scale(kind, 1e-5, 6e-4)
        x = d.given(kind, d.shape(least), q, spread=spread)
        if op == "EXP" and kind == "s16":
            y = Quantization((0.1,), (0,))
        if op in ("SQRT", "RSQRT") and kind in ("s8", "s16"):
            x = x._replace(array=abs(x.array.astype("int32")).clip(q.zero_points[0], 127).astype(x.array.dtype))
        text = options(d) if options else {}
        return node(d, op, [x], text, outs=out(d, kind, fixed(op, kind) or y))

    return draw


def to(op: str, kinds: str, outputs: str, options: Any = None) -> DrawNode:
    """A unary operator whose output has another type than its input."""

    def draw(d: Draw) -> OneNode:
        kind, other = d.kind(kinds), str(d.one(*outputs.split()))
        return node(d, op, [d.given(kind, d.shape())], options(d) if options else {}, outs=out(d, other))

    return draw


def cast(d: Draw) -> OneNode:
    kinds = "f32 f16 f64 s8 u8 b8 s16 u16 s32 u32 s64 c64 s4"
    kind, other = d.kind(kinds), d.kind(kinds.replace(" s4", ""))
    return node(d, "CAST", [d.given(kind, d.shape(), NOT_QUANTIZED)], outs=out(d, other, NOT_QUANTIZED))


def per_channel(d: Draw, kind: str, shape: tuple[int, ...]) -> Quantization:
    axis = d.number(0, len(shape) - 1)
    points = tuple(0 if d.often(0.5) else d.number(0, 9) for _ in range(shape[axis]))
    return Quantization(tuple(float(s) for s in d.rng.uniform(0.01, 0.2, shape[axis])), points, axis)


def quantize(d: Draw) -> OneNode:
    kind, other = d.kind("f32 f32 s8 u8 s16 s32"), d.kind("s8 u8 s16 s32")
    q, y = d.scale(kind), d.scale(other)
    if kind == "s32":
        q = Quantization((1e-4,), (0,))
    if other == "s32":
        y = Quantization((1e-3,), (0,))
    shape = d.shape(0, 4)
    if kind == "f32" and other != "u8" and d.often(0.3) and shape and 0 not in shape:
        y = per_channel(d, other, shape)
        if other == "s16":
            y = Quantization(y.scales, (0,) * len(y.scales), y.quantized_dimension)
    return node(d, "QUANTIZE", [d.given(kind, shape, q, spread=3.0)], outs=out(d, other, y))


def dequantize(d: Draw) -> OneNode:
    kind = d.kind("f16 s8 u8 s16 s4 s32")
    shape = d.shape(0, 4)
    q = per_channel(d, kind, shape) if d.often(0.3) and shape and 0 not in shape else d.scale(kind)
    if not q.scales and kind == "s4":
        q = Quantization((0.1,), (0,))
    return node(d, "DEQUANTIZE", [d.given(kind, shape, NOT_QUANTIZED if kind == "f16" else q)], outs=out(d, "f32"))


def binary(
    op: str, kinds: str, result: str = "", activated: bool = False, most: int = 5, alike: bool = False
) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        kind = d.kind(kinds)
        a, b = d.pair(most)
        b = a if alike else b  # LiteRT would read beyond the smaller one
        q = d.scale(kind)
        bare = kind == "s16" and d.often(0.2) and op not in ("SUB", "DIV", "NOT_EQUAL")
        scales = [NOT_QUANTIZED if bare else q if d.often(0.2) else d.scale(kind) for _ in range(3)]
        if op == "DIV" and kind in ("s8", "u8", "s16"):  # LiteRT shifts by more bits than there are
            kind = "f32"
        options: dict[str, Any] = (
            {"fused_activation_function": d.activation() if kind not in ("u32", "c64") else "NONE"} if activated else {}
        )
        if op in ("ADD", "SUB"):
            options["pot_scale_int16"] = d.often(0.3) and kind == "s16"
            if options["pot_scale_int16"]:
                scales = [Quantization((2.0 ** d.number(-15, -8),), (0,)) for _ in range(3)]
        spread = 2.0 if op == "POW" else None
        x, y = d.given(kind, a, scales[0], spread=spread), d.given(kind, b, scales[1], spread=spread)
        if op == "POW" and kind == "s32":
            x, y = x._replace(array=x.array % 9 - 4), y._replace(array=y.array % 9)
        if op == "FLOOR_DIV" and kind in ("s8", "s16"):  # the least one by -1: LiteRT's answer depends on its place
            x = x._replace(array=np.maximum(x.array, np.iinfo(x.array.dtype).min + 1))
        if op in ("RIGHT_SHIFT", "STABLEHLO_SHIFT_LEFT") and y.array.dtype.kind in "iu":
            y = y._replace(array=y.array & 7)
        return node(d, op, [x, y], options, outs=out(d, result or kind, scales[2] if not result else NOT_QUANTIZED))

    return draw


def divided(op: str, kinds: str) -> DrawNode:
    """Draws a division; in most cases no divisor is 0."""
    draw = binary(op, kinds, activated=op == "DIV")

    def nonzero(d: Draw) -> OneNode:
        from support import drawn

        held = drawn.values
        if d.often(0.9):
            drawn.values = lambda *a: one_for_zero(held(*a))
        try:
            return draw(d)
        finally:
            drawn.values = held

    return nonzero


def one_for_zero(x: Any) -> Any:
    if x.dtype.kind in "iu":
        x[...] = x + (x == 0)
    return x


def reduction(op: str, kinds: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        kind = d.kind(kinds)
        shape = d.shape(0, 5) if op != "REDUCE_PROD" else tuple(d.number(1, 4) for _ in range(d.number(0, 4)))
        if op == "SUM" and kind in ("s8", "u8", "s16"):  # LiteRT leaves the sum of no elements as it was
            shape = tuple(max(size, 1) for size in shape)
        axes: Any = [d.axis(len(shape)) for _ in range(d.number(0, min(len(shape), 3)))]
        if shape and d.often(0.2):
            axes = d.axis(len(shape))
        q = d.scale(kind)
        y = q if d.often(0.4) else d.scale(kind)
        spread = {"REDUCE_PROD": 1.2, "MEAN": 3.0, "SUM": 3.0}.get(op)
        x = d.given(kind, shape, q, constant=0.15 * (op[:6] != "REDUCE"), spread=spread)
        return node(d, op, [x, d.numbers(axes)], {"keep_dims": d.often(0.5)}, outs=out(d, kind, y))

    return draw


def arg(op: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        kind, made = d.kind("f32 s8 u8 s32 b8"), d.one("s32", "s64")
        shape = d.shape(1, 5)
        text = {"output_type": "INT32" if made == "s32" else "INT64"}
        axis: Any = d.axis(len(shape))
        axis = [axis] if d.often(0.5) else axis
        return node(d, op, [d.given(kind, shape, spread=3.0), d.numbers(axis, "s32", "s64")], text, outs=out(d, made))

    return draw


def cumsum(d: Draw) -> OneNode:
    kind, shape = d.kind("f32 s32 s64"), d.shape(1, 5)
    text = {"exclusive": d.often(0.5), "reverse": d.often(0.5)}
    return node(d, "CUMSUM", [d.given(kind, shape, spread=3.0), d.numbers(d.axis(len(shape)))], text)


def add_n(d: Draw) -> OneNode:
    kind, shape = d.kind("f32 s32"), d.shape()
    return node(d, "ADD_N", [d.given(kind, shape, spread=3.0) for _ in range(d.number(1, 6))])


def prelu(d: Draw) -> OneNode:
    kind = d.kind("f32 s8 u8 s16")
    shape = d.shape(1, 4)
    alpha = tuple(1 if d.often(0.4) else n for n in shape)
    alpha = alpha[d.number(0, len(alpha) - 1) :]
    other = "s8" if kind == "s16" else kind
    q = Quantization((0.01,), (0,)) if kind == "s16" else None
    return node(d, "PRELU", [d.given(kind, shape), d.given(other, alpha, q, constant=0.6)], outs=out(d, kind))


def local_response(d: Draw) -> OneNode:
    text = {"radius": d.number(0, 5), "bias": d.one(0.0, 1.0, 2.0), "alpha": 0.1, "beta": d.one(0.5, 0.75, 1.0)}
    return node(d, "LOCAL_RESPONSE_NORMALIZATION", [d.given("f32", d.shape(4, 4), spread=2.0)], text)


def fake_quant(d: Draw) -> OneNode:
    low = d.one(-1.0, 0.0, -6.0, -0.3)
    text = {"min": low, "max": d.one(1.0, 6.0, 0.7), "num_bits": d.one(2, 4, 8, 16), "narrow_range": d.often(0.4)}
    return node(d, "FAKE_QUANT", [d.given("f32", d.shape())], text)


def bucketize(d: Draw) -> OneNode:
    bounds = sorted(float(x) for x in d.rng.normal(size=d.number(0, 9)) * 5)
    return node(
        d, "BUCKETIZE", [d.given(d.kind("f32 f64 s32 s64"), d.shape())], {"boundaries": bounds}, outs=out(d, "s32")
    )


def bitcast(d: Draw) -> OneNode:
    kind, other = (
        d.kind("f32 s8 u8 s16 u16 s32 u32 s64 u64 f64 c64 f16"),
        d.kind("f32 s8 u8 s16 u16 s32 u32 s64 u64 f64"),
    )
    shape = d.shape(1, 4)
    if d.often(0.7):
        shape = (*shape, d.one(1, 2, 4, 8))
    return node(d, "BITCAST", [d.given(kind, shape, NOT_QUANTIZED)], outs=out(d, other, NOT_QUANTIZED))


NUMBERS = "f32 f16 s8 u8 s16 s32 s64"
WORDS = "s8 u8 s16 u16 s32 u32 s64 u64 f32 f16 f64 b8"
ELEMENTWISE: dict[str, DrawNode] = {
    "ABS": unary("ABS", "f32 s8 s16 s32"),
    "NEG": unary("NEG", "f32 f16 s8 s16 s32 s64"),
    "EXP": unary("EXP", "f32 s8 s16"),
    "LOG": unary("LOG", "f32 s8 s16"),
    "SQRT": unary("SQRT", "f32 s8 s16"),
    "RSQRT": unary("RSQRT", "f32 s8 s16"),
    "SQUARE": unary("SQUARE", "f32"),
    "SIN": unary("SIN", "f32 f16", spread=10.0),
    "COS": unary("COS", "f32 f16", spread=10.0),
    "FLOOR": unary("FLOOR", "f32 f16"),
    "CEIL": unary("CEIL", "f32"),
    "ROUND": unary("ROUND", "f32 f16"),
    "SIGN": unary("SIGN", "f32 f64 s32"),
    "LOGICAL_NOT": unary("LOGICAL_NOT", "b8"),
    **{op: unary(op, "f32 s8 u8 s16") for op in ("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1")},
    "ELU": unary("ELU", "f32 s8"),
    "HARD_SWISH": unary("HARD_SWISH", "f32 s8 u8"),
    "LOGISTIC": unary("LOGISTIC", "f32 f16 s8 u8 s16"),
    "TANH": unary("TANH", "f32 f16 s8 u8 s16"),
    "GELU": unary("GELU", "f32 s8 u8", lambda d: {"approximate": d.often(0.5)}),
    "LEAKY_RELU": unary("LEAKY_RELU", "f32 s8 u8 s16", lambda d: {"alpha": d.one(0.1, 0.0, 1.0, 2.0, -0.5)}),
    "L2_NORMALIZATION": unary("L2_NORMALIZATION", "f32 s8 u8", least=1),
    "SOFTMAX": unary("SOFTMAX", "f32 f16 s8 u8 s16", lambda d: {"beta": d.one(1.0, 1.0, 0.5, 3.0)}, least=1),
    "LOG_SOFTMAX": unary("LOG_SOFTMAX", "f32 s8 u8", least=1),
    "ZEROS_LIKE": unary("ZEROS_LIKE", "f32 s32 s64"),
    "SHAPE": to("SHAPE", "f32 s8 string b8", "s32", lambda d: {"out_type": "INT32"}),
    "RANK": to("RANK", "f32 s8 string b8", "s32"),
    "COMPLEX_ABS": to("COMPLEX_ABS", "c64", "f32"),
    "REAL": to("REAL", "c64", "f32"),
    "IMAG": to("IMAG", "c64", "f32"),
    "CAST": cast,
    "QUANTIZE": quantize,
    "DEQUANTIZE": dequantize,
    "BITCAST": bitcast,
    "BUCKETIZE": bucketize,
    "FAKE_QUANT": fake_quant,
    "ADD": binary("ADD", NUMBERS, activated=True, most=6),
    "SUB": binary("SUB", "f32 s8 u8 s16 s32 s64", activated=True),
    "MUL": binary("MUL", NUMBERS + " u32 c64", activated=True, most=6),
    "DIV": divided("DIV", "f32 s8 u8 s32 s16"),
    "FLOOR_DIV": divided("FLOOR_DIV", "f32 s8 s16 s32"),
    "FLOOR_MOD": divided("FLOOR_MOD", "f32 s8 s16 s32 s64"),
    "MAXIMUM": binary("MAXIMUM", NUMBERS),
    "MINIMUM": binary("MINIMUM", NUMBERS),
    "POW": binary("POW", "f32 s32"),
    "SQUARED_DIFFERENCE": binary("SQUARED_DIFFERENCE", "f32 s8 s32"),
    "ATAN2": binary("ATAN2", "f32 f16 f64", alike=True),
    **{op: binary(op, NUMBERS + " b8 string", "b8") for op in ("EQUAL", "NOT_EQUAL")},
    **{op: binary(op, NUMBERS, "b8") for op in ("GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")},
    "LOGICAL_AND": binary("LOGICAL_AND", "b8"),
    "LOGICAL_OR": binary("LOGICAL_OR", "b8"),
    "BITWISE_XOR": binary("BITWISE_XOR", "s8 u8 s16 u16 s32 u32"),
    "RIGHT_SHIFT": binary("RIGHT_SHIFT", "s8 u8 s16 u16 s32 u32"),
    **{f"STABLEHLO_{op}": binary(f"STABLEHLO_{op}", WORDS) for op in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM", "AND")},
    "STABLEHLO_SHIFT_LEFT": binary("STABLEHLO_SHIFT_LEFT", "s8 u8 s16 u16 s32 u32", alike=True),
    **{op: reduction(op, "f32 s8 u8 s16 s32 s64") for op in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")},
    "REDUCE_PROD": reduction("REDUCE_PROD", "f32 s8 s16 s32 s64"),
    "REDUCE_ANY": reduction("REDUCE_ANY", "b8"),
    "REDUCE_ALL": reduction("REDUCE_ALL", "b8"),
    "ARG_MAX": arg("ARG_MAX"),
    "ARG_MIN": arg("ARG_MIN"),
    "CUMSUM": cumsum,
    "ADD_N": add_n,
    "PRELU": prelu,
    "LOCAL_RESPONSE_NORMALIZATION": local_response,
}
