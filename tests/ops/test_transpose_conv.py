"""TRANSPOSE_CONV: floats, and quantized per tensor and per channel; output shapes known and computed."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from support.compare import check, run_litert, run_minilite
from support.node import Given, OneNode, Out, const
from support.peer import interpreter as litert
from support.peer import needed
from support.weighted import TYPES, drawn, tensor_quantization, weight_quantization

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization


def layer(
    types: str,
    x_shape: Any = (2, 3, 4, 5),
    taps: Any = (3, 2),
    outputs: int = 7,
    stride: Any = (1, 1),
    padding: str = "SAME",
    *,
    bias: bool = True,
    per_channel: bool = False,
    constant: bool = True,
    more: Any = (0, 0),
    activation: str = "NONE",
) -> OneNode:
    rng = np.random.default_rng(5)
    kind, w_kind, b_kind = TYPES.get(types, types).split()
    if padding == "SAME":
        size = [max(0, n * s - e) for n, s, e in zip(x_shape[1:3], stride, more, strict=True)]
    else:
        size = [(n - 1) * s + t + e for n, s, t, e in zip(x_shape[1:3], stride, taps, more, strict=True)]
    x_q = tensor_quantization(rng, kind, 0.01, 0.05)
    w_q = weight_quantization(rng, w_kind, outputs if per_channel else 0, 0)
    y_q = tensor_quantization(rng, kind, *((3.0, 30.0) if kind == "s16" else (0.2, 1.0)))
    inputs = [
        Given(np.array([x_shape[0], *size, outputs], np.int32), constant),
        Given(drawn(rng, w_kind, (outputs, *taps, x_shape[3])), constant, w_q),
        Given(drawn(rng, kind, x_shape), quantization=x_q),
    ]
    if bias:
        dtype = {"f32": np.float32, "s32": np.int32, "s64": np.int64}[b_kind]
        scales = tuple(float(np.float32(x_q.scale * s)) for s in w_q.scales)
        b_q = Quantization(scales, (0,) * len(scales)) if scales else NOT_QUANTIZED
        inputs.append(const(rng.integers(-3000, 3000, outputs) / (1000 if kind == "f32" else 1), dtype, b_q))
    options = {
        "padding": padding,
        "stride_h": stride[0],
        "stride_w": stride[1],
        "fused_activation_function": activation,
        "quantized_bias_type": "INT32" if types == "s16 s8 s32" else "FLOAT32",
    }
    return OneNode("TRANSPOSE_CONV", inputs, options, outs=[Out(kind, y_q)], version=4)


def every_type(rng: np.random.Generator, inputs: Any, outputs: Any) -> Any:
    """LiteRT reads a scale of hybrid weights for each output."""
    return layer(f"{inputs[2]} {inputs[1]} {inputs[3]}", per_channel=inputs[1] == "s8"), {"tolerance": 1e-4}


def shapeless(x_shape: Any, taps: Any, stride: Any, padding: int, outputs: int = 3, shape: Any = None) -> OneNode:
    """Convolution2DTransposeBias; XNNPACK takes the output's shape from the file."""
    rng = np.random.default_rng(5)
    weights = Given(drawn(rng, "f32", (outputs, *taps, x_shape[3])), constant=True)
    given = [drawn(rng, "f32", x_shape), weights, const(rng.normal(size=outputs), np.float32)]
    options = struct.pack("<3i", padding, stride[1], stride[0])
    return OneNode("Convolution2DTransposeBias", given, outs=[Out("f32", shape=shape)], custom=options)


def every_bias(rng: np.random.Generator, inputs: Any, outputs: Any) -> Any:
    return shapeless((2, 3, 4, 5), (2, 2), (2, 2), 1, shape=(2, 6, 8, 3)), {
        "tolerance": 1e-4,
        "oracle": litert.OpResolverType.AUTO,
    }


EVERY_TYPE = {"TRANSPOSE_CONV": every_type, "Convolution2DTransposeBias": every_bias}


