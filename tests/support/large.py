"""A node with much work for each operator, to stop a run in the middle of it.

`LARGE` has an entry for each operator with a C kernel but those in `SHORT` and `MODELS`: a Case, or what makes one from
the types, as in support.cases.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from support.cases import Case
from support.composite import flex_of
from support.large_nodes import (
    IMAGE,
    ROWS,
    N,
    both,
    boxes,
    detection,
    divided,
    embedding,
    embedding_sparse,
    family,
    gather,
    hashed,
    joined,
    keys,
    layer,
    lstm,
    matmul,
    moved_gather,
    moved_pad,
    moved_scatter,
    multinomial,
    noise,
    of,
    one,
    positive,
    power,
    quantize,
    reduced,
    rnn,
    scatter_nd,
    segments,
    sigmoid,
    softmax,
    svdf,
    to_dense,
    topk,
    transform,
    unique,
    update,
    windows,
    windows_stablehlo,
)
from support.node import OneNode, const, dtype_of, values
from support.weighted import window_options

from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

SHORT = {
    "CALL_ONCE": "its subgraph's nodes are looked at by themselves",
    "DENSIFY": "done while the file is loaded",
    "HASHTABLE": "a handle",
    "HASHTABLE_SIZE": "counts slots, of which there are a few for each key",
    "IF": "its subgraphs' nodes are looked at by themselves",
    "RANK": "a number",
    "SHAPE": "a few numbers",
    "STABLEHLO_CASE": "its subgraphs' nodes are looked at by themselves",
    "STABLEHLO_COMPOSITE": "its subgraph's nodes are looked at by themselves",
    "VAR_HANDLE": "a handle",
    "WHILE": "its subgraphs' nodes are looked at by themselves",
    "ASSIGN_VARIABLE": "one copy, whole or not made: a run that was cancelled must not leave half a value",
    "RESHAPE": "a view, or a copy in blocks",
    "SQUEEZE": "a view, or a copy in blocks",
    "EXPAND_DIMS": "a view, or a copy in blocks",
    "BITCAST": "a view, or a copy in blocks",
    "Landmarks2TransformMatrix": "a few points",
    "SignalFilterBank": "as many frequencies as int16 counts",
    "SignalFilterBankSpectralSubtraction": "1024 channels at most",
    "SignalStacker": "a frame",
}
"""Operators whose nodes never take long, or do not work in blocks; and why."""

LARGE: dict[str, Any] = {
    **dict.fromkeys(
        ["RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "LEAKY_RELU", "ELU", "HARD_SWISH", "GELU", "ABS", "NEG", "EXP", "SQUARE", "SIN", "COS", "FLOOR", "CEIL", "ROUND", "SIGN", "LOGICAL_NOT", "REAL", "IMAG", "COMPLEX_ABS", "CAST", "DEQUANTIZE", "ZEROS_LIKE"], of((N,))
    ),
    **{op: sigmoid(op) for op in ("LOGISTIC", "TANH")},
    **{op: positive(op) for op in ("SQRT", "RSQRT", "LOG")},
    **dict.fromkeys(
        ["ADD", "SUB", "MUL", "SQUARED_DIFFERENCE", "MAXIMUM", "MINIMUM", "LOGICAL_AND", "LOGICAL_OR", "BITWISE_XOR", "RIGHT_SHIFT", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL", "ATAN2", "STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM", "STABLEHLO_AND", "STABLEHLO_SHIFT_LEFT", "PRELU"], of((N,), (N,))
    ),
    "PRELU": of((16, N // 16), (1, N // 16)),
    "SELECT": of((N,), (N,), (N,)),
    "SELECT_V2": of((1, N), (4, 1), (4, N)),
    **{op: divided(op) for op in ("DIV", "FLOOR_DIV", "FLOOR_MOD")},
    "POW": power,
    "ADD_N": of(*[(N,)] * 4),
    "BROADCAST_ARGS": lambda rng, inputs, outputs: (
        OneNode("BROADCAST_ARGS", [np.ones(N, dtype_of(kind)) for kind in inputs], kind=outputs[0]), {}),
    "SKIP_GRAM": lambda *_: (family("skip_gram").skip_gram("a " * (N // 32), 3, 2, True), {}),
    "BUCKETIZE": of((N,), options={"boundaries": (-3.0, -1.5, 0.0, 0.5, 0.5, 2.0)}),
    "FAKE_QUANT": of((N,), options={"min": -1.0, "max": 2.0, "num_bits": 8}),
    "NumericVerify": lambda rng, inputs, outputs: (family("numeric_verify").verify(inputs[0], (N,)), {}),
    "QUANTIZE": quantize,
    "SOFTMAX": softmax,
    "LOG_SOFTMAX": Case([ROWS], {}, {"s8": Quantization((1 / 16,), (127,)), "u8": Quantization((1 / 16,), (255,))}),
    "L2_NORMALIZATION": Case([ROWS], quantization={"u8": Quantization((1 / 128,), (128,)), "s8": Quantization((1 / 128,), (0,))}),
    "LOCAL_RESPONSE_NORMALIZATION": of((4096, 64), options={"radius": 2, "bias": 1.0, "alpha": 1e-4, "beta": 0.5}),
    "CUMSUM": of((4, N // 8, 2), 1, options={"exclusive": False, "reverse": False}),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), of((4, N // 8, 2), 1)),
    **{op: reduced(op) for op in ["SUM", "MEAN", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL"]},
    "TOPK_V2": topk,
    "UNIQUE": unique,
    "WHERE": of((1024, 1024)),
    "CONCATENATION": joined("CONCATENATION", {"fused_activation_function": "NONE"}),
    "PACK": joined("PACK", {"values_count": 2}),
    "SPLIT": of(1, ROWS, options={"num_splits": 2}),
    "SPLIT_V": of(ROWS, [100, -1], 1, options={"num_splits": 2}),
    "UNPACK": of((2, N), options={"num": 2, "axis": 0}, one_scale=True),
    "TRANSPOSE": of((16, 1024, 64), [2, 0, 1]),
    "TILE": one((ROWS[0], 64), [2, 64]),
    "BROADCAST_TO": one((ROWS[0], 1), ROWS, version=2),
    "PAD": of(ROWS, [[1, 2], [3, 4]], one_scale=True),
    "PADV2": of(ROWS, [[1, 2], [3, 4]], (), one_scale=True),
    "MIRROR_PAD": of(ROWS, [[1, 2], [3, 4]], options={"mode": "REFLECT"}, one_scale=True),
    "DILATE": of(ROWS, [2, 1], 5),
    "SLICE": one((4 * ROWS[0], ROWS[1]), [0, 1], [-1, 4000]),
    "STRIDED_SLICE": of(ROWS, [0, 1], [4 * ROWS[0], 4000], [1, 2]),
    "REVERSE_V2": one(ROWS, [0, 1]),
    "REVERSE_SEQUENCE": of((8, 512, 256), [512, 500, 3, 0, 512, 7, 8, 9], options={"seq_dim": 1, "batch_dim": 0}),
    **dict.fromkeys(("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"), of((1, 128, 128, 64), options={"block_size": 2}, one_scale=True)),
    **dict.fromkeys(("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"), of((4, 128, 128, 16), [2, 2], [[0, 0], [0, 0]], one_scale=True)),
    "FILL": of([N], ()),
    "RANGE": lambda rng, inputs, outputs: (OneNode("RANGE", [np.array(v, dtype_of(inputs[0])) for v in (0, N, 1)]), {}),
    "ONE_HOT": lambda rng, inputs, outputs: (OneNode("ONE_HOT", [
        rng.integers(0, 8, N // 8).astype(dtype_of(inputs[0])), const(8), *(values(rng, k, ()) for k in inputs[2:])
    ], {"axis": -1}, kind=inputs[3]), {}),
    **{op: gather(op) for op in ("GATHER", "GATHER_ND")},
    "SCATTER_ND": scatter_nd,
    "SPARSE_TO_DENSE": to_dense,
    "DYNAMIC_UPDATE_SLICE": update,
    "SEGMENT_SUM": segments("SEGMENT_SUM"),
    **{op: segments(op) for op in (f"UNSORTED_SEGMENT_{which}" for which in ("SUM", "PROD", "MAX", "MIN"))},
    "EMBEDDING_LOOKUP": embedding,
    "EMBEDDING_LOOKUP_SPARSE": embedding_sparse,
    "HASHTABLE_LOOKUP": keys,
    "MATRIX_DIAG": of((64, 256)),
    "MATRIX_SET_DIAG": of((64, 256, 256), (64, 256)),
    **{op: noise(op) for op in ("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL")},
    "MULTINOMIAL": multinomial,
    "STABLEHLO_RNG_BIT_GENERATOR": lambda rng, inputs, outputs: (family("random").bits([1, 2], (N,), outputs[1], "PHILOX"), {}),
    "CONV_2D": layer("CONV_2D", IMAGE, (64, 3, 3, 64), window_options("SAME")),
    "DEPTHWISE_CONV_2D": layer("DEPTHWISE_CONV_2D", IMAGE, (1, 3, 3, 64), window_options("SAME", depth_multiplier=1)),
    "FULLY_CONNECTED": layer("FULLY_CONNECTED", (512, 512), (512, 512), {}),
    "BATCH_MATMUL": matmul,
    "TRANSPOSE_CONV": lambda rng, inputs, outputs: (
        family("transpose_conv").layer(outputs[0], (1, 64, 64, 64), (3, 3), 64, (2, 2)), {}),
    "Convolution2DTransposeBias": lambda rng, inputs, outputs: (
        family("transpose_conv").shapeless((1, 64, 64, 64), (2, 2), (2, 2), 1, 64, (1, 128, 128, 64)), {}),
    "CONV_3D": lambda rng, inputs, outputs: (family("conv_3d").conv((1, 16, 32, 32, 8), (3, 3, 3), 16), {}),
    "CONV_3D_TRANSPOSE": lambda rng, inputs, outputs: (
        family("conv_3d").transpose((1, 16, 32, 32, 8), (3, 3, 3), 16), {}),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), of(
        IMAGE, options={"padding": "SAME", "stride_h": 1, "stride_w": 1, "filter_height": 3, "filter_width": 3})),
    "MaxPoolingWithArgmax2D": lambda rng, inputs, outputs: (
        family("argmax_pooling").pool(values(rng, "f32", IMAGE), kind=outputs[1]), {}),
    "MaxUnpooling2D": lambda rng, inputs, outputs: (family("argmax_pooling").unpool(
        values(rng, "f32", IMAGE), rng.integers(0, 6, IMAGE), kind=inputs[1]), {}),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), of(
        (4, 32, 32, 64), [128, 128], options={"align_corners": False, "half_pixel_centers": False})),
    "REDUCE_WINDOW": windows,
    "STABLEHLO_REDUCE_WINDOW": windows_stablehlo,
    "STABLEHLO_PAD": moved_pad,
    "STABLEHLO_GATHER": moved_gather,
    "STABLEHLO_SCATTER": moved_scatter,
    **{op: lstm(op) for op in ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")},
    "BIDIRECTIONAL_SEQUENCE_LSTM": both,
    "RNN": lambda rng, inputs, outputs: (family("rnn").Rnn("RNN", inputs[1], 2048, 1, 256, 256), {}),
    **{op: rnn(op) for op in ("UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN")},
    "SVDF": svdf,
    **{op: boxes(op) for op in ("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")},
    "TFLite_Detection_PostProcess": detection,
    "RFFT2D": of((8, 256, 256), [256, 256]),
    "AudioSpectrogram": lambda rng, inputs, outputs: (family("audio").spectrogram(values(rng, "f32", (100000, 1))), {}),
    "Mfcc": lambda rng, inputs, outputs: (family("audio").mfcc(family("audio").spectra((1, 2000, 257))), {}),
    "LSH_PROJECTION": hashed,
    "SignalWindow": lambda rng, *_: (family("signal").window(values(rng, "s16", ROWS), values(rng, "s16", ROWS[1:])), {}),
    "SignalFftAutoScale": lambda rng, *_: (family("signal").auto_scale(values(rng, "s16", (N,))), {}),
    **{op: transform(op) for op in ("SignalRfft", "SignalIrfft")},
    "SignalEnergy": lambda rng, *_: (family("signal").energy(values(rng, "s16", (N,)), 0, N // 2), {}),
    "SignalFilterBankSquareRoot": lambda rng, *_: (family("filter_bank").root(values(rng, "u64", (N // 8,)), 2), {}),
    "SignalPCAN": lambda rng, *_: (
        family("filter_bank").pcan(*(values(rng, "u32", (N,)) for _ in "xy"), family("filter_bank").gains()), {}),
    "SignalFilterBankLog": lambda rng, *_: (family("filter_bank").log(values(rng, "u32", (N,))), {}),
    "SignalFramer": lambda rng, *_: (family("stream").framer((1, 160 * 4096), 320, 160), {}),
    "SignalOverlapAdd": lambda rng, inputs, outputs: (family("stream").overlap((1, 4096, 320), 160, inputs[0]), {}),
    "SignalDelay": lambda rng, *_: (family("stream").delay((16, 1 << 15), 100), {}),
    "TransformTensorBilinear": lambda rng, *_: (
        family("landmarks").crop(values(rng, "f32", (1, 64, 64, 8)), family("landmarks").placed(0.1, 0, 2, 0, 0.1, 1), 512, 512), {}),
    "TransformLandmarks": lambda rng, *_: (
        family("landmarks").points(values(rng, "f32", (1, N // 4, 3)), values(rng, "f32", (1, 4, 4))), {}),
    "aeq.hadamard_rotation": lambda rng, inputs, outputs: (
        family("hadamard").rotation(values(rng, "f32", (512, 512)), 64), {}),
    "odml.rms_norm": Case([ROWS, ROWS[1:]], tolerance=1e-3, custom=flex_of(epsilon=1e-6)),
    "odml.runtime_bmm": Case([(64, 64, 64), (64, 64, 64), (7,)], custom=flex_of(is_src=True)),
    "odml.update_kv_cache": lambda rng, inputs, outputs: (
        family("kv_cache").custom([values(rng, "f32", (1, 4096, 8, 32))] * 2, (3, 4, 5)), {}),
    "odml.scaled_dot_product_attention": lambda rng, *_: (
        family("attention").attention(*(values(rng, "f32", (2, 400, 8, 16)) for _ in range(3))), {}),
}  # fmt: skip


class Whole(NamedTuple):
    """A model of more nodes than one."""

    model: bytes
    arrays: list[Any]


def remembered() -> Whole:
    """ASSIGN_VARIABLE, READ_VARIABLE."""
    builder = ModelBuilder()
    g = builder.subgraph()
    x = g.input("x", (N,))
    handle = g.node("VAR_HANDLE", [], out=("handle", (1,), TensorType.RESOURCE), options={"shared_name": "v"})
    g.node("ASSIGN_VARIABLE", [handle, x])
    g.output(g.node("READ_VARIABLE", [handle], out=("y", (N,))))
    return Whole(builder.build(), [np.ones(N, np.float32)])


def table(of_strings: bool) -> Whole:
    """HASHTABLE_IMPORT, HASHTABLE_FIND."""
    numbers = np.arange(30000)
    names = np.array([*(str(n).encode() for n in numbers), None], object)[:-1]
    keys, found = (names, numbers) if of_strings else (numbers, names)
    return Whole(family("hashtable").tables(keys, found, keys.shape), [keys])


MODELS: dict[str, Callable[[], Whole]] = {
    "READ_VARIABLE": remembered,
    "HASHTABLE_FIND": functools.partial(table, True),
    "HASHTABLE_IMPORT": functools.partial(table, False),
}
"""Operators that need other nodes in their model."""


def large_node(op: str, rng: np.random.Generator, inputs: Any, outputs: Any) -> Any:
    """Returns a node with operands of these types that takes long."""
    if op in MODELS:
        return MODELS[op]()
    text = LARGE[op]
    made = text if isinstance(text, Case) else text(rng, inputs, outputs)
    return made.node(op, rng, inputs, outputs) if isinstance(made, Case) else made[0]
