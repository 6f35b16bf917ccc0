"""FULLY_CONNECTED: C kernels, numpy reference and LiteRT agree; integers bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import EPS, REFERENCE, check, check_steps, run_litert, run_minilite
from support.node import Given, OneNode, Out, const, dtype_of, kind_of, quantized, values
from support.peer import interpreter as litert
from support.sparse import blocks, compressed
from support.weighted import Layer, same_for_any_number_of_threads

import minilite
from minilite._native.kernels import level_names
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.quantization import NOT_QUANTIZED, Quantization

OP = "FULLY_CONNECTED"
KINDS = [("f32", False), ("s8", False), ("s8", True), ("u8", False)]
TOLERANCE = 1500 * EPS  # a few eps of the sum of |x w| over a row


def every(rng: Any, inputs: Any, outputs: Any) -> Any:
    more = {"quantized_bias_type": "INT32" if inputs[2] == "s32" else "INT64"}
    layer = Layer(
        OP,
        " ".join(inputs),
        (6, 33),
        (9, 33),
        more,
        per_channel=inputs[1] in ("s8", "s4", "s2"),
        version=12,
        y_kind=outputs[0],
    )
    return layer, {"tolerance": TOLERANCE}


EVERY_TYPE = {OP: every}
SHAPES = [
    ((1, 1), (1, 1)),
    ((1, 10), (3, 10)),
    ((1, 257), (33, 257)),
    ((2, 64), (8, 64)),
    ((7, 130), (40, 130)),
    ((2, 3, 20), (5, 20)),
    ((2, 2, 3, 12), (9, 12)),
    ((50, 300), (17, 300)),
    ((12,), (4, 12)),
]


@pytest.mark.parametrize(("kind", "per_channel"), KINDS)
@pytest.mark.parametrize(("x", "w"), SHAPES)
@pytest.mark.parametrize("keep_num_dims", [False, True])
def test_shapes(x: tuple[int, ...], w: tuple[int, int], keep_num_dims: bool, kind: str, per_channel: bool) -> None:
    for activation in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1"):
        options = {"keep_num_dims": keep_num_dims, "fused_activation_function": activation}
        layer = Layer(OP, kind, x, w, options, per_channel=per_channel, version=5, seed=len(x) * w[0])
        layer.check(tolerance=TOLERANCE)


@pytest.mark.parametrize(("kind", "version"), [("f32", 1), ("u8", 1), ("s8", 4), ("s8", 9), ("s8", 12)])
def test_random(kind: str, version: int) -> None:
    rng = np.random.default_rng(version)
    for seed in range(60):
        rows, depth, outputs = (int(v) for v in rng.integers(1, (12, 300, 60)))
        bias = ("constant", "absent", "missing")[seed % 3]
        layer = Layer(OP, kind, (rows, depth), (outputs, depth), {}, bias=bias, version=version, seed=seed)
        layer.check(tolerance=TOLERANCE)


SMALL_AND_WIDE = [
    "s8 s4 s32",
    "s8 s2 s32",
    *(f"s16 {w} {b}" for w in ("s2", "s4", "s8", "s16") for b in ("s64", "s32")),
]
HYBRID = 1e-6  # of the outputs, at most about 1: a product of the scales is rounded in another order


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("types", ["f32 s8 f32", "f32 u8 f32", "f32 s4 f32", "f32 s2 f32"])
def test_hybrid(types: str, asymmetric: bool) -> None:
    """Rows quantized one by one; a row of zeros, and one of a single sign; all forms of scales, bias and weights."""
    rng = np.random.default_rng(asymmetric)
    for seed in range(40):
        rows, depth, outputs = (int(v) for v in rng.integers(1, (12, 200, 40)))
        options = {"asymmetric_quantize_inputs": asymmetric, "fused_activation_function": ("NONE", "RELU6")[seed % 2]}
        layer = Layer(
            OP, types, (rows, depth), (outputs, depth), options, per_channel=seed % 4 > 1, seed=seed, version=12,
            bias=("constant", "absent", "missing", "computed")[seed // 4 % 4], constant_weights=seed % 5 > 0 or " s2 " in types,  # which LiteRT's Python cannot set
        )  # fmt: skip
        layer.x[0] = 0 if seed % 3 else np.abs(layer.x[0])
        y = layer.run()
        top = max(1.0, float(np.abs(y).max()))
        layer.check(tolerance=HYBRID * top)


@pytest.mark.parametrize("types", ["f32 s4 f32", "s8 s4 s32"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_weights_that_stay_nibbles(types: str, per_channel: bool) -> None:
    """Depths of whole groups, outputs around whole panels; as many rows as read nibbles, and as read bytes. Every level
    gives the bits that scalar gives; resizes, threads and the packed bytes too."""
    per = per_channel and types[0] == "f"
    for rows, depth, outputs in [(1, 8, 16), (1, 64, 33), (2, 72, 100), (3, 40, 64), (1, 256, 31), (70, 96, 129)]:
        layer = Layer(OP, types, (rows, depth), (outputs, depth), {}, per_channel=per, seed=rows, version=12)
        layer.check(tolerance=HYBRID * max(1.0, float(np.abs(layer.run()).max())) if types[0] == "f" else 0)
        same_for_any_number_of_threads(layer)
    answers: dict[str, list[Any]] = {}
    for level in level_names():
        interpreter = minilite.Interpreter(model_content=layer.model, level=level)
        given = [np.resize(layer.x, (rows, depth)) for rows in (1, 2, 3, 70, 1)]
        answers[level] = [next(iter(interpreter.run(x).values())) for x in given]
        if level == "avx2":
            assert interpreter.usage.packed_bytes < 0.75 * outputs * depth
    for level, of_level in answers.items():
        for expected, found in zip(answers["scalar"], of_level, strict=True):
            np.testing.assert_array_equal(found, expected, level)


class Blocks:
    """Weights of few bits with a scale for each block of a row."""

    def __init__(
        self, kind: str, block: int, shape: tuple[int, int] = (5, 64), scales: Any = None, rows: int = 3
    ) -> None:
        rng = np.random.default_rng(block)
        self.weights = np.maximum(values(rng, kind, shape), -7)
        self.scales = (
            rng.uniform(0.01, 0.1, (shape[0], shape[1] // block)).astype(np.float16) if scales is None else scales
        )
        self.arrays = [values(rng, "f32", (rows, shape[1]), 1.0)]
        builder = ModelBuilder()
        g = builder.subgraph()
        x, at = g.input("x", (rows, shape[1])), g.constant("scales", self.scales)
        weights = g.constant(
            "w", self.weights, kind_of(kind), quantization=Quantization(block_size=block, scales_tensor=at)
        )
        g.output(g.node(OP, [x, weights], out=("y", (rows, shape[0])), version=13))
        self.model = builder.build()


@pytest.mark.parametrize("kind", ["s4", "s8", "s2"])
@pytest.mark.parametrize("block", [32, 64])
@pytest.mark.parametrize("rows", [1, 3, 4, 40, 300])
def test_blocks(kind: str, block: int, rows: int) -> None:
    """For a few rows weights are read as they are; for more they become floats. LiteRT has s4 by XNNPACK, which
    quantizes the input's rows, so results are some hundredths apart."""
    made = Blocks(kind, block, (70, 128), rows=rows)
    [y] = check(made.model, made.arrays, tolerance=TOLERANCE, oracle=None)
    exact = (
        made.arrays[0].astype(np.float64) @ (made.weights * np.repeat(made.scales, block, axis=1).astype(np.float64)).T
    )
    assert np.abs(y - exact).max() < TOLERANCE
    if kind == "s4":
        [theirs] = run_litert(made.model, made.arrays, litert.OpResolverType.AUTO)
        assert np.abs(y - theirs).max() < 0.02 * np.abs(y).max()