@pytest.mark.parametrize("kind", [*TYPES, "f32 s8 f32", "s16 s8 s32"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_windows(kind: str, padding: str) -> None:
    for stride in ((1, 1), (2, 2), (2, 3), (4, 1)):
        for taps in ((1, 1), (2, 2), (3, 3), (4, 2), (5, 7)):
            layer(kind, taps=taps, stride=stride, padding=padding).check(tolerance=1e-4)


@pytest.mark.parametrize("kind", [*TYPES, "f32 s8 f32", "s16 s8 s32"])
def test_operands(kind: str) -> None:
    layer(kind, bias=False).check(tolerance=1e-4)
    layer(kind, constant=False, stride=(2, 2)).check(tolerance=1e-4)
    layer(kind, stride=(3, 3), more=(1, 2)).check(tolerance=1e-4)
    layer(kind, (1, 9, 9, 33), (3, 3), 40, (2, 2)).check(tolerance=1e-3)
    layer(kind, activation="RELU").check(tolerance=1e-4)
    if kind in ("s8", "s16"):
        layer(kind, per_channel=True, stride=(2, 2)).check()
        layer(kind, per_channel=True, bias=False).check()


def test_refusals() -> None:
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    x, w = np.zeros((1, 3, 3, 2), np.float32), np.zeros((4, 2, 2, 2), np.float32)
    for shape, message in (
        ([1, 3, 3, 5], "does not match"),
        ([2, 3, 3, 4], "does not match"),
        ([1, -3, 3, 4], "would"),
    ):
        OneNode("TRANSPOSE_CONV", [const(shape), w, x], options, kind="f32").refused(
            ShapeError, message, by_litert=False
        )
    OneNode("TRANSPOSE_CONV", [const([1, 3, 3, 4]), w[..., :1], x], options, kind="f32").refused(
        ShapeError, "filter depth 1"
    )
    OneNode("TRANSPOSE_CONV", [const([3, 3, 4]), w, x], options, kind="f32").refused(
        ShapeError, "four numbers", by_litert=False
    )


RESIZED = [(2, 3, 4), (1, 5, 4), (3, 1, 9), (1, 7, 2), (2, 0, 4), (0, 3, 4)]
"""Batch, height and width of inputs; (1, 3, 4) is the file's."""


@pytest.mark.parametrize("kind", [*TYPES, "f32 s8 f32", "s16 s8 s32"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("stride", "more"), [((2, 2), (0, 0)), ((2, 3), (1, 1)), ((1, 1), (0, 0))])
def test_constant_size_follows_a_resized_input(kind: str, padding: str, stride: Any, more: Any) -> None:
    """A resized input gives the result of the same layer in a file of that size."""
    kept = {"taps": (3, 5), "stride": stride, "padding": padding, "more": more}
    small = layer(kind, (1, 3, 4, 5), **kept)
    for shape in RESIZED:
        size, _, x, *_ = layer(kind, (*shape, 5), **kept).given
        given = [size, small.given[1], x, *small.given[3:]]
        built = OneNode("TRANSPOSE_CONV", given, small.options, outs=small.outs, version=4)
        (y,) = check(small.model, built.arrays, tolerance=1e-4, oracle=None)
        assert np.array_equal(y, built.run()), shape


@needed
@pytest.mark.parametrize("more", [(0, 0), (1, 1)])
def test_constant_valid_size_follows_as_in_xnnpack(more: Any) -> None:
    """LiteRT's other kernel sets refuse the resized input."""
    kept = layer("f32", (1, 3, 4, 5), taps=(3, 5), stride=(2, 2), padding="VALID", more=more)
    outs = [Out("f32", shape=kept.given[0].array.tolist())]  # XNNPACK takes no node whose file states no shape
    small = OneNode("TRANSPOSE_CONV", kept.given, kept.options, outs=outs, version=4)
    for height, width in ((5, 4), (1, 9), (7, 2)):
        x = drawn(np.random.default_rng(1), "f32", (1, height, width, 5))
        ours, theirs = run_minilite(small.model, [x])[0], run_litert(small.model, [x], litert.OpResolverType.AUTO)[0]
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_sizes_that_do_not_fit_are_refused(padding: str) -> None:
    """A computed size is never changed. A constant size that does not fit the input in the file is not adapted to other
    inputs either."""
    for constant in (True, False):
        node = layer("f32", (1, 3, 4, 5), stride=(2, 2), padding=padding, constant=constant)
        size = node.given[0].array + np.int32([0, 0, 2, 0])
        off = OneNode(
            "TRANSPOSE_CONV", [node.given[0]._replace(array=size), *node.given[1:]], node.options, kind="f32", version=4
        )
        off.refused(ShapeError, r"an output width of \d+ has 5 windows, the input has 4")
        with pytest.raises(ShapeError, match="has 5 windows, the input has 6"):
            run_minilite(off.model, [*off.arrays[:-1], np.zeros((1, 3, 6, 5), np.float32)])
    grown = [*layer("f32", (1, 3, 4, 5), constant=False).arrays[:-1], np.zeros((1, 4, 4, 5), np.float32)]
    with pytest.raises(ShapeError, match="an output height of 3 has 3 windows, the input has 4"):
        run_minilite(layer("f32", (1, 3, 4, 5), constant=False).model, grown)


def called(kind: str, padding: str, source: str) -> bytes:
    """A TRANSPOSE_CONV of (1, 3, 4, 5), or a CONV_3D_TRANSPOSE of (1, 3, 4, 2, 5): in a subgraph that an IF or a
    STABLEHLO_COMPOSITE runs, or on the first rows of x, as many as `keep` says in the run."""
    rng = np.random.default_rng(5)
    volume = kind == "CONV_3D_TRANSPOSE"
    sides, names = ((3, 4, 2), "dhw") if volume else ((3, 4), "hw")
    taps = (3, 2, 2)[: len(sides)]
    out = [n * 2 if padding == "SAME" else (n - 1) * 2 + t for n, t in zip(sides, taps, strict=True)]
    shape, y_shape = (1, *sides, 5), (1, *out, 7)
    options = {"padding": padding, **{f"stride_{n}": 2 for n in names}}
    builder = ModelBuilder()
    main, inner = builder.subgraph("main"), builder.subgraph("inner")
    x, keep = main.input("x", shape, signature=[-1] * len(shape)), main.input("keep", (), TensorType.INT32)
    graph = main if source == "computed" else inner
    size = graph.constant("size", np.array(y_shape, np.int32))
    w = graph.constant("w", rng.normal(size=(*taps, 7, 5) if volume else (7, *taps, 5)).astype(np.float32))
    if source == "computed":
        ends = [
            main.node(
                "EXPAND_DIMS", [keep, main.constant("at", np.array(0, np.int32))], out=("rows", (1,), TensorType.INT32)
            )
        ]
        rest = main.constant("rest", np.array([-1] * (len(shape) - 2), np.int32))
        one = main.constant("one", np.array([-1], np.int32))
        sizes = main.node(
            "CONCATENATION", [one, *ends, rest], out=("sizes", (len(shape),), TensorType.INT32), options={"axis": 0}
        )
        zeros = main.constant("zeros", np.zeros(len(shape), np.int32))
        cut = main.node("SLICE", [x, zeros, sizes], out=("cut", shape))
        main.output(main.node(kind, [size, w, cut], out=("y", y_shape), options=options))
        return builder.build()
    given = inner.input("x", shape)
    inner.output(inner.node(kind, [size, w, given], out=("y", y_shape), options=options))
    if source == "IF":
        zero = main.constant("zero", np.array(0, np.int32))
        choice = main.node("GREATER", [keep, zero], out=("choice", (), TensorType.BOOL))
        branches = {"then_subgraph_index": 1, "else_subgraph_index": 1}
        main.output(main.node("IF", [choice, x], out=("z", y_shape), options=branches))
    else:
        call = {"name": "own", "decomposition_subgraph_index": 1, "version": 1}
        main.output(main.node("STABLEHLO_COMPOSITE", [x], out=("z", y_shape), options=call))
    return builder.build()


@pytest.mark.parametrize("op", ["TRANSPOSE_CONV", "CONV_3D_TRANSPOSE"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("source", ["computed", "IF", "STABLEHLO_COMPOSITE"])
def test_inputs_of_subgraphs_and_computed_ones_are_followed(op: str, padding: str, source: str) -> None:
    """Gives the result of the same node in a model of its own, on an input of that shape, which LiteRT computes too."""
    model = called(op, padding, source)
    more = (2,) if op == "CONV_3D_TRANSPOSE" else ()
    interpreter = minilite.Interpreter(model)
    graph = interpreter.model.subgraphs[0 if source == "computed" else 1]
    size, w = (next(t.data for t in graph.tensors if t.name == name) for name in ("size", "w"))
    (node,) = (node for node in graph.nodes if node.op == op)
    for batch, height, width, rows in ((1, 3, 4, 3), (2, 5, 4, 2), (1, 2, 9, 1), (3, 3, 4, 3), (1, 3, 4, 3)):
        x = drawn(np.random.default_rng(batch), "f32", (batch, height, width, *more, 5))
        (y,) = interpreter.run({"x": x, "keep": np.int32(rows)}).values()
        seen = x[:, :rows] if source == "computed" else x
        stated = size.copy()
        stated[0] = batch
        stated[1:-1] += 2 * (np.array(seen.shape[1:-1]) - (3, 4, *more))
        alone = OneNode(op, [const(stated), const(w, np.float32), seen], node.options, kind="f32")
        np.testing.assert_array_equal(y, alone.check(tolerance=1e-4))


@pytest.mark.parametrize("padding", [1, 2])
@pytest.mark.parametrize("stride", [(1, 1), (2, 2), (3, 2)])
def test_shapeless(padding: int, stride: Any) -> None:
    """The output has the shape in the file; without one, it has the size that windows cover, and for SAME padding at
    most their strides."""
    for taps in ((1, 1), (2, 2), (3, 3), (2, 5)):
        apart = any(t < s for t, s in zip(taps, stride, strict=True))  # XNNPACK refuses that
        for size in ((3, 4), (1, 1), (6, 5)):
            covered = [(n - 1) * s + t for n, s, t in zip(size, stride, taps, strict=True)]
            sides = covered if padding == 2 else [min(n * s, c) for n, s, c in zip(size, stride, covered, strict=True)]
            shape = (2, *sides, 3)
            for stated in (None, shape):
                node = shapeless((2, *size, 4), taps, stride, padding, shape=stated)
                oracle = None if apart or stated is None else litert.OpResolverType.AUTO
                assert node.check(tolerance=1e-4, oracle=oracle).shape == shape
    shapeless((0, 3, 3, 4), (2, 2), stride, padding).check(oracle=None)


@pytest.mark.parametrize("more", [(0, 0), (1, 0), (1, 1)])
def test_shapeless_resized(more: Any) -> None:
    """An output that is smaller in the file than windows cover stays smaller by as much. LiteRT refuses to resize
    it."""
    x_shape, size = (1, 4, 4, 3), [8 - m for m in more]
    node = shapeless(x_shape, (3, 3), (2, 2), 1, shape=(1, *size, 3))
    arrays = [drawn(np.random.default_rng(1), "f32", (2, 6, 3, 3))]
    (y,) = check(node.model, arrays, tolerance=1e-4, oracle=None)
    assert y.shape == (2, 12 - more[0], 6 - more[1], 3)


def test_shapeless_refusals() -> None:
    shapeless((1, 3, 3, 4), (2, 2), (0, 1), 1).refused(UnsupportedOpError, "strides 0, 1 must be positive")
    shapeless((1, 3, 3, 4), (2, 2), (1, 1), 7).refused(UnsupportedOpError, "padding must be SAME or VALID, it is 7")
    node = shapeless((1, 3, 3, 4), (2, 2), (1, 1), 1)
    given = [Given(node.arrays[0][..., :3]), const(np.zeros((3, 2, 2, 4)), np.float32), const(np.zeros(3), np.float32)]
    cut = OneNode("Convolution2DTransposeBias", given, custom=struct.pack("<3i", 1, 1, 1))
    cut.refused(ShapeError, "filter depth 4 does not match input depth 3")
    words = "SAME padding and stride 2 cannot give an output side of 9 for an input side of 3"
    shapeless((1, 3, 3, 4), (2, 2), (2, 2), 1, shape=(1, 9, 6, 3)).refused(UnsupportedOpError, words)
    short = OneNode("Convolution2DTransposeBias", given, custom=b"1234")
    short.refused(UnsupportedOpError, "custom options of 4 bytes, expected 12 or more")
