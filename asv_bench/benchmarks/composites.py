"""Composites of language models with the decompositions that converters give them, for ModelBuilder's subgraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

PLAIN = {"adj_x": False, "asymmetric_quantize_inputs": False}


def ints(g: Any, *numbers: int) -> int:
    """A constant of int32."""
    return int(g.constant("c", np.array(numbers, np.int32)))


def node(g: Any, op: str, inputs: Sequence[int], shape: Sequence[int], **options: Any) -> int:
    """A node of one float output."""
    return int(g.node(op, list(inputs), out=("t", tuple(shape)), options=options))


def times(g: Any, x: int, factor: float, shape: Sequence[int]) -> int:
    """x times a number."""
    return node(g, "MUL", [x, g.constant("f", np.array(factor, np.float32))], shape)


def attention(g: Any, tensors: Sequence[int], shapes: Sequence[Sequence[int]], scale: float, cap: float = 0.0) -> int:
    """softmax(cap(scale q k) + mask) v: q (batches, tokens, heads, depth), k and v (batches, keys, kv heads, depth)."""
    (b, t, n, h), (_, s, kv, _), (_, _, _, width) = shapes[:3]
    order = ints(g, 0, 2, 1, 3)
    q, k, v = (
        node(g, "TRANSPOSE", [x, order], (b, heads, count, depth))
        for x, heads, count, depth in zip(tensors, (n, kv, kv), (t, s, s), (h, h, width), strict=False)
    )
    rows = (b, kv, n // kv * t)
    scaled = node(g, "RESHAPE", [times(g, q, scale, (b, n, t, h)), ints(g, *rows, h)], (*rows, h))
    scores = node(g, "BATCH_MATMUL", [scaled, k], (*rows, s), adj_y=True, **PLAIN)
    scores = node(g, "RESHAPE", [scores, ints(g, b, n, t, s)], (b, n, t, s))
    if cap:
        capped = node(g, "TANH", [times(g, scores, 1 / cap, (b, n, t, s))], (b, n, t, s))
        scores = times(g, capped, cap, (b, n, t, s))
    if len(tensors) > 3:
        scores = node(g, "ADD", [scores, tensors[3]], (b, n, t, s))
    shares = node(g, "SOFTMAX", [scores], (b, n, t, s), beta=1.0)
    shares = node(g, "RESHAPE", [shares, ints(g, *rows, s)], (*rows, s))
    y = node(g, "BATCH_MATMUL", [shares, v], (*rows, width), adj_y=False, **PLAIN)
    y = node(g, "RESHAPE", [y, ints(g, b, n, t, width)], (b, n, t, width))
    return node(g, "TRANSPOSE", [y, order], (b, t, n, width))


def rms_norm(g: Any, x: int, gamma: int, shape: Sequence[int], epsilon: float) -> int:
    """x / sqrt(mean of x^2 + epsilon), times gamma."""
    column = (*shape[:-1], 1)
    mean = node(g, "MEAN", [node(g, "MUL", [x, x], shape), ints(g, len(shape) - 1)], column, keep_dims=True)
    mean = node(g, "ADD", [mean, g.constant("epsilon", np.array(epsilon, np.float32))], column)
    return node(g, "MUL", [node(g, "MUL", [x, node(g, "RSQRT", [mean], column)], shape), gamma], shape)


def update(g: Any, tensors: Sequence[int], shape: Sequence[int]) -> list[int]:
    """Caches of that shape with the tokens in their places, which begin at the first of the positions."""
    int32 = 2  # TensorType.INT32
    at = g.node("SLICE", [tensors[2], ints(g, 0), ints(g, 1)], out=("first", (1,), int32))
    parts = [ints(g, 0), at, ints(g, *[0] * (len(shape) - 2))]
    begin = g.node("CONCATENATION", parts, out=("begin", (len(shape),), int32), options={"axis": 0})
    return [
        int(g.node("DYNAMIC_UPDATE_SLICE", [tensors[i], tensors[3 + i], begin], out=("y", tuple(shape)), version=2))
        for i in (0, 1)
    ]


def composite(name: str, subgraph: int, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a STABLEHLO_COMPOSITE."""
    from flatbuffers import flexbuffers

    options = {"name": name, "decomposition_subgraph_index": subgraph, "version": 1}
    return {**options, "composite_attributes": bytes(flexbuffers.Dumps(dict(attributes)))} if attributes else options