@pytest.mark.parametrize(("kind", "block"), [("s4", 1), ("s4", 3), ("s8", 1), ("s8", 48), ("s2", 6)])
@pytest.mark.parametrize("rows", [2, 5])
def test_blocks_of_any_length(kind: str, block: int, rows: int) -> None:
    made = Blocks(kind, block, (33, 48), rows=rows)
    check(made.model, made.arrays, tolerance=TOLERANCE, oracle=None)


def test_blocks_are_the_same_for_any_number_of_threads() -> None:
    for rows in (1, 300):
        made = Blocks("s4", 32, (500, 512), rows=rows)
        same_for_any_number_of_threads(made)


def test_blocks_refused() -> None:
    with pytest.raises(
        ShapeError, match="5 rows of 64 weights do not make whole blocks of 48, of which 10 have a scale"
    ):
        run_minilite(*vars_of(Blocks("s4", 48, scales=np.ones((5, 2), np.float16))))
    with pytest.raises(UnsupportedOpError, match="'scales', the scales of 'w', must be a constant of f16 or f32"):
        run_minilite(*vars_of(Blocks("s4", 32, scales=np.ones((5, 2), np.int32))))


def vars_of(made: Blocks) -> tuple[bytes, list[Any]]:
    return made.model, made.arrays


