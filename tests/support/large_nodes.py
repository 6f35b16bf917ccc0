"""Makes nodes with much work from the types of their operands, as in support.cases; large.py says which operator
has which."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from support.cases import Case, Special
from support.lstm import Both, Lstm
from support.node import Given, OneNode, Out, const, dtype_of, scaled, values
from support.weighted import Layer

from minilite.format.quantization import Quantization

N = 1 << 20
ROWS = (256, N // 256)
VERSIONS = {"CONV_2D": 4, "DEPTHWISE_CONV_2D": 5, "FULLY_CONNECTED": 12}
IMAGE = (4, 64, 64, 64)


def family(name: str) -> Any:
    """The tests of a family, for what makes their nodes."""
    return importlib.import_module(f"test_{name}")


def of(*shapes: Any, options: Mapping[str, Any] | None = None, **more: Any) -> Case:
    return Case(list(shapes), options or {}, **more)


def sigmoid(op: str) -> Special:
    def case(rng: Any, inputs: Any, outputs: Any) -> Case:
        s16 = Quantization((1 / 32768,), (0,))
        tables = (
            {"s8": Quantization((1 / 256,), (-128,)), "u8": Quantization((1 / 256,), (0,))} if op == "LOGISTIC" else {}
        )
        return Case([(N,)], quantization={**tables, "s16": s16})

    return case


def positive(op: str) -> Special:
    """The lowest integer represents 0."""

    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        kind = inputs[0]
        if kind[0] == "f" or op == "LOG":
            return of((N,))
        x = values(rng, kind, (N,)) if kind == "s8" else np.abs(values(rng, kind, (N,)) // 2)
        q = Quantization((0.1,), (-128 if kind == "s8" else 0,))
        return OneNode(op, [Given(x, quantization=q)], quantization=scaled(rng, kind)), {}

    return case


def divided(op: str) -> Special:
    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        a, b = values(rng, inputs[0], (N,)), values(rng, inputs[0], (N,))
        return family("division").divided(op, rng, a, b, inputs[0]), {}

    return case


def power(rng: Any, inputs: Any, outputs: Any) -> Any:
    a = values(rng, inputs[0], (N,))
    return OneNode("POW", [a, rng.integers(0, 9, N).astype(a.dtype)]), {}


def quantize(rng: Any, inputs: Any, outputs: Any) -> Any:
    x = rng.integers(-100_000, 100_000, N, np.int32) if inputs[0] == "s32" else values(rng, inputs[0], (N,))
    q, out = (Quantization((1e-4,), (0,)) if k == "s32" else scaled(rng, k, 1e-3, 0.1) for k in (*inputs, *outputs))
    return OneNode("QUANTIZE", [Given(x, quantization=q)], kind=outputs[0], quantization=out), {}


def joined(op: str, options: Mapping[str, Any]) -> Special:
    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        q = scaled(rng, inputs[0])
        parts = [Given(values(rng, inputs[0], ROWS), quantization=q, kind=inputs[0]) for _ in range(2)]
        return OneNode(op, parts, {"axis": 1, **options}, quantization=q), {}

    return case


def softmax(rng: Any, inputs: Any, outputs: Any) -> Case:
    q = family("softmax").OUTPUTS
    return Case([ROWS], {"beta": 1.0}, {outputs[0]: q[(*inputs, *outputs)]} if (*inputs, *outputs) in q else {})


def layer(op: str, x: Any, w: Any, options: Any) -> Special:
    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        bias = {"quantized_bias_type": "INT32" if inputs[2] == "s32" else "INT64"} if op != "DEPTHWISE_CONV_2D" else {}
        per_channel = inputs[1] in ("s8", "s4")
        return Layer(op, " ".join(inputs), x, w, {**options, **bias}, per_channel=per_channel, version=VERSIONS[op]), {}

    return case


def matmul(rng: Any, inputs: Any, outputs: Any) -> Any:
    shapes = [(8, 128, 128), (8, 128, 128)]
    return family("batch_matmul").matmul(rng, " ".join((*inputs, *outputs)), shapes, constant=True)[0], {}


def lstm(op: str) -> Special:
    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        if len(inputs) == 5:
            return family("lstm").basic(rng, inputs[0], 64, 512, 512), {}
        types = " ".join(inputs[i] for i in (0, 1, 9, 12, 20, 19))
        if inputs[5] != inputs[1]:
            diagonals = {i: const(values(rng, "f32", (256,), 0.5), np.float32) for i in (5, 6, 7, 8)}
            more = {"inputs": diagonals, "diagonal_recurrent_tensors": True, "version": 4}
            return Lstm(op, types, (), 8, 300, 256, 256, 256, **more), {}
        return Lstm(op, types, (), 8, 1 if op == "LSTM" else 300, 256, 256, 256), {}

    return case


def both(rng: Any, inputs: Any, outputs: Any) -> Any:
    return Both(" ".join(inputs[i] for i in (0, 1, 9, 12, 12, 36)), (), 64, 600), {}


def rnn(op: str) -> Special:
    return lambda rng, inputs, outputs: (family("rnn").Rnn(op, inputs[1], 8, 300, 256, 256), {})


def svdf(rng: Any, inputs: Any, outputs: Any) -> Any:
    return family("svdf").Svdf(" ".join(inputs), 16, 256, 256, 10, fused_activation_function="RELU"), {}


def unique(rng: Any, inputs: Any, outputs: Any) -> Any:
    return OneNode("UNIQUE", [values(rng, inputs[0], (N,))], outs=[Out(inputs[0]), Out(outputs[1])]), {}


def segments(op: str) -> Special:
    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        ids = np.sort(rng.integers(0, 99, ROWS[0], np.int32))
        ids[-1] = 99
        given = [values(rng, inputs[0], ROWS), ids, *([] if op == "SEGMENT_SUM" else [const(100)])]
        return OneNode(op, given), {}

    return case


def topk(rng: Any, inputs: Any, outputs: Any) -> Any:
    given = [values(rng, inputs[0], (64, N // 64)), const(5, dtype_of(inputs[1]))]
    return OneNode("TOPK_V2", given, outs=[Out(k) for k in outputs]), {}


def hashed(rng: Any, inputs: Any, outputs: Any) -> Any:
    given = [values(rng, "f32", (64, 8)), values(rng, inputs[1], (512, 8))]
    given += [values(rng, "f32", (512,))] if len(inputs) > 2 else []
    return OneNode("LSH_PROJECTION", given, {"type": "DENSE"}, kind="s32"), {}


def scatter_nd(rng: Any, inputs: Any, outputs: Any) -> Any:
    indices = rng.integers(0, 99, (ROWS[0], 1), np.int32)
    return OneNode("SCATTER_ND", [indices, values(rng, inputs[1], ROWS), const([99, ROWS[1]])], kind=inputs[1]), {}


def to_dense(rng: Any, inputs: Any, outputs: Any) -> Any:
    index = rng.permutation(N).astype(dtype_of(inputs[0]))
    given = [index, const([N], dtype_of(inputs[1])), values(rng, inputs[2], (N,)), values(rng, inputs[3], ())]
    return OneNode("SPARSE_TO_DENSE", given, kind=inputs[2], version=3), {}


def gather(op: str) -> Special:
    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        index = rng.integers(0, ROWS[0], (512, 1) if op == "GATHER_ND" else (512,)).astype(dtype_of(inputs[1]))
        shape = ROWS if inputs[0] != "string" else (ROWS[0], 64)
        x = Given(values(rng, inputs[0], shape), quantization=scaled(rng, inputs[0]), kind=inputs[0])
        return OneNode(op, [x, index], quantization=x.quantization, kind=inputs[0]), {}

    return case


def embedding(rng: Any, inputs: Any, outputs: Any) -> Any:
    scales = (0.37,) if inputs[1] != outputs[0] else ()
    table = values(rng, inputs[1], (64, 4096))
    return family("embedding").lookup(rng.integers(0, 64, 512), table, inputs[1], outputs[0], scales), {}


def embedding_sparse(rng: Any, inputs: Any, outputs: Any) -> Any:
    n = N // 8
    places = np.stack([np.sort(rng.integers(0, 512, n)), np.arange(n) % 512], axis=1).astype(np.int32)
    given = [rng.integers(0, 64, n, np.int32), places, const([512, 512]), values(rng, "f32", (n,))]
    return OneNode(
        "EMBEDDING_LOOKUP_SPARSE", [*given, values(rng, "f32", (64, 8))], {"combiner": "MEAN"}, kind="f32"
    ), {}


def keys(rng: Any, inputs: Any, outputs: Any) -> Any:
    shape = (99,) if inputs[2] == "string" else (99, 4096)
    given = [rng.integers(0, 99, 512, np.int32), np.arange(99, dtype=np.int32), values(rng, inputs[2], shape)]
    return OneNode("HASHTABLE_LOOKUP", given, outs=[Out(kind) for kind in outputs]), {}


def boxes(op: str) -> Special:
    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        corners = rng.uniform(0, 1000, (20000, 2)).astype(np.float32)
        given = [np.concatenate([corners, corners + 1], axis=1), rng.uniform(0, 1, 20000).astype(np.float32)]
        given += [const(2000), *(const(v, np.float32) for v in (0.5, 0.0, 0.5)[: len(inputs) - 3])]
        return OneNode(op, given, outs=[Out(kind) for kind in outputs]), {}

    return case


def noise(op: str) -> Special:
    return lambda rng, inputs, outputs: (OneNode(op, [const([N])], {"seed": 1, "seed2": 2}, kind="f32"), {})


def multinomial(rng: Any, inputs: Any, outputs: Any) -> Any:
    given = [values(rng, "f32", (256, 256)), const(1000)]
    return OneNode("MULTINOMIAL", given, {"seed": 1, "seed2": 2}, kind=outputs[0]), {}


def reduced(op: str) -> Special:
    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        x, q = values(rng, inputs[0], (8, N // 256, 32)), scaled(rng, inputs[0])
        version = 1 if op in ("REDUCE_ANY", "REDUCE_ALL") else 2
        return OneNode(
            op, [Given(x, quantization=q), const([0, 2])], {"keep_dims": False}, quantization=q, version=version
        ), {}

    return case


def windows(rng: Any, inputs: Any, outputs: Any) -> Any:
    x = values(rng, inputs[0], (512, 512))
    return family("reduce_window").window(x, 1, [2, 3], [1, 2], [2, 1], "ALL" if inputs[0] == "b8" else "ADD"), {}


def windows_stablehlo(rng: Any, inputs: Any, outputs: Any) -> Any:
    body = "LOGICAL_AND" if inputs[0] == "b8" else "STABLEHLO_ADD"
    return family("reduce_window").Stablehlo(values(rng, inputs[0], (512, 512)), 1, body, padding=[1, 0, 0, 2]), {}


def moved_pad(rng: Any, inputs: Any, outputs: Any) -> Any:
    return family("stablehlo_move").pad(values(rng, inputs[0], ROWS), [1, -1], [0, 2], [1, 0], inputs[0]), {}


def moved_gather(rng: Any, inputs: Any, outputs: Any) -> Any:
    index = rng.integers(0, 60, (64, 2)).astype(dtype_of(inputs[1]))
    x, sizes = values(rng, inputs[0], (64, 64, 512)), {"slice_sizes": [1, 32, 512]}
    return family("stablehlo_move").gather(x, index, 3, inputs[0], **sizes), {}


def moved_scatter(rng: Any, inputs: Any, outputs: Any) -> Any:
    index = rng.integers(0, 256, (256, 1)).astype(dtype_of(inputs[1]))
    x, updates = (values(rng, inputs[0], (256, 1024)) for _ in range(2))
    return family("stablehlo_move").Scatter(x, index, updates, "STABLEHLO_MAXIMUM"), {}


def update(rng: Any, inputs: Any, outputs: Any) -> Any:
    x, part = (Given(values(rng, inputs[0], shape), kind=inputs[0]) for shape in (ROWS, (200, 3000)))
    return OneNode("DYNAMIC_UPDATE_SLICE", [x, part, const([3, 5], dtype_of(inputs[2]))], kind=inputs[0]), {}


def transform(op: str) -> Special:
    def case(rng: Any, inputs: Any, outputs: Any) -> Any:
        x = values(rng, inputs[0], (512, 514 if op == "SignalIrfft" else 512), 1.0)
        return family("signal").fft(x, 512, op), {}

    return case


def detection(rng: Any, inputs: Any, outputs: Any) -> Any:
    return family("detection_postprocess").detection(rng, inputs[:2], 20000, max_detections=500), {}


def one(*given: Any, **more: Any) -> Special:
    """A shape, of strings a smaller one, and values of constants."""

    def case(rng: Any, inputs: Any, outputs: Any) -> Case:
        few = inputs[0] == "string"
        return Case([(given[0][0] // 64, *given[0][1:]) if few else given[0], *(list(v) for v in given[1:])], **more)

    return case
