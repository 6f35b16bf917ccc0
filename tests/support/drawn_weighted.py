"""Nodes at random of operators with weights or windows: products, convolutions, pools, transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.drawn import Draw, DrawNode, node, out
from support.node import Array, Given, OneNode, dtype_of, values

from minilite.format.quantization import Quantization

TYPES = (
    "f32 f32 f32 f32",
    "f32 s8 f32 f32",
    "f32 s4 f32 f32",
    "s8 s8 s32 s8",
    "s8 s4 s32 s8",
    "u8 u8 s32 u8",
    "s16 s8 s64 s16",
    "s16 s8 s32 s16",
    "s16 s4 s64 s16",
)

SMALL = ("f32 u8 f32 f32", "f32 s2 f32 f32", "s8 s2 s32 s8", "s16 s2 s64 s16", "u8 u8 s32 s16", "s16 s16 s64 s16")
"""Types that only FULLY_CONNECTED takes."""


def weights(d: Draw, kind: str, shape: Any, axis: int, channels: bool = True, constant: float = 0.8) -> Given:
    """Filters with a scale, or one for each output."""
    array: Array = values(d.rng, kind, shape, 1.0)
    if kind == "f32":
        return d.of(array, kind, constant=constant, resized=0)
    if kind == "u8":
        return d.of(array, kind, Quantization((0.02,), (d.number(100, 150),)), constant, 0)
    array = np.maximum(array, {"s4": -7, "s2": -2, "s8": -127}.get(kind, -32767))
    constant = 1.0 if kind == "s2" else constant  # LiteRT's Python cannot set it
    count = shape[axis] if channels and d.often(0.5) else 1
    scales = tuple(float(np.float32(s)) for s in d.rng.uniform(0.002, 0.05, count))
    return d.of(array, kind, Quantization(scales, (0,) * count, axis if count > 1 else 0), constant, 0)


def bias(d: Draw, kind: str, x: Given, w: Given, count: int, always: bool = False) -> list[Given | None]:
    if not always and d.often(0.3):
        return d.one([], [None])
    if kind == "f32":
        return [d.given("f32", (count,), constant=0.8, spread=2.0)]
    array = d.rng.integers(-3000, 3000, count).astype(dtype_of(kind))
    scales = tuple(x.quantization.scales[0] * s for s in w.quantization.scales)
    return [d.of(array, kind, Quantization(scales, (0,) * len(scales)), 0.8, 0)]


def drawn(d: Draw, types: tuple[str, ...], x_shape: Any, w_shape: Any, axis: int, count: int, **how: Any) -> Any:
    """Types, and the operands x, weights, bias."""
    x_kind, w_kind, b_kind, y_kind = str(d.one(*types)).split()
    if b_kind == "s64" and "s64" not in how.get("biases", "s64"):
        b_kind = "s32"
    x = d.given(x_kind, x_shape, spread=1.0)
    w = weights(d, w_kind, w_shape, axis, how.get("channels", True))
    if x_kind == "f32" and w_kind == "u8":  # another name for s8, but for -128, which LiteRT's vector code turns over
        w = w._replace(array=np.where(w.array == 128, np.uint8(129), w.array), quantization=Quantization((0.02,), (0,)))
    return x, w, bias(d, b_kind, x, w, count), y_kind


def strides(d: Draw) -> dict[str, Any]:
    return {"padding": d.one("SAME", "VALID"), "stride_w": d.number(1, 3), "stride_h": d.number(1, 3)}


def dilations(d: Draw) -> dict[str, Any]:
    both = [d.number(1, 3) for _ in range(2)] if d.often(0.3) else [1, 1]
    return {"dilation_w_factor": both[0], "dilation_h_factor": both[1]}


def image(d: Draw, window: tuple[int, int], channels: int) -> tuple[int, ...]:
    return (d.number(1, 3), window[0] + d.number(0, 8), window[1] + d.number(0, 8), channels)


def conv(d: Draw) -> OneNode:
    window, groups = (d.number(1, 4), d.number(1, 4)), 1 if d.often(0.85) else d.number(1, 3)
    depth, count = d.number(1, 9), d.number(1, 9) * groups
    x, w, rest, kind = drawn(d, TYPES, image(d, window, depth * groups), (count, *window, depth), 0, count)
    text = {**strides(d), **dilations(d), "fused_activation_function": d.activation()}
    if rest and rest[0] is not None and rest[0].array.dtype == np.int32 and kind == "s16":
        text["quantized_bias_type"] = "INT32"
    return node(d, "CONV_2D", [x, w, *rest], text, outs=out(d, kind))


def depthwise(d: Draw) -> OneNode:
    window, depth, times = (d.number(1, 4), d.number(1, 4)), d.number(1, 20), d.one(1, 1, 1, 2, 3)
    types = ("f32 f32 f32 f32", "f32 s8 f32 f32", "s8 s8 s32 s8", "s8 s4 s32 s8", "u8 u8 s32 u8", "s16 s8 s64 s16")
    x, w, rest, kind = drawn(d, types, image(d, window, depth), (1, *window, depth * times), 3, depth * times)
    if kind == "f32" and len(w.quantization.scales) == 1:  # LiteRT reads a scale for each output
        w = w._replace(quantization=Quantization(w.quantization.scales * depth * times, (0,) * depth * times, 3))
    text = {**strides(d), **dilations(d), "depth_multiplier": times, "fused_activation_function": d.activation()}
    return node(d, "DEPTHWISE_CONV_2D", [x, w, *rest], text, outs=out(d, kind))


def fully_connected(d: Draw) -> OneNode:
    depth, count, rows = d.number(1, 40), d.number(1, 20), d.shape(0, 3, 5)
    x, w, rest, kind = drawn(d, TYPES + SMALL, (*rows, depth), (count, depth), 0, count)
    text = {
        "keep_num_dims": d.often(0.4), "fused_activation_function": d.activation(), "asymmetric_quantize_inputs": d.often(0.4),
    }  # fmt: skip
    if rest and rest[0] is not None and x.array.dtype == np.int16:
        text["quantized_bias_type"] = "INT32" if rest[0].array.dtype == np.int32 else "INT64"
    return node(d, "FULLY_CONNECTED", [x, w, *rest], text, outs=out(d, kind))


def transpose_conv(d: Draw) -> OneNode:
    window, depth, count = (d.number(1, 4), d.number(1, 4)), d.number(1, 9), d.number(1, 9)
    text = {**strides(d), "fused_activation_function": d.activation()}
    types = ("f32 f32 f32 f32", "f32 s8 f32 f32", "s8 s8 s32 s8", "u8 u8 s32 u8", "s16 s8 s64 s16", "s16 s8 s32 s16")
    x_shape = (d.number(1, 2), d.number(1, 6), d.number(1, 6), depth)
    x, w, rest, kind = drawn(d, types, x_shape, (count, *window, depth), 0, count)
    sizes = []
    for n, k, s in zip(x_shape[1:3], window, (text["stride_h"], text["stride_w"]), strict=True):
        sizes.append(n * s - d.number(0, s - 1) if text["padding"] == "SAME" else (n - 1) * s + k + d.number(0, s - 1))
    shape = d.numbers([x_shape[0], *sizes, count])
    if rest and rest[0] is not None and rest[0].array.dtype == np.int32 and kind == "s16":
        text["quantized_bias_type"] = "INT32"
    return node(d, "TRANSPOSE_CONV", [shape, w, x, *rest], text, outs=out(d, kind))


def batch_matmul(d: Draw) -> OneNode:
    m, k, n = (d.number(1, 12) for _ in range(3))
    types = d.one("f32 f32 f32", "f32 s8 f32", "s8 s8 s8", "s8 s8 s32", "s16 s16 s16", "s16 s8 s16").split()
    outer, other = d.pair(1 if types[:2] == ["f32", "s8"] else 3)  # LiteRT takes scales of other batches
    adj_x, adj_y = d.often(0.3), d.often(0.3)
    a, b = (*outer, *((k, m) if adj_x else (m, k))), (*other, *((n, k) if adj_y else (k, n)))
    q = Quantization((0.02,), (0,)) if types[0] == "f32" and types[1] == "s8" else None
    y = d.given(types[1], b, q, constant=0.5 if q is None else 1, spread=1.0)
    if q is not None:
        y = y._replace(array=np.maximum(y.array, -127))
    text = {"adj_x": adj_x, "adj_y": adj_y, "asymmetric_quantize_inputs": d.often(0.3)}
    return node(d, "BATCH_MATMUL", [d.given(types[0], a, spread=1.0), y], text, outs=out(d, types[2]))


def conv_3d(d: Draw) -> OneNode:
    window, depth, count = [d.number(1, 3) for _ in range(3)], d.number(1, 5), d.number(1, 5)
    x = d.given("f32", (d.number(1, 2), *(n + d.number(0, 5) for n in window), depth), spread=1.0)
    w = weights(d, "f32", (*window, depth, count), 0)
    text = {**strides(d), **dilations(d), "stride_d": d.number(1, 2), "dilation_d_factor": d.one(1, 1, 2)}
    return node(
        d, "CONV_3D", [x, w, *bias(d, "f32", x, w, count)], text | {"fused_activation_function": d.activation()}
    )


def conv_3d_transpose(d: Draw) -> OneNode:
    window, depth, count = [d.number(1, 3) for _ in range(3)], d.number(1, 5), d.number(1, 5)
    x = d.given("f32", (d.number(1, 2), *(d.number(1, 4) for _ in range(3)), depth), spread=1.0)
    w = weights(d, "f32", (*window, count, depth), 0)
    text = {**strides(d), "stride_d": d.number(1, 2), "dilation_d_factor": 1}
    steps = [text["stride_d"], text["stride_h"], text["stride_w"]]
    same = text["padding"] == "SAME"
    sizes = [n * s if same else (n - 1) * s + k for n, s, k in zip(x.array.shape[1:4], steps, window, strict=True)]
    shape = d.numbers([x.array.shape[0], *sizes, count])
    return node(d, "CONV_3D_TRANSPOSE", [shape, w, x, *bias(d, "f32", x, w, count)], text, outs=out(d, "f32"))


def pool(op: str, kinds: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        window = (d.number(1, 5), d.number(1, 5))
        kind = d.kind(kinds)
        text = {**strides(d), "filter_height": window[0], "filter_width": window[1]}
        text["fused_activation_function"] = d.activation()
        x = d.given(kind, image(d, window, d.one(1, 3, 8, 33)), spread=3.0)
        return node(d, op, [x], text, outs=out(d, kind, x.quantization if d.often(0.9) else None))

    return draw


def rfft(d: Draw) -> OneNode:
    shape = (*d.shape(0, 2, 3), d.number(1, 9), d.number(1, 20))
    return node(
        d,
        "RFFT2D",
        [d.given("f32", shape, spread=1.0), d.numbers([d.one(1, 2, 4, 8), d.one(2, 4, 8, 32)])],
        outs=out(d, "c64"),
    )


def svdf(d: Draw) -> OneNode:
    from test_svdf import FLOAT, HYBRID, INTEGER, Svdf

    text = {"fused_activation_function": d.one("NONE", "RELU", "RELU6"), "asymmetric_quantize_inputs": d.often(0.3)}
    sizes = {name: d.number(1, 9) for name in ("batches", "depth", "units", "memory", "rank")}
    return Svdf(d.one(FLOAT, HYBRID, INTEGER), bias=d.often(0.6), seed=d.number(0, 10**6), **sizes, **text)


def rnn(op: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        from test_rnn import Rnn

        text: dict[str, Any] = {"fused_activation_function": d.one("NONE", "RELU", "TANH", "RELU6")}
        sizes = {name: d.number(1, 9) for name in ("batches", "steps", "depth", "units")}
        kind = d.one("f32", "s8", "u8")
        time = {} if op == "RNN" else {"time_major": d.often(0.5) and (kind == "f32" or op[0] == "U")}
        if op[0] == "B":
            time |= {"merged": d.often(0.3), "aux": d.one("", "", "crossed") if kind == "f32" else ""}
        seed = d.number(0, 10**6)
        text["asymmetric_quantize_inputs"] = d.often(0.4)
        return Rnn(op, kind, seed=seed, **sizes, **time, **text)

    return draw


def lstm(op: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        from support.lstm import FLOAT, HYBRID, INTEGER, PARTS, UNSIGNED, Lstm

        types = d.one(FLOAT, HYBRID, INTEGER, UNSIGNED)
        parts = [part for part in PARTS if d.often(0.4)]
        if "projection" not in parts and "projection_bias" in parts:
            parts.remove("projection_bias")
        sizes = {name: d.number(1, 9) for name in ("batches", "steps", "depth", "cells")}
        text = {
            "asymmetric_quantize_inputs": d.often(0.4),
            "cell_clip": d.one(0.0, 0.5, 3.0),
            "proj_clip": d.one(0.0, 0.3),
        }
        if types != INTEGER:
            text["fused_activation_function"] = d.one("TANH", "RELU", "RELU_N1_TO_1", "RELU6")
        outputs = d.number(1, sizes["cells"])
        time = {"time_major": d.often(0.5)} if op != "LSTM" else {}
        return Lstm(op, types, parts, outputs=outputs, seed=d.number(0, 10**6), **sizes, **time, **text)

    return draw


def both(d: Draw) -> OneNode:
    from support.lstm import FLOAT, HYBRID, PARTS, UNSIGNED, Both

    parts = [part for part in PARTS if d.often(0.4)]
    if "projection" not in parts and "projection_bias" in parts:
        parts.remove("projection_bias")
    merged = d.often(0.3)
    text = {
        "asymmetric_quantize_inputs": d.often(0.4), "aux": d.one("", "", "crossed", "parallel"), "merged": merged,
        "time_major": merged or d.often(0.5), "seed": d.number(0, 10**6), "cell_clip": d.one(0.0, 0.5, 3.0),
    }  # fmt: skip
    return Both(d.one(FLOAT, HYBRID, UNSIGNED), parts, d.number(1, 5), d.number(1, 5), **text)


def stablehlo_window(d: Draw) -> Any:
    from test_reduce_window import BODIES, Stablehlo

    kind = d.one("f32", "s8", "u8", "s16", "s32", "s64")
    rule = d.one("ADD", "MUL", "MAXIMUM", "MINIMUM" if kind == "f32" else "ADD")
    shape = d.shape(1, 4, 7)
    sizes, steps, base, gaps = ([d.number(1, 3) for _ in shape] for _ in range(4))
    text = {
        "window_dimensions": sizes, "window_strides": steps, "base_dilations": base, "window_dilations": gaps,
        "padding": [d.number(-1, 2) for _ in range(2 * len(shape))],
    }  # fmt: skip
    return Stablehlo(d.array(kind, shape, 2.0), d.number(0, 3), BODIES[rule], **text)


WEIGHTED: dict[str, DrawNode] = {
    "CONV_2D": conv,
    "DEPTHWISE_CONV_2D": depthwise,
    "FULLY_CONNECTED": fully_connected,
    "TRANSPOSE_CONV": transpose_conv,
    "BATCH_MATMUL": batch_matmul,
    "CONV_3D": conv_3d,
    "CONV_3D_TRANSPOSE": conv_3d_transpose,
    "AVERAGE_POOL_2D": pool("AVERAGE_POOL_2D", "f32 s8 u8 s16"),
    "MAX_POOL_2D": pool("MAX_POOL_2D", "f32 s8 u8 s16"),
    "L2_POOL_2D": pool("L2_POOL_2D", "f32"),
    "RFFT2D": rfft,
    "SVDF": svdf,
    **{op: rnn(op) for op in ("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN")},
    **{op: lstm(op) for op in ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")},
    "BIDIRECTIONAL_SEQUENCE_LSTM": both,
    "STABLEHLO_REDUCE_WINDOW": stablehlo_window,
}
