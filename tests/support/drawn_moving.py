"""Nodes at random of operators that move elements: shapes, slices, paddings, joins and splits."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.drawn import Draw, DrawNode, node, out
from support.node import OneNode, Out

ANY = "f32 f32 f16 f64 s8 u8 b8 s16 u16 s32 u32 s64 u64 c64 c128 string s4"
MOST = "f32 f32 s8 u8 b8 s16 s32 s64 f16"


def size_of(shape: Any) -> int:
    return int(np.prod(shape, dtype=np.int64))


def same(d: Draw, op: str, kind: str, inputs: Any, options: Any = None) -> OneNode:
    """Its output is quantized as its input is."""
    q = inputs[0].quantization if d.often(0.9) else d.scale(kind)
    return node(d, op, inputs, options or {}, outs=out(d, kind, q))


def reshape(d: Draw) -> OneNode:
    kind, shape = d.kind(ANY), d.shape(0, 5)
    kind = kind if shape or kind != "string" else "f32"  # of which LiteRT makes something else
    wanted = list(shape)
    d.rng.shuffle(wanted)
    while len(wanted) > 1 and d.often(0.5):
        wanted[-2:] = [wanted[-2] * wanted[-1]]
    if wanted and d.often(0.5):
        wanted[d.number(0, len(wanted) - 1)] = -1
    x = d.given(kind, shape)
    if d.often(0.2):
        return same(d, "RESHAPE", kind, [x], {"new_shape": wanted})
    return same(
        d,
        "RESHAPE",
        kind,
        [x, d.numbers(wanted, "s32", "s32", "s32", "s64")],
        {"new_shape": wanted if d.often(0.5) else []},
    )


def squeeze(d: Draw) -> OneNode:
    kind = d.kind(ANY.replace(" string", ""))
    shape = tuple(1 if d.often(0.5) else n for n in d.shape(0, 6))
    kind = kind if shape or kind != "string" else "f32"  # of which LiteRT makes something else
    ones = [i for i, n in enumerate(shape) if n == 1]
    dims = [i - len(shape) if d.often(0.3) else i for i in ones if d.often(0.5)]
    return same(d, "SQUEEZE", kind, [d.given(kind, shape)], {"squeeze_dims": dims})


def expand_dims(d: Draw) -> OneNode:
    kind, shape = d.kind(ANY), d.shape(0, 5)
    kind = kind if shape or kind != "string" else "f32"  # of which LiteRT makes something else
    axis: Any = d.number(-len(shape) - 1, len(shape))
    return same(
        d, "EXPAND_DIMS", kind, [d.given(kind, shape), d.numbers([axis] if d.often(0.5) else axis, "s32", "s64")]
    )


def transpose(d: Draw) -> OneNode:
    kind, shape = d.kind(ANY), d.shape(1, 6)
    order = [int(i) - (len(shape) if d.often(0.1) else 0) for i in d.rng.permutation(len(shape))]
    return same(d, "TRANSPOSE", kind, [d.given(kind, shape), d.numbers(order)])


def slice_(d: Draw) -> OneNode:
    kind, shape = d.kind(ANY), d.shape(1, 5)
    begin = [d.number(0, n) for n in shape]
    size = [
        -1 if d.often(0.3) else d.number(0 if d.often(0.2) else min(1, n - b), n - b)
        for b, n in zip(begin, shape, strict=True)
    ]
    word = d.one("s32", "s64")
    return same(d, "SLICE", kind, [d.given(kind, shape), d.numbers(begin, word), d.numbers(size, word)])


def strided_slice(d: Draw) -> OneNode:
    kind, shape = d.kind(ANY), d.shape(1, 5)
    count = d.number(0 if d.often(0.1) else 1, len(shape))
    begin, end = ([d.number(-9, 9) for _ in range(count)] for _ in range(2))
    if d.often(0.5):
        begin, end = [0] * count, list(shape[:count])
    strides = [d.one(1, 1, 2, -1, -3) for _ in range(count)]
    masks = {
        name: sum(1 << i for i in range(count) if d.often(0.2))
        for name in ("begin_mask", "end_mask", "shrink_axis_mask")
    }
    masks["new_axis_mask"] = sum(1 << i for i in range(count) if d.often(0.1))
    masks["ellipsis_mask"] = 1 << d.number(0, count) if d.often(0.2) else 0
    inside = all(-n <= b < n for b, n in zip(begin, shape, strict=False))
    if min(strides, default=1) < 0 or not inside or masks["ellipsis_mask"] or masks["new_axis_mask"]:
        masks["shrink_axis_mask"] = 0  # LiteRT reads beyond
    numbers = [d.numbers(n, "s32") for n in (begin, end, strides)]
    return same(d, "STRIDED_SLICE", kind, [d.given(kind, shape), *numbers], masks)


def pad(op: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        kind, shape = d.kind(MOST), d.shape(1, 5)
        paddings = d.rng.integers(0, 3, (len(shape), 2))
        word = d.one("s32", "s32", "s64", "s8", "s16")
        x = d.given(kind, shape)
        value = [d.given(kind, d.one((), (1,)), x.quantization)] if op == "PADV2" or d.often(0.1) else []
        return same(d, op, kind, [x, d.numbers(paddings, word), *value])

    return draw


def mirror_pad(d: Draw) -> OneNode:
    kind, shape = d.kind(MOST), d.shape(1, 5)
    mode = d.one("REFLECT", "SYMMETRIC")
    most = [max(0, n - (mode == "REFLECT")) for n in shape]
    paddings = [[d.number(0, min(n, 3)), d.number(0, min(n, 3))] for n in most]
    word = d.one("s32", "s64")
    return same(d, "MIRROR_PAD", kind, [d.given(kind, shape), d.numbers(paddings, word)], {"mode": mode})


def tile(d: Draw) -> OneNode:
    kind, shape = d.kind(ANY.replace(" s4", "")), d.shape(1, 5, 4)
    times = [d.number(0 if d.often(0.1) else 1, 3) for _ in shape]
    return same(d, "TILE", kind, [d.given(kind, shape), d.numbers(times, "s32", "s64")])


def broadcast_to(d: Draw) -> OneNode:
    kind = d.kind(ANY.replace(" s4", ""))
    shape = d.shape(0, 6, 4)
    part = tuple(1 if d.often(0.4) else n for n in shape)[d.number(0, len(shape)) :]
    return same(d, "BROADCAST_TO", kind, [d.given(kind, part), d.numbers(shape, "s32", "s64")])


def broadcast_args(d: Draw) -> OneNode:
    a, b = d.pair()
    word = d.one("s32", "s64")
    return node(d, "BROADCAST_ARGS", [d.numbers(a, word), d.numbers(b, word)])


def reverse_v2(d: Draw) -> OneNode:
    kind, shape = d.kind(ANY), d.shape(1, 5)
    first = d.number(0, len(shape) - 1)
    axes = list(range(first, d.number(first, len(shape) - 1) + 1))
    return same(d, "REVERSE_V2", kind, [d.given(kind, shape), d.numbers(axes)])


def reverse_sequence(d: Draw) -> OneNode:
    kind, shape = d.kind("f32 u8 s16 s32 s64"), d.shape(2, 5)
    batch, sequence = (int(i) for i in d.rng.permutation(len(shape))[:2])
    lengths = [d.number(1, max(1, shape[sequence])) for _ in range(shape[batch])]
    text = {"seq_dim": sequence, "batch_dim": batch}
    return same(d, "REVERSE_SEQUENCE", kind, [d.given(kind, shape), d.numbers(lengths, "s32", "s64")], text)


def joined(op: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        kind = d.kind("f32 s8 u8 s16 s32 s64 u32 b8 f16 s4" if op == "CONCATENATION" else "f32 s8 u8 s16 s32 s64 u32")
        shape, count = d.shape(1, 4), d.number(1, 5)
        axis = d.axis(len(shape) + (op == "PACK"))
        q = d.scale(kind)
        inputs = []
        for _ in range(count):
            part = list(shape)
            if op == "CONCATENATION" and -len(shape) <= axis < len(shape):
                part[axis] = d.number(0 if d.often(0.1) else 1, 5)
            other = d.scale(kind) if kind in ("u8", "s8") and d.often(0.2) and op == "CONCATENATION" else q
            inputs.append(d.given(kind, part, other))
        text = {"axis": axis} | ({"values_count": count} if op == "PACK" else {})
        return node(d, op, inputs, text, outs=out(d, kind, q))

    return draw


def unpack(d: Draw) -> OneNode:
    kind, shape = d.kind("f32 s8 u8 s16 s32 s64 b8"), d.shape(1, 5, 4)
    axis = d.axis(len(shape))
    count = shape[axis] if -len(shape) <= axis < len(shape) else 1
    x = d.given(kind, shape)
    return node(d, "UNPACK", [x], {"num": count, "axis": axis}, outs=[Out(kind, x.quantization)] * count)


def split(d: Draw) -> OneNode:
    kind, shape, count = d.kind("f32 s8 u8 s16 s32 s64"), list(d.shape(1, 5)), d.number(1, 4)
    axis = d.number(-len(shape), len(shape) - 1)
    shape[axis] = count * d.number(0 if d.often(0.1) else 1, 3) + d.often(0.05)
    x = d.given(kind, shape)
    return node(d, "SPLIT", [d.numbers(axis), x], {"num_splits": count}, outs=[Out(kind, x.quantization)] * count)


def split_v(d: Draw) -> OneNode:
    kind, shape = d.kind("f32 s8 u8 s16 s32 s64"), list(d.shape(1, 5))
    axis = d.number(-len(shape), len(shape) - 1)
    sizes = [d.number(0 if d.often(0.2) else 1, 4) for _ in range(d.number(1, 4))]
    shape[axis] = sum(sizes)
    if d.often(0.4):
        sizes[d.number(0, len(sizes) - 1)] = -1
    x = d.given(kind, shape)
    inputs = [x, d.numbers(sizes, "s32", "s64"), d.numbers(axis)]
    return node(d, "SPLIT_V", inputs, {"num_splits": len(sizes)}, outs=[Out(kind, x.quantization)] * len(sizes))


def depth(op: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        kind, block = d.kind("f32 s8 u8 s32 s64 s16 f16"), d.number(1, 3)
        n, h, w, c = d.shape(4, 4)
        shape = (n, h, w, c * block**2) if op == "DEPTH_TO_SPACE" else (n, h * block, w * block, c)
        return same(d, op, kind, [d.given(kind, shape)], {"block_size": block})

    return draw


def batches(op: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        kind, shape = d.kind("f32 s8 u8 s32 s64 s16 f16 b8"), list(d.shape(3, 4))
        dims = len(shape) - 2
        block = [d.number(1, 3) for _ in range(dims)]
        edges = d.rng.integers(0, 3, (dims, 2))
        if op == "BATCH_TO_SPACE_ND":
            shape[0] *= int(np.prod(block))
            edges = np.minimum(edges, [[shape[1 + i] * block[i] // 2] for i in range(dims)])
        else:
            for i in range(dims):
                rest = -(shape[1 + i] + int(edges[i].sum())) % block[i]
                edges[i, 1] += rest if d.often(0.95) else 0
        return same(d, op, kind, [d.given(kind, shape), d.numbers(block), d.numbers(edges)])

    return draw


def dilate(d: Draw) -> OneNode:
    kind, shape = d.kind("f32 s8 u8 s16 s32 s64 f64 u16 b8"), d.shape(1, 5)
    x = d.given(kind, shape)
    steps = [d.number(1, 3) for _ in shape]
    return same(d, "DILATE", kind, [x, d.numbers(steps), d.given(kind, (), x.quantization)])


def stablehlo_pad(d: Draw) -> OneNode:
    kind, shape = d.kind("f32 s8 u8 s16 s32 s64 f64 u16 b8"), d.shape(1, 5)
    low, high = ([d.number(-1, 2) for _ in shape] for _ in range(2))
    text = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": [d.number(0, 2) for _ in shape]}
    x = d.given(kind, shape)
    return same(d, "STABLEHLO_PAD", kind, [x, d.given(kind, (), x.quantization)], text)


def resize(op: str, kinds: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        kind, shape = d.kind(kinds), tuple(d.number(1, 9) for _ in range(4))
        size = [d.number(1, 15), d.number(1, 15)]
        corners = d.often(0.4)
        text = {"align_corners": corners, "half_pixel_centers": not corners and d.often(0.5)}
        return same(d, op, kind, [d.given(kind, shape, spread=3.0), d.numbers(size)], text)

    return draw


def fill(d: Draw) -> OneNode:
    kind = d.kind("f32 f16 s8 u8 b8 s16 s32 s64 f64")
    kind = kind if kind != "string" else "f32"  # of which LiteRT makes something else
    value = d.given(kind, ())
    return node(d, "FILL", [d.numbers(d.shape(0, 5), "s32", "s64"), value], outs=out(d, kind, value.quantization))


def range_(d: Draw) -> OneNode:
    kind = d.one("f32", "s32", "s64")
    step = d.one(1, 2, -1, -3, 0.5, 0.3) if kind == "f32" else d.one(1, 2, -1, -3)
    numbers = [d.of(n, kind) for n in (d.number(-9, 9), d.number(-9, 30), step)]
    return node(d, "RANGE", numbers, outs=out(d, kind))


MOVING: dict[str, DrawNode] = {
    "RESHAPE": reshape,
    "SQUEEZE": squeeze,
    "EXPAND_DIMS": expand_dims,
    "TRANSPOSE": transpose,
    "SLICE": slice_,
    "STRIDED_SLICE": strided_slice,
    "PAD": pad("PAD"),
    "PADV2": pad("PADV2"),
    "MIRROR_PAD": mirror_pad,
    "TILE": tile,
    "BROADCAST_TO": broadcast_to,
    "BROADCAST_ARGS": broadcast_args,
    "REVERSE_V2": reverse_v2,
    "REVERSE_SEQUENCE": reverse_sequence,
    "CONCATENATION": joined("CONCATENATION"),
    "PACK": joined("PACK"),
    "UNPACK": unpack,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "DEPTH_TO_SPACE": depth("DEPTH_TO_SPACE"),
    "SPACE_TO_DEPTH": depth("SPACE_TO_DEPTH"),
    "BATCH_TO_SPACE_ND": batches("BATCH_TO_SPACE_ND"),
    "SPACE_TO_BATCH_ND": batches("SPACE_TO_BATCH_ND"),
    "DILATE": dilate,
    "STABLEHLO_PAD": stablehlo_pad,
    "RESIZE_BILINEAR": resize("RESIZE_BILINEAR", "f32 u8 s8 s16"),
    "RESIZE_NEAREST_NEIGHBOR": resize("RESIZE_NEAREST_NEIGHBOR", "f32 u8 s8 s16 s32 f16"),
    "FILL": fill,
    "RANGE": range_,
}