def test_hybrid_of_inputs_that_are_no_numbers() -> None:
    """Results for NaN and infinity are defined; LiteRT's conversion of them is not."""
    layer = Layer(OP, "f32 s8 f32", (3, 8), (4, 8), {}, version=12)
    layer.x[0, 0], layer.x[1, 1], layer.x[2, 2] = np.nan, np.inf, -np.inf
    assert layer.run().shape == (3, 4)


@pytest.mark.parametrize("types", SMALL_AND_WIDE)
def test_small_weights_and_wide_sums(types: str) -> None:
    """Weights of 4 and 2 bits, odd numbers of them too, and of 16, and int16 inputs: all forms of scales, bias and
    weights."""
    rng = np.random.default_rng(5)
    options = {"quantized_bias_type": "INT32" if types[-3:] == "s32" else "INT64"}
    for seed in range(24):
        rows, depth, outputs = (int(v) for v in rng.integers(1, (12, 700, 40)))
        layer = Layer(
            OP, types, (rows, depth), (outputs, depth), options, per_channel=seed % 4 > 1, seed=seed, version=12,
            bias=("constant", "computed", "missing")[seed % 3], constant_weights=seed % 5 > 0 or " s2 " in types,  # which LiteRT's Python cannot set
        )  # fmt: skip
        layer.check()


@pytest.mark.parametrize("kind", ["s8", "s16"])
def test_ties_round_away_from_zero(kind: str) -> None:
    def whole(scale: float) -> Quantization:
        return Quantization((scale,), (0,))

    x, weights = np.array([[1], [-1], [3]], dtype_of(kind)), np.arange(-7, 8, dtype=np.int8)[:, np.newaxis]
    inputs = [Given(x, quantization=whole(1.0)), const(weights, np.int8, whole(1.0))]
    y = OneNode(OP, inputs, outs=[Out(kind, whole(2.0))], version=9).check()
    np.testing.assert_array_equal(y[0], [-4, -3, -3, -2, -2, -1, -1, 0, 1, 1, 2, 2, 3, 3, 4])


@pytest.mark.parametrize("value", [-32768, 32767])
@pytest.mark.parametrize("depth", [1000, 65_900])
def test_wide_sums_do_not_overflow(depth: int, value: int) -> None:
    """The sum of 1000 products of 2^22 exceeds 32 bits, and so does that of 65,900 products of high bytes."""
    weights = np.full((3, depth), -128, np.int8)
    for bias in ("constant", "missing"):
        layer = Layer(
            OP, "s16", (1, depth), weights.shape, {}, weights=weights, bias=bias, version=12, y_scale=(10, 20)
        )
        layer.x[...] = value
        y = layer.check()
        assert ((y > 0) == (value < 0)).all()


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("lowest", [-128, -127])
def test_lowest_weights(rows: int, lowest: int) -> None:
    """The sum of two products of -128 and -128 exceeds 16 bits; that of -128 and -127 does not."""
    layer = Layer(OP, "s8", (rows, 40), (17, 40), {}, weights=np.full((17, 40), lowest, np.int8), y_scale=(10, 20))
    layer.x[...] = -128
    assert np.ptp(layer.check()) == 0


