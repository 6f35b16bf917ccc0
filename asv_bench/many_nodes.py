"""Nodes on many shapes of layers, by class: what `single_operators --many` runs beside LiteRT.

A kernel that is fast on one shape may be slow on another: a few channels, lines of seven pixels, columns that share
sets of the cache, rows too short for a vector. So each class has the shapes that models have, and those at their edges.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from asv_bench.benchmarks.operators import Single, axes, model, of_bytes

Shape = tuple[int, ...]
TYPES = {"f32": "f32 f32 f32", "s8": "s8 s8 s32", "u8": "u8 u8 s32", "hybrid": "f32 s8 f32"}
IMAGES: list[Shape] = [(1, 112, 112, 16), (1, 56, 56, 64), (1, 28, 28, 128), (1, 14, 14, 512), (1, 7, 7, 1024)]
THIN: list[Shape] = [(1, 224, 224, 3), (1, 96, 96, 1), (1, 49, 40, 8)]
FLAT: list[Shape] = [(1, 7, 7, 64), (1, 28, 28, 64), (1, 56, 56, 64)]
ROWS: list[Shape] = [(1, 10), (1, 1000), (8, 256), (128, 768), (500, 4), (66049, 21)]


class Node(NamedTuple):
    """A node of a class; `make` returns the bytes of its model, and arrays for its inputs."""

    kind: str
    name: str
    make: Callable[[], tuple[bytes, list[Any]]]


def text_of(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def single(kind: str, tag: str, of: Single) -> Node:
    shapes = [given for given in of.inputs if isinstance(given, tuple)]
    return Node(kind, f"{of.op} {tag} {text_of(shapes[0])}".replace("  ", " "), functools.partial(model, of))


def layer(op: str, kind: str, x: Shape, w: Shape, options: Mapping[str, Any], tag: str) -> Node:
    def make() -> tuple[bytes, list[Any]]:
        from support.large_nodes import VERSIONS
        from support.weighted import Layer

        each = kind in ("s8", "hybrid") and op != "FULLY_CONNECTED"
        of = TYPES.get(kind, kind)
        made = Layer(op, of, x, w, options, per_channel=each, version=VERSIONS[op])
        return made.model, made.arrays

    return Node(f"{op} {kind}", f"{op} {tag} {kind}", make)


def windows(stride: int = 1, dilation: int = 1, padding: str = "SAME", **more: Any) -> dict[str, Any]:
    sizes = {"stride_h": stride, "stride_w": stride, "dilation_h_factor": dilation, "dilation_w_factor": dilation}
    return {"padding": padding, **sizes, **more}


def convolutions() -> Iterator[Node]:
    """(side, inputs, outputs, size, stride)."""
    shapes = [
        *((112, 16, 24, 1, 1), (112, 24, 16, 1, 1), (56, 64, 64, 1, 1), (56, 24, 144, 1, 1), (56, 144, 24, 1, 1)),
        *((28, 128, 128, 1, 1), (28, 32, 192, 1, 1), (28, 192, 32, 1, 1), (14, 256, 256, 1, 1), (14, 96, 576, 1, 1)),
        *((14, 576, 96, 1, 1), (7, 960, 320, 1, 1), (7, 320, 1280, 1, 1), (7, 512, 512, 1, 1), (13, 256, 255, 1, 1)),
        *(
            (56, 64, 1, 1, 1),
            (56, 32, 2, 1, 1),
            (28, 96, 4, 1, 1),
            (7, 96, 6, 1, 1),
            (28, 128, 64, 1, 2),
            (14, 512, 256, 1, 2),
        ),
        *(
            (224, 3, 16, 3, 2),
            (224, 3, 32, 3, 2),
            (96, 3, 8, 3, 2),
            (128, 1, 8, 3, 2),
            (224, 3, 64, 7, 2),
            (112, 3, 16, 1, 1),
        ),
        *((32, 16, 16, 3, 1), (56, 64, 64, 3, 1), (28, 128, 128, 3, 1), (14, 256, 256, 3, 1), (7, 512, 512, 3, 1)),
        *(
            (56, 64, 128, 3, 2),
            (28, 128, 256, 3, 2),
            (14, 96, 96, 3, 2),
            (32, 32, 32, 3, 1),
            (64, 8, 8, 3, 1),
            (40, 12, 12, 3, 1),
        ),
        *((28, 48, 48, 5, 1), (56, 16, 16, 5, 1), (28, 32, 3, 5, 1), (64, 8, 3, 9, 1), (88, 33, 1, 3, 1)),
    ]
    for (side, n, to, size, stride), kind in itertools.product(shapes, TYPES):
        x, w = (1, side, side, n), (to, size, size, n)
        yield layer("CONV_2D", kind, x, w, windows(stride), f"{size}x{size} {side} {n}->{to} /{stride}")
    for n, dilation, kind in itertools.product((32, 128), (2, 4), TYPES):
        x, w = (1, 33, 33, n), (n, 3, 3, n)
        yield layer("CONV_2D", kind, x, w, windows(dilation=dilation), f"3x3 33 {n} dilated {dilation}")
    for (steps, n, to, size), kind in itertools.product([(200, 64, 64, 3), (49, 40, 64, 9), (100, 128, 128, 5)], TYPES):
        yield layer("CONV_2D", kind, (1, 1, steps, n), (to, 1, size, n), windows(), f"1x{size} {steps} {n}->{to}")
        yield layer("CONV_2D", kind, (1, steps, 1, n), (to, size, 1, n), windows(), f"{size}x1 {steps} {n}->{to}")
    for n, kind in itertools.product((64, 256), ("f32", "s8")):
        yield layer("CONV_2D", kind, (1, 28, 28, n), (n, 3, 3, n // 4), windows(), f"3x3 28 {n} of 4 groups")


def depthwise() -> Iterator[Node]:
    """(side, channels, size, stride, dilation)."""
    shapes = [
        *(
            (112, 32, 3, 1, 1),
            (112, 32, 3, 2, 1),
            (112, 96, 3, 2, 1),
            (56, 64, 3, 2, 1),
            (56, 128, 3, 1, 1),
            (56, 144, 3, 1, 1),
        ),
        *(
            (28, 256, 3, 1, 1),
            (28, 256, 3, 2, 1),
            (14, 512, 3, 1, 1),
            (14, 512, 3, 2, 1),
            (7, 1024, 3, 1, 1),
            (14, 576, 3, 1, 1),
        ),
        *(
            (28, 120, 5, 1, 1),
            (14, 672, 5, 1, 1),
            (14, 672, 5, 2, 1),
            (48, 8, 3, 1, 1),
            (96, 24, 3, 1, 1),
            (96, 24, 5, 1, 1),
        ),
        *(
            (17, 320, 3, 1, 4),
            (28, 64, 3, 1, 2),
            (33, 96, 3, 1, 2),
            (7, 96, 3, 1, 1),
            (25, 5, 3, 1, 1),
            (3, 64, 3, 1, 1),
        ),
    ]
    for (side, n, size, stride, dilation), kind in itertools.product(shapes, ("f32", "s8", "u8")):
        tag = f"{size}x{size} {side} {n} /{stride}" + (f" dilated {dilation}" if dilation > 1 else "")
        options = windows(stride, dilation, depth_multiplier=1)
        yield layer("DEPTHWISE_CONV_2D", kind, (1, side, side, n), (1, size, size, n), options, tag)
    for (x, w), kind in itertools.product(
        [((1, 49, 1, 64), (1, 9, 1, 64)), ((1, 1, 100, 64), (1, 1, 5, 64))], ("f32", "s8")
    ):
        yield layer("DEPTHWISE_CONV_2D", kind, x, w, windows(depth_multiplier=1), text_of(w[1:3]) + " of " + text_of(x))


def dense() -> Iterator[Node]:
    sizes = [
        (1, 1024, 1000),
        (1, 256, 256),
        (1, 640, 128),
        (1, 128, 12),
        (1, 1024, 1),
        (1, 2048, 4),
        (1, 4096, 1024),
        (4, 512, 512),
        (16, 64, 64),
    ]
    sizes += [
        (32, 768, 3072),
        (32, 3072, 768),
        (32, 256, 256),
        (128, 768, 768),
        (196, 256, 256),
        (197, 192, 576),
        (64, 1024, 4096),
    ]
    for (rows, n, to), kind in itertools.product(sizes, ("f32", "s8", "hybrid", "f32 s4 f32", "s8 s4 s32")):
        yield layer("FULLY_CONNECTED", kind, (rows, n), (to, n), {}, f"{rows}x{n}->{to}")


def moved() -> Iterator[Node]:
    """Transposes."""
    orders = [
        ((1, 56, 56, 64), (0, 3, 1, 2)),
        ((1, 224, 224, 3), (0, 3, 1, 2)),
        ((1, 64, 56, 56), (0, 2, 3, 1)),
        ((512, 512), (1, 0)),
    ]
    orders += [
        ((1, 128, 12, 64), (0, 2, 1, 3)),
        ((1, 12, 128, 64), (0, 1, 3, 2)),
        ((56, 56, 64), (1, 0, 2)),
        ((1, 197, 3, 64), (0, 2, 1, 3)),
        ((49, 8), (1, 0)),
    ]
    for (x, order), kind in itertools.product(orders, (np.float32, np.int8)):
        tag = f"{text_of(order)} of {np.dtype(kind)}"
        yield single(
            "TRANSPOSE",
            tag,
            Single("TRANSPOSE", (x, axes(*order)), kind=kind, scales=(0.05, 0.05) if kind is np.int8 else (0, 0)),
        )


def resized() -> Iterator[Node]:
    sizes = [
        ((1, 28, 28, 64), 56),
        ((1, 33, 33, 21), 257),
        ((1, 112, 112, 3), 224),
        ((1, 480, 640, 3), 224),
        ((1, 13, 13, 256), 26),
        ((1, 7, 7, 32), 14),
        ((1, 64, 64, 1), 128),
    ]
    for (x, to), op, half in itertools.product(sizes, ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), (True, False)):
        options, rule = {"align_corners": False, "half_pixel_centers": half}, "half pixels" if half else "corners"
        yield single("RESIZE", f"to {to} {rule}", Single(op, (x, axes(to, to)), options))
        yield single(
            "RESIZE", f"to {to} {rule} s8", of_bytes(op, x, axes(to, to), out=0.05, options=options, version=2)
        )


def laid_out() -> Iterator[Node]:
    """Pads, joins, slices and blocks."""
    for x in [*IMAGES[:4], *THIN]:
        edge, corner = axes(0, 0, 1, 1, 1, 1, 0, 0).reshape(4, 2), axes(0, 0, 0, 1, 0, 1, 0, 0).reshape(4, 2)
        for pads, tag in ((edge, "around"), (corner, "below")):
            yield single("PAD", tag, Single("PAD", (x, pads)))
            yield single("PAD", f"{tag} s8", of_bytes("PAD", x, pads, out=0.05, version=2))
    for x, axis in itertools.product([(1, 56, 56, 64), (1, 14, 14, 256), (1, 28, 28, 3)], (1, 3)):
        options = {"axis": axis, "fused_activation_function": "NONE"}
        yield single("CONCATENATION", f"axis {axis}", Single("CONCATENATION", (x, x), options))
        yield single(
            "CONCATENATION", f"axis {axis} s8", of_bytes("CONCATENATION", x, x, out=0.05, options=options, version=2)
        )
    begin, strides = axes(0, 0, 0, 0), axes(1, 2, 2, 1)
    for x in [(1, 112, 112, 32), (1, 224, 224, 3)]:
        yield single("slices", "by 2", Single("STRIDED_SLICE", (x, begin, axes(*x), strides)))
        yield single("slices", "half", Single("SLICE", (x, begin, axes(x[0], x[1] // 2, x[2], x[3]))))
    for x, op in itertools.product([(1, 56, 56, 64), (1, 112, 112, 4)], ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")):
        yield single("blocks", "", Single(op, (x,), {"block_size": 2}))
    yield single(
        "blocks", "", Single("SPACE_TO_BATCH_ND", ((1, 56, 56, 64), axes(2, 2), axes(0, 0, 0, 0).reshape(2, 2)))
    )
    yield single(
        "blocks", "", Single("BATCH_TO_SPACE_ND", ((4, 28, 28, 64), axes(2, 2), axes(0, 0, 0, 0).reshape(2, 2)))
    )


def pooled() -> Iterator[Node]:
    for x, op, size, stride in itertools.product(
        [*IMAGES, *THIN[:1], THIN[2]], ("MAX_POOL_2D", "AVERAGE_POOL_2D"), (2, 3), (1, 2)
    ):
        if size == 2 and stride == 1:
            continue
        options = {
            "filter_height": size,
            "filter_width": size,
            "stride_h": stride,
            "stride_w": stride,
            "padding": "SAME",
        }
        yield single("pools", f"{size}x{size} /{stride}", Single(op, (x,), options))
        yield single("pools", f"{size}x{size} /{stride} s8", of_bytes(op, x, out=0.05, options=options, version=2))
    for x in [(1, 7, 7, 1024), (1, 7, 7, 1280), (1, 4, 4, 64), (1, 14, 14, 48)]:
        options = {"filter_height": x[1], "filter_width": x[2], "stride_h": 1, "stride_w": 1, "padding": "VALID"}
        yield single("pools", "whole", Single("AVERAGE_POOL_2D", (x,), options))
        yield single("pools", "whole s8", of_bytes("AVERAGE_POOL_2D", x, out=0.05, options=options, version=2))


def reduced() -> Iterator[Node]:
    cases = [
        ((1, 7, 7, 1280), (1, 2)),
        ((1, 28, 28, 256), (1, 2)),
        ((1, 56, 56, 24), (1, 2)),
        ((128, 768), (1,)),
        ((128, 768), (0,)),
        ((1, 128, 128, 3), (3,)),
        ((64, 10), (1,)),
    ]
    for (x, over), op in itertools.product(cases, ("MEAN", "SUM", "REDUCE_MAX")):
        tag = f"over {text_of(over)}"
        yield single("reductions", tag, Single(op, (x, axes(*over)), {"keep_dims": False}))
        yield single(
            "reductions", f"{tag} s8", of_bytes(op, x, axes(*over), out=0.05, options={"keep_dims": False}, version=2)
        )
    for x in [(256, 1000), (1, 1001), (66049, 21), (4096, 2)]:
        options = {"output_type": "INT32"}
        yield single("reductions", "", Single("ARG_MAX", (x, axes(1)[0]), options, result=np.int32))
        yield single(
            "reductions", "s8", of_bytes("ARG_MAX", x, axes(1)[0], options=options, result=np.int32, version=2)
        )


def elementwise() -> Iterator[Node]:
    floats = [
        "RELU",
        "RELU6",
        "ABS",
        "NEG",
        "SQUARE",
        "SIN",
        "FLOOR",
        "ROUND",
        "EXP",
        "LOGISTIC",
        "TANH",
        "ELU",
        "HARD_SWISH",
    ]
    for op, x in itertools.product(floats, FLAT):
        yield single("functions", "", Single(op, (x,)))
    for op, x in itertools.product(("LOG", "SQRT", "RSQRT"), FLAT):
        yield single("functions", "", Single(op, (x,), positive=True))
    for spread, about in itertools.product((0.5, 1.0, 3.0), (False, True)):
        yield single(
            "functions",
            f"spread {spread} {'tanh' if about else 'erf'}",
            Single("GELU", ((128, 768),), {"approximate": about}, spread=spread),
        )


def of_one_byte() -> Iterator[Node]:
    for x in FLAT:
        for op in ("RELU", "RELU6", "ELU", "HARD_SWISH"):
            yield single("functions of bytes", "s8", of_bytes(op, x, version=1 if op in ("ELU", "HARD_SWISH") else 2))
        yield single("functions of bytes", "s8", of_bytes("LEAKY_RELU", x, options={"alpha": 0.1}, version=2))
        yield single("functions of bytes", "s8", of_bytes("LOGISTIC", x, out=1 / 256, version=2))
        yield single("functions of bytes", "s8", of_bytes("TANH", x, out=1 / 128, version=2))
        yield single("conversions", "s8", of_bytes("QUANTIZE", x, version=2))
        yield single("conversions", "to s8", Single("QUANTIZE", (x,), scales=(0.0, 0.05), result=np.int8))
        yield single("conversions", "to s16", Single("QUANTIZE", (x,), scales=(0.0, 0.0005), result=np.int16))
        yield single(
            "conversions",
            "of s8",
            Single("DEQUANTIZE", (x,), kind=np.int8, scales=(0.05, 0.0), result=np.float32, version=2),
        )
        yield single("conversions", "to s32", Single("CAST", (x,), result=np.int32))
        yield single("conversions", "of s32", Single("CAST", (x,), kind=np.int32, result=np.float32))
        yield single("conversions", "of bool", Single("CAST", (x,), kind=np.bool_, result=np.float32))
        yield single("conversions", "of s8", Single("CAST", (x,), kind=np.int8, result=np.float32))


def arithmetic() -> Iterator[Node]:
    pairs: list[tuple[Shape, Shape]] = [
        *((x, x) for x in FLAT),
        ((1, 56, 56, 64), (64,)),
        ((1, 56, 56, 64), (1, 56, 56, 1)),
        ((128, 768), (1,)),
        ((1, 112, 112, 3), (1, 112, 112, 3)),
    ]
    for (x, y), op in itertools.product(pairs, ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "SQUARED_DIFFERENCE")):
        tag = f"by {text_of(y)} of"
        yield single("arithmetic", tag, Single(op, (x, y)))
        if op in ("ADD", "SUB", "MUL"):
            yield single("arithmetic of bytes", f"s8 {tag}", of_bytes(op, x, y, version=2))
    for x in FLAT:
        yield single(
            "arithmetic", "s16", Single("ADD", (x, x), kind=np.int16, scales=(0.0005, 0.0007), version=2, spread=1.0)
        )


def softmax() -> Iterator[Node]:
    for x in ROWS:
        yield single("SOFTMAX", "", Single("SOFTMAX", (x,), {"beta": 1.0}))
        yield single("SOFTMAX", "s8", of_bytes("SOFTMAX", x, out=1 / 256, options={"beta": 1.0}, version=2))
        yield single("SOFTMAX", "", Single("LOG_SOFTMAX", (x,)))
    for x in [(12, 128, 128), (1, 32000)]:
        yield single("SOFTMAX", "", Single("SOFTMAX", (x,), {"beta": 1.0}))


def others() -> Iterator[Node]:
    rng = np.random.default_rng(1)
    yield single("others", "", Single("PRELU", ((1, 56, 56, 64), (1, 1, 64))))
    yield single("others", "", Single("L2_NORMALIZATION", ((128, 512),)))
    yield single(
        "others",
        "",
        Single(
            "LOCAL_RESPONSE_NORMALIZATION", ((1, 28, 28, 64),), {"radius": 5, "bias": 1.0, "alpha": 1.0, "beta": 0.5}
        ),
    )
    for over in (0, 1):
        yield single(
            "others",
            f"over {over}",
            Single("CUMSUM", ((128, 1024), axes(over)[0]), {"exclusive": False, "reverse": False}),
        )
    yield single(
        "others", "of 1000 rows", Single("GATHER", ((1000, 256), rng.integers(0, 1000, 512, np.int32)), {"axis": 0})
    )
    yield single("others", "", Single("TILE", ((1, 56, 1, 64), axes(1, 1, 56, 1))))
    yield single("others", "", Single("BROADCAST_TO", ((1, 56, 1, 64), axes(1, 56, 56, 64)), version=2))
    for most in (5, 1000):
        yield single("others", f"{most} of", Single("TOPK_V2", ((64, 1000), axes(most)[0]), outputs=2))
    for op in ("LESS", "EQUAL"):
        yield single("others", "", Single(op, ((1, 56, 56, 64), (1, 56, 56, 64)), result=np.bool_))


def nodes() -> Iterator[Node]:
    """All nodes, class by class. Those with weights need tests/ in sys.path, as single_operators does it."""
    for group in (
        *(convolutions, depthwise, dense, moved, resized, laid_out, pooled, reduced),
        *(elementwise, of_one_byte, arithmetic, softmax, others),
    ):
        yield from group()
