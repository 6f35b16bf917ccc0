"""Fused nodes: the same results, which tensors are hidden, and when nodes are not fused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from built import ready
from support.compare import check

import minilite
from minilite import InputError, ShapeError, StateError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization

F32 = np.float32
BYTES = Quantization((0.05,), (-7,))
WEIGHTS = Quantization((0.02, 0.03, 0.01, 0.04), (0,) * 4)
CLAMPS = {"RELU": (0, np.inf), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1), "RELU_0_TO_1": (0, 1)}


def interpreters(model: bytes) -> tuple[Any, Any]:
    """A pair of interpreters: the first fuses nodes, the second does not."""
    return (
        minilite.Interpreter(model_content=model),
        minilite.Interpreter(model_content=model, experimental_disable_delegate_node_fusion=True),
    )


def statuses(interpreter: Any) -> list[str]:
    return [status for _, status in interpreter.plan.nodes()]


def wholes(model: bytes) -> list[int | None]:
    """For each node, the node of which it has become a part."""
    interpreter = minilite.Interpreter(model_content=model)
    interpreter.allocate_tensors()
    return [interpreter.plan.part_of(n) for n in range(len(interpreter.plan.nodes()))]


def random(shape: Sequence[int], seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape, scale=4).astype(F32)


def random_bytes(shape: Sequence[int], seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-128, 128, shape, dtype=np.int8)


def bytes_bias(graph: Any) -> int:
    """A bias of four outputs, whose scales are the input's times the weights'."""
    scales = tuple(F32(0.05) * F32(scale) for scale in WEIGHTS.scales)
    return int(graph.constant("bias", np.int32([90, -400, 7, 0]), quantization=Quantization(scales, (0,) * 4)))


# Clamps ---------------------------------------------------------------------------------------------------------------


def weighted(graph: Any, x: int, op: str, size: int = 3, out: Sequence[int] = (1, 6, 5, 4), **options: Any) -> int:
    """A convolution of 4 channels."""
    shape = (4, size, size, 4) if op == "CONV_2D" else (1, size, size, 4)
    w, bias = graph.constant("w", random(shape, 1)), graph.constant("bias", random((4,), 2))
    settings = {"padding": "SAME", "stride_h": 1, "stride_w": 1, **options}
    return int(graph.node(op, [x, w, bias], out=("t", tuple(out)), options=settings))


def producer(graph: Any, op: str, x: int) -> int:
    if op in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        return weighted(graph, x, op)
    if op == "FULLY_CONNECTED":
        w = graph.constant("w", random((4, 4), 1))
        return int(graph.node(op, [x, w, -1], out=("t", (1, 6, 5, 4)), options={"keep_num_dims": True}))
    if op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        settings = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "filter_height": 3, "filter_width": 3}
        return int(graph.node(op, [x], out=("t", (1, 6, 5, 4)), options=settings))
    return int(graph.node(op, [x, graph.constant("y", random((1, 6, 5, 4), 1))], out=("t", (1, 6, 5, 4))))


@pytest.mark.parametrize("clamp", CLAMPS)
@pytest.mark.parametrize(
    "op",
    ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "AVERAGE_POOL_2D", "MAX_POOL_2D", "ADD", "SUB", "MUL", "DIV"],
)
def test_a_clamp_becomes_part_of_its_producer(op: str, clamp: str) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 6, 5, 4))
    graph.output(graph.node(clamp, [producer(graph, op, x)], out=("y", (1, 6, 5, 4))))
    model = builder.build()
    assert wholes(model) == [None, 0]
    (y,) = check(model, [random((1, 6, 5, 4))], tolerance=2e-4)
    assert y.min() >= CLAMPS[clamp][0]
    assert y.max() <= CLAMPS[clamp][1]


def test_two_clamps_in_a_row_fuse_into_one() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    t = graph.node("ADD", [graph.input("x", (40,)), graph.constant("y", random((40,)))], out=("t", (40,)))
    u = graph.node("RELU_N1_TO_1", [t], out=("u", (40,)))
    graph.output(graph.node("RELU6", [u], out=("z", (40,))))
    assert wholes(builder.build()) == [None, 0, 0]
    plan = ready(builder.build()).plan
    assert plan is not None
    assert [status for _, status in plan.nodes()] == ["runs", "fused", "fused"]  # none waits: sizes are known
    check(builder.build(), [random((40,), 1)])


@pytest.mark.parametrize(("scale", "zero", "fuses"), [(0.05, -7, True), (0.03, -7, False), (0.05, -6, False)])
@pytest.mark.parametrize("clamp", ["RELU", "RELU6"])
def test_integer_clamps_fuse_if_scales_are_equal(clamp: str, scale: float, zero: int, fuses: bool) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 6, 5, 4), TensorType.INT8, quantization=BYTES)
    w = graph.constant("w", random_bytes((4, 3, 3, 4), 1), quantization=WEIGHTS)
    settings = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    t = graph.node(
        "CONV_2D", [x, w, bytes_bias(graph)], out=("t", (1, 6, 5, 4), TensorType.INT8, BYTES), options=settings
    )
    after = Quantization((scale,), (zero,))
    graph.output(graph.node(clamp, [t], out=("y", (1, 6, 5, 4), TensorType.INT8, after)))
    assert wholes(builder.build()) == [None, 0 if fuses else None]
    check(builder.build(), [random_bytes((1, 6, 5, 4))])


@pytest.mark.parametrize(("kind", "zero", "fuses"), [("UINT8", 120, True), ("INT16", 0, False)])
def test_bytes_without_sign_clamp_at_once_and_wide_integers_do_not(kind: str, zero: int, fuses: bool) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    like = (TensorType[kind], Quantization((0.05,), (zero,)))
    x = graph.input("x", (40,), like[0], quantization=like[1])
    t = graph.node("ADD", [x, x], out=("t", (40,), *like), options={"pot_scale_int16": False})
    graph.output(graph.node("RELU6", [t], out=("y", (40,), *like)))
    assert wholes(builder.build()) == [None, 0 if fuses else None]
    check(builder.build(), [np.arange(zero - 20, zero + 20).astype(np.uint8 if fuses else np.int16)])


def test_clamps_of_bytes_without_a_scale_stay_nodes() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 4, 4, 2), TensorType.INT8)
    options = {"padding": "VALID", "stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2}
    t = graph.node("MAX_POOL_2D", [x], out=("t", (1, 2, 2, 2), TensorType.INT8), options=options)
    graph.output(graph.node("RELU", [t], out=("y", (1, 2, 2, 2), TensorType.INT8)))
    assert wholes(builder.build()) == [None, None]


def test_a_tensor_that_others_have_to_do_with_is_not_hidden() -> None:
    for others in ("read it", "output"):
        builder = ModelBuilder()
        graph = builder.subgraph()
        x = graph.input("x", (40,))
        t = graph.node("ADD", [x, x], out=("t", (40,)))
        y = graph.node("RELU", [t], out=("y", (40,)))
        graph.output(y, t if others == "output" else graph.node("NEG", [t], out=("z", (40,))))
        assert set(wholes(builder.build())) == {None}
        check(builder.build(), [random((40,))])


# Padding --------------------------------------------------------------------------------------------------------------


def padded(
    op: str, pads: Sequence[Sequence[int]], size: int = 3, *, known: bool = True, **options: Any
) -> tuple[bytes, list[Any]]:
    """A PAD in front of a convolution, and what goes in."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 6, 5, 4), signature=(-1, -1, -1, 4))
    amounts = np.int32(pads)
    paddings = graph.constant("pads", amounts) if known else graph.input("pads", (4, 2), TensorType.INT32)
    shape = [n + sum(pad) for n, pad in zip((1, 6, 5, 4), pads, strict=True)]
    t = graph.node("PAD", [x, paddings], out=("padded", tuple(shape)))
    stride, extent = options.get("stride_h", 1), (size - 1) * options.get("dilation_h_factor", 1)
    rows, columns = ((n - extent - 1) // stride + 1 for n in shape[1:3])
    y = weighted(graph, t, op, size, (shape[0], rows, columns, 4), **{"padding": "VALID", **options})
    graph.output(graph.node("RELU", [y], out=("y", (shape[0], rows, columns, 4))))
    return builder.build(), [random((1, 6, 5, 4)), *([] if known else [amounts])]


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize(
    "options", [{}, {"stride_h": 2, "stride_w": 2}, {"dilation_h_factor": 2, "dilation_w_factor": 2}]
)
@pytest.mark.parametrize("pads", [(0, 1, 0, 1), (2, 0, 1, 1), (2, 2, 2, 2), (0, 0, 0, 2)])
def test_padding_fuses_with_the_window_after_it(
    op: str, options: Mapping[str, Any], pads: tuple[int, int, int, int]
) -> None:
    top, bottom, left, right = pads
    model, inputs = padded(op, [(0, 0), (top, bottom), (left, right), (0, 0)], **options)
    assert wholes(model) == [1, None, 1]
    check(model, inputs, tolerance=2e-4)
    check(model, [random((2, 9, 14, 4))], tolerance=2e-4)


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_padding_that_a_window_cannot_take_stays_a_node(op: str) -> None:
    for pads in (
        [(0, 0), (3, 1), (1, 1), (0, 0)],
        [(1, 0), (1, 1), (1, 1), (0, 0)],
    ):  # wider than a window; a batch more
        model, inputs = padded(op, pads)
        assert wholes(model) == [None, None, 1]
        check(model, inputs, tolerance=2e-4)
    model, inputs = padded(op, [(0, 0), (1, 1), (1, 1), (0, 0)], padding="SAME")
    assert wholes(model)[0] is None
    model, inputs = padded(op, [(0, 0), (1, 1), (1, 1), (0, 0)], known=False)
    assert wholes(model) == [None, None, 1]
    check(model, inputs, tolerance=2e-4)


PADS = ((0, 0), (1, 1), (0, 2), (0, 0))


def window(
    pads: Any, kind: TensorType = TensorType.INT32, *, filter_shape: Sequence[int] = (4, 3, 3, 4), **what: Any
) -> bytes:
    """PAD and CONV_2D; `pads` may have any shape or type, the filter too, and be an input."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = (graph.variable if what.get("variable") else graph.input)("x", (1, 6, 5, 4))
    amounts = graph.constant("pads", np.asarray(pads).astype(kind.name.lower()), kind)
    wide = [amounts, *([graph.constant("value", F32(0.0))] if what.get("value") else [])]
    t = graph.node("PADV2" if what.get("value") else "PAD", [x, *wide], out=("t", (1, 8, 7, 4)))
    w = random(filter_shape, 1)
    w = graph.input("w", filter_shape) if what.get("filter_is_input") else graph.constant("w", w)
    bias = graph.constant("bias", random((4,), 2))
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    graph.output(graph.node("CONV_2D", [t, w, bias], out=("y", (1, 6, 5, 4)), options=options))
    return builder.build()


@pytest.mark.parametrize("kind", ["INT64", "INT32", "INT16", "INT8"])
def test_paddings_of_four_bytes_and_more_become_part_of_a_window(kind: str) -> None:
    model = window(PADS, TensorType[kind])
    assert wholes(model) == ([1, None] if kind in ("INT64", "INT32") else [None, None])
    check(model, [random((1, 6, 5, 4))], tolerance=2e-4, oracle=None)  # LiteRT has no paddings of two bytes


def test_padding_with_a_value_or_for_an_input_as_filter_stays_a_node() -> None:
    assert wholes(window(PADS, value=True)) == [None, None]
    check(window(PADS, value=True), [random((1, 6, 5, 4))], tolerance=2e-4)
    assert wholes(window(PADS, filter_is_input=True)) == [None, None]
    check(window(PADS, filter_is_input=True), [random((1, 6, 5, 4)), random((4, 3, 3, 4), 1)], tolerance=2e-4)


@pytest.mark.parametrize(
    ("pads", "shape"),
    [
        (((0, 0), (-1, 1), (1, 1), (0, 0)), (4, 3, 3, 4)), (((1, 1), (1, 1)), (4, 3, 3, 4)), ((1, 1), (4, 3, 3, 4)),
        (((1,),) * 4, (4, 3, 3, 4)), (PADS, (4, 36)), (PADS, (4,)),
    ],
    ids=str,
)  # fmt: skip
def test_paddings_and_filters_of_other_shapes_are_refused_where_they_are(pads: Any, shape: Sequence[int]) -> None:
    with pytest.raises(ShapeError, match=r"node 0 \(PAD" if pads != PADS else r"node 1 \(CONV_2D"):
        ready(window(pads, filter_shape=shape))


def test_padding_and_squares_of_variables_stay_nodes() -> None:
    """A node in between might write it."""
    assert wholes(window(PADS, variable=True)) == [None, None]
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.variable("x", (3, 5))
    t = graph.node("MUL", [x, x], out=("t", (3, 5)))
    graph.output(graph.node("SUM", [t, graph.constant("axes", np.int32([0]))], out=("y", (5,))))
    assert wholes(builder.build()) == [None, None]


@pytest.mark.parametrize(
    "of_x", [BYTES, NOT_QUANTIZED, Quantization((0.05,) * 4, (-7,) * 4, 3), Quantization((0.04,), (-7,))]
)
@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_padding_of_bytes_is_their_zero_point(op: str, of_x: Quantization) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 6, 5, 4), TensorType.INT8, quantization=of_x)
    pads = graph.constant("pads", np.int32([(0, 0), (1, 1), (0, 2), (0, 0)]))
    t = graph.node("PAD", [x, pads], out=("t", (1, 8, 7, 4), TensorType.INT8, BYTES))
    shape, axis = ((4, 3, 3, 4), 0) if op == "CONV_2D" else ((1, 3, 3, 4), 3)
    each = Quantization(WEIGHTS.scales, WEIGHTS.zero_points, axis)
    w = graph.constant("w", random_bytes(shape, 1), quantization=each)
    settings = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    out = Quantization((0.4,), (5,))
    graph.output(
        graph.node(op, [t, w, bytes_bias(graph)], out=("y", (1, 6, 5, 4), TensorType.INT8, out), options=settings)
    )
    assert wholes(builder.build()) == [1 if of_x == BYTES else None, None]
    if of_x == BYTES:
        check(builder.build(), [random_bytes((1, 6, 5, 4))])


# Squares --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["SUM", "MEAN"])
@pytest.mark.parametrize("axes", [[2], [0, 1], [1], [0, 2]])
def test_a_sum_of_squares_is_one_pass(op: str, axes: list[int]) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (3, 5, 70), signature=(-1, -1, -1))
    t = graph.node("MUL", [x, x], out=("t", (3, 5, 70)))
    left = tuple(n for d, n in enumerate((3, 5, 70)) if d not in axes)
    graph.output(graph.node(op, [t, graph.constant("axes", np.int32(axes))], out=("y", left)))
    assert wholes(builder.build()) == [1, None]
    check(builder.build(), [random((3, 5, 70))], tolerance=2e-2)
    check(builder.build(), [random((1, 130, 33))], tolerance=2e-2)


@pytest.mark.parametrize("what", ["clamped", "int32", "constant", "kept", "quotient"])
def test_other_squares_stay_nodes(what: str) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    kind = TensorType.INT32 if what == "int32" else TensorType.FLOAT32
    x = graph.input("x", (3, 5), kind)
    one = graph.constant("one", random((3, 5), 1)) if what == "constant" else x
    options = {"fused_activation_function": "RELU6" if what == "clamped" else "NONE"}
    t = graph.node("DIV" if what == "quotient" else "MUL", [one, one], out=("t", (3, 5), kind), options=options)
    graph.output(graph.node("SUM", [t, graph.constant("axes", np.int32([0]))], out=("y", (5,), kind)))
    if what == "kept":
        graph.output(t)
    if what == "constant":
        graph.output(graph.node("NEG", [x], out=("n", (3, 5))))
    assert set(wholes(builder.build())) == {None}
    given = np.arange(15, dtype=np.int32).reshape(3, 5) if what == "int32" else random((3, 5))
    check(builder.build(), [given], tolerance=2e-2)


def test_a_product_of_two_is_no_square() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, z = graph.input("x", (40,)), graph.input("z", (40,))
    t = graph.node("MUL", [x, z], out=("t", (40,)))
    graph.output(graph.node("SUM", [t, graph.constant("axes", np.int32([0]))], out=("y", ())))
    assert wholes(builder.build()) == [None, None]


# Slopes ---------------------------------------------------------------------------------------------------------------


def sloped(
    slope: Any, *, turned: bool = False, clamped: str = "NONE", others: Mapping[str, str] | None = None, of: str = "x"
) -> bytes:
    """RELU(x) + NEG(RELU(NEG(x))) * slope, the operands of both in that order or `turned` round.

    `others` has other operators, by the tensors that they compute; "product" may also be clamped. `of` is the tensor
    whose part below 0 is taken. If `slope` is None, it is an input.
    """
    builder = ModelBuilder()
    graph = builder.subgraph()
    shape = (2, 3, 5)
    x, ops = graph.input("x", shape, signature=(-1, -1, 5)), others or {}
    above = graph.node(ops.get("above", "RELU"), [x], out=("above", shape))
    below = {"x": x, "above": above}[of] if of != "z" else graph.input("z", shape)
    for name, op in {"turned": "NEG", "cut": "RELU", "below": "NEG"}.items():
        below = graph.node(ops.get(name, op), [below], out=(name, shape))
    factors = [below, graph.input("slope", (5,)) if slope is None else graph.constant("slope", F32(slope))]
    op, _, limit = ops.get("product", "MUL").partition(" ")
    options = {"fused_activation_function": limit or "NONE"}
    product = graph.node(op, factors[::-1] if turned else factors, out=("product", shape), options=options)
    terms = [above, product]
    options = {"fused_activation_function": clamped}
    graph.output(graph.node(ops.get("y", "ADD"), terms[::-1] if turned else terms, out=("y", shape), options=options))
    if "kept" in ops:
        graph.output({"below": below, "above": above}[ops["kept"]])
    return builder.build()


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("slope", [[0.5, -1, 0, 3, 0.25], 0.5])
def test_a_slope_of_six_nodes_is_one(slope: Any, turned: bool) -> None:
    assert wholes(sloped(slope, turned=turned)) == [5] * 5 + [None]
    for shape in ((2, 3, 5), (1, 90, 5)):
        check(sloped(slope, turned=turned), [random(shape)])


def test_other_patterns_are_not_fused_as_slopes() -> None:
    wide = np.arange(30).reshape(2, 3, 5)
    assert set(wholes(sloped(wide))) == {None}
    check(sloped(wide), [random((2, 3, 5))])
    assert set(wholes(sloped(0.5, clamped="RELU6"))) == {None}
    check(sloped(0.5, clamped="RELU6"), [random((2, 3, 5))])
    for slope in ([[[[0.5]]]], [[0.5], [1], [2]], [[1, 2, 3, 4, 5]]):
        seen = set(wholes(sloped(slope)))
        assert seen == ({5, None} if np.shape(slope) == (1, 5) else {None})
        check(sloped(slope), [random((2, 3, 5))])
    assert set(wholes(sloped(None))) == {None}
    check(sloped(None), [random((2, 3, 5)), F32([1, 2, 3, 4, 5])])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "others",
    [
        {"above": "RELU6"}, {"above": "ABS"}, {"turned": "ABS"}, {"cut": "RELU6"}, {"cut": "NEG"}, {"below": "SQRT"},
        {"product": "SUB"}, {"product": "MUL RELU"}, {"product": "MUL RELU_N1_TO_1"}, {"y": "SUB"}, {"y": "MUL"},
        {"kept": "below"}, {"kept": "above"},
    ],
    ids=str,
)  # fmt: skip
def test_near_slopes_are_not_fused(others: Mapping[str, str], turned: bool) -> None:
    model = sloped([0.5, -1, 0, 3, 0.25], others=others, turned=turned)
    assert wholes(model)[0] is None  # the RELU, which a slope takes
    check(model, [random((2, 3, 5))], tolerance=1e-6)


@pytest.mark.parametrize("of", ["above", "z"])
def test_the_part_below_of_another_tensor_is_no_slope(of: str) -> None:
    model = sloped(0.5, of=of)
    assert set(wholes(model)) == {None}
    check(model, [random((2, 3, 5)), *([random((2, 3, 5), 1)] if of == "z" else [])])


@pytest.mark.parametrize(("shape", "slope"), [((), 0.5), ((2, 3, 1), [0.5, 2, -1])])
def test_a_scalar_or_one_channel_with_more_slopes_is_no_slope(shape: Sequence[int], slope: Any) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, wide = graph.input("x", shape), tuple(np.broadcast_shapes(shape, np.shape(slope)))
    above, below = graph.node("RELU", [x], out=("above", shape)), x
    for name, op in {"turned": "NEG", "cut": "RELU", "below": "NEG"}.items():
        below = graph.node(op, [below], out=(name, shape))
    product = graph.node("MUL", [below, graph.constant("slope", F32(slope))], out=("product", wide))
    graph.output(graph.node("ADD", [above, product], out=("y", wide)))
    assert wholes(builder.build()) == [None] * 6
    check(builder.build(), [np.array(random(shape))])


def test_a_slope_of_bytes_stays_as_it_is() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    like = ((2, 3, 5), TensorType.INT8, Quantization((0.05,), (0,)))
    x = graph.input("x", *like[:2], quantization=like[2])
    above, below = graph.node("RELU", [x], out=("above", *like)), x
    for name, op in {"turned": "NEG", "cut": "RELU", "below": "NEG"}.items():
        below = graph.node(op, [below], out=(name, *like))
    slope = graph.constant("slope", np.int8([50]), quantization=like[2])
    product = graph.node("MUL", [below, slope], out=("product", *like))
    graph.output(graph.node("ADD", [above, product], out=("y", *like)))
    assert set(wholes(builder.build())) == {None}
    check(builder.build(), [random_bytes((2, 3, 5))])


# Plans and tensors of fused nodes -------------------------------------------------------------------------------------


def test_a_fused_tensor_is_hidden_unless_kept() -> None:
    model, (x,) = padded("CONV_2D", [(0, 0), (1, 1), (1, 1), (0, 0)])
    fused, apart = interpreters(model)
    kept = minilite.Interpreter(model_content=model, experimental_preserve_all_tensors=True)
    for interpreter in (fused, apart, kept):
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, x)
        interpreter.invoke()
    hidden = [detail["index"] for detail in fused.get_tensor_details() if detail["name"] in ("padded", "t")]
    for index in hidden:
        with pytest.raises(StateError, match=r"Tensor data is null: tensor \d+ \('.*'\) .*preserve_all_tensors"):
            fused.get_tensor(index)
        fused.bind_tensor(index, np.zeros(fused.plan.shape(index), F32))
        with pytest.raises(InputError, match="hidden between nodes"):
            fused.allocate_tensors()
        fused.bind_tensor(index, None)
        kept.get_tensor(index)
    assert statuses(fused) == ["fused", "runs", "fused"]
    assert statuses(apart) == statuses(kept) == ["runs"] * 3
    assert fused.arena_bytes < apart.arena_bytes
    np.testing.assert_allclose(fused.get_output_details()[0]["shape"], kept.get_output_details()[0]["shape"])


def test_shapes_that_runs_find_go_through_what_is_fused() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, mask = graph.input("x", (1, 6, 5, 4)), graph.input("mask", (9,), TensorType.BOOL)
    found = graph.node("WHERE", [mask], out=("found", (9, 1), TensorType.INT64))
    count = graph.node("SHAPE", [found], out=("count", (2,), TensorType.INT32), options={"out_type": "INT32"})
    begin, one = graph.constant("begin", np.int32([0])), graph.constant("one", np.int32([1]))
    rows = graph.node("SLICE", [count, begin, one], out=("rows", (1,), TensorType.INT32))
    multiples = graph.node(
        "CONCATENATION", [rows, graph.constant("ones", np.int32([1, 1, 1]))], out=("m", (4,), TensorType.INT32)
    )
    tiled = graph.node("TILE", [x, multiples], out=("tiled", (1, 6, 5, 4)))
    pads = graph.constant("pads", np.int32([(0, 0), (1, 1), (1, 1), (0, 0)]))
    t = graph.node("PAD", [tiled, pads], out=("t", (1, 8, 7, 4)))
    y = weighted(graph, t, "CONV_2D", padding="VALID")
    graph.output(graph.node("RELU", [y], out=("y", (1, 6, 5, 4))))
    fused, apart = interpreters(builder.build())
    for interpreter in (fused, apart):
        interpreter.allocate_tensors()
    last = len(statuses(fused)) - 1
    assert statuses(fused)[-1] == "waits"
    assert fused.plan.part_of(last) == last - 1
    for trues in (3, 1, 5, 5, 2):
        results = []
        for interpreter in (fused, apart):
            interpreter.set_tensor(0, random((1, 6, 5, 4)))
            interpreter.set_tensor(1, np.arange(9) < trues)
            interpreter.invoke()
            results.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
        assert results[0].shape == (trues, 6, 5, 4)
        np.testing.assert_array_equal(*results)
    assert fused.memory.part_of(last) == last - 1