@pytest.mark.parametrize("types", ["f32", "s8", "u8", "s16", "s8 s4 s32", "f32 s8 f32"])
def test_weights_that_change_are_packed_again(types: str) -> None:
    """LiteRT's hybrids keep the weights they saw first: not compared."""
    options = {"asymmetric_quantize_inputs": True}
    layer = Layer(OP, types, (5, 70), (19, 70), options, constant_weights=False, version=12, y_scale=(2.0, 4.0), seed=7)
    x, weights = layer.arrays
    steps = [[x, weights], [x, weights // 2], [x, weights]]
    oracle = None if types == "f32 s8 f32" else REFERENCE
    outputs = check_steps(layer.model, steps, tolerance=TOLERANCE, oracle=oracle)
    assert not np.array_equal(outputs[0][0], outputs[1][0])
    np.testing.assert_array_equal(outputs[0][0], outputs[2][0])


@pytest.mark.parametrize("kind", ["f32", "s8", "u8"])
def test_computed_weights_and_resized_input(kind: str) -> None:
    layer = Layer(OP, kind, (5, 70), (19, 70), {}, constant_weights=False, file_shape=(1, 70), version=5)
    layer.check(tolerance=TOLERANCE)
    layer = Layer(OP, kind, (5, 70), (19, 70), {}, file_shape=(1, 70), version=5)
    layer.check(tolerance=TOLERANCE)


@pytest.mark.parametrize("kind", ["f32", "s8", "u8"])
@pytest.mark.parametrize("x", [(3, 0), (2, 3, 0), (0,), (0, 5), (0, 0)])
def test_no_depth(kind: str, x: tuple[int, ...]) -> None:
    """Outputs are zeros for any bias and zero points, as in LiteRT."""
    layer = Layer(OP, kind, x, (4, 0), {}, version=5)
    y = layer.check()
    assert y.shape[-1] == 4
    np.testing.assert_array_equal(y, 0)


def test_rows_regroup() -> None:
    """Without keep_num_dims, rows need not follow the last dimension."""
    layer = Layer(OP, "f32", (2, 3, 4), (5, 12), {})
    y = layer.check(tolerance=TOLERANCE)
    assert y.shape == (2, 5)


@pytest.mark.parametrize("kind", ["f32", "s8"])
def test_no_rows(kind: str) -> None:
    layer = Layer(OP, kind, (0, 6), (4, 6), {}, file_shape=(1, 6), version=5)
    y = layer.check(tolerance=TOLERANCE)
    assert y.shape == (0, 4)


def test_results_far_beyond_the_outputs_range() -> None:
    """Sums of 127 * 127 in steps of a millionth: more steps than an int32 counts. LiteRT's conversion is undefined in
    C++."""
    one = Quantization((1.0,), (0,))
    x = quantized(np.full((1, 1), 127, np.int8), 1.0, 0)
    inputs = [x, const([[127], [-127], [0]], np.int8, one), const([0, 0, 0], np.int32, one)]
    node = OneNode(OP, inputs, {}, quantization=Quantization((1e-6,), (0,)), version=4)
    assert node.check(oracle=None).tolist() == [[127, -128, 0]]


def test_error_of_long_sums() -> None:
    """Within 8 eps of the sum of |x w|, where all of it is positive and long: the worst case of running sums."""
    rng = np.random.default_rng(3)
    weights = rng.random((33, 20000)).astype(np.float32)
    layer = Layer(OP, "f32", (9, 20000), weights.shape, {}, weights=weights)
    x = rng.random(layer.x.shape).astype(np.float32)
    (y,) = run_minilite(layer.model, [x])
    exact = x.astype(np.float64) @ weights.T.astype(np.float64) + layer.bias
    assert np.max(np.abs(y - exact) / exact) < 8 * EPS


@pytest.mark.parametrize(("outputs", "depth"), [(37, 333), (5, 333), (72, 4000), (136, 2000)])
def test_rows_do_not_depend_on_each_other(outputs: int, depth: int) -> None:
    """A row gives the same results alone and among others, also in its last outputs, which could be summed in another
    order."""
    layer = Layer(OP, "f32", (9, depth), (outputs, depth), {})
    together = layer.run()
    for i in range(9):
        np.testing.assert_array_equal(run_minilite(layer.model, [layer.x[i : i + 1]])[0][0], together[i])


@pytest.mark.parametrize(
    ("x", "w", "options", "words"),
    [
        ((2, 7), (5, 6), {}, r"shape \(2, 7\) does not split into rows of the weights' depth 6"),
        ((2, 6), (5, 6, 1), {}, r"shape is \(5, 6, 1\)"),
        ((2, 6), (5, 0), {}, r"shape \(2, 6\) does not split into rows of the weights' depth 0"),
        ((3, 4), (5, 6), {"keep_num_dims": True}, r"shape \(3, 4\) does not match the weights' depth 6"),
    ],
)
def test_shapes_refused(x: Any, w: Any, options: Any, words: str) -> None:
    for kind in ("f32", "s8"):
        layer = Layer(OP, kind, x, w, options, version=5)
        with pytest.raises(ShapeError, match=words):
            layer.run()


def test_bias_length_refused() -> None:
    layer = Layer(OP, "f32", (2, 6), (5, 6), {}, bias_length=4)
    with pytest.raises(ShapeError, match="bias of 4 values does not match 5 outputs"):
        layer.run()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights_format": "SHUFFLED4x16INT8"}, "weights format SHUFFLED4x16INT8 is not supported"),
        ({"fused_activation_function": "SIGN_BIT"}, "fused activation SIGN_BIT is not supported"),
    ],
)
def test_options_refused(options: Any, words: str) -> None:
    Layer(OP, "s8", (2, 3), (4, 3), options, version=5).refused(UnsupportedOpError, words)


@pytest.mark.parametrize("types", ["s8 f32 s32", "f32 s16 f32", "s8 s8 f32"])
def test_types_refused(types: str) -> None:
    Layer(OP, types, (2, 3), (4, 3), {}).refused(
        UnsupportedOpError, f"types {types} -> {types.split()[0]} of x weights"
    )


@pytest.mark.parametrize("types", ["f32", "s8", "u8", "s16", "f32 s8 f32"])
@pytest.mark.parametrize("rows", [1, 300])
def test_threads(types: str, rows: int) -> None:
    """Threads share blocks of outputs, and blocks of rows."""
    same_for_any_number_of_threads(Layer(OP, types, (rows, 700), (900, 700), {}, version=12))


@pytest.mark.parametrize("kind", ["f32", "s8"])
def test_sparse_weights(kind: str) -> None:
    """They are made dense as the model is loaded. LiteRT has compressed rows of floats, and rows of blocks of 4 floats
    or 16 bytes."""
    rng = np.random.default_rng(4)
    scale = Quantization((0.5,), (0,)) if kind == "s8" else NOT_QUANTIZED
    weights = np.where(rng.random((8, 4)) < 0.4, 1, 0).repeat(16, axis=1) * values(rng, kind, (8, 64), 1.0)
    weights, x = weights.astype(dtype_of(kind)), values(rng, kind, (3, 64), 1.0)
    for width in (0, 4) if kind == "f32" else (16,):
        stored, form = blocks(weights, (1, width)) if width else compressed(weights)
        builder = ModelBuilder()
        g = builder.subgraph()
        at = g.constant("w", stored, kind_of(kind), shape=weights.shape, sparsity=form, quantization=scale)
        inputs = [g.input("x", x.shape, kind_of(kind), quantization=scale), at]
        if kind == "s8":
            inputs.append(g.constant("b", np.zeros(8, np.int32)))
        out = ("y", (3, 8), kind_of(kind), scale._replace(scales=scale.scales and (300.0,)))
        g.output(g.node(OP, inputs, out=out, version=8))
        [y] = check(
            builder.build(), [x], tolerance=TOLERANCE, oracle=litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        )
        assert y.any()
