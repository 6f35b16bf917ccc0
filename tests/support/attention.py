"""odml.scaled_dot_product_attention with the decomposition that converters give it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from support.composite import OneComposite
from support.node import values

from minilite.format.dtypes import TensorType

SDPA = "odml.scaled_dot_product_attention"


def decomposed(g: Any, tensors: list[int], shapes: Sequence[Sequence[int]], scale: float, cap: float) -> list[int]:
    """Adds softmax(cap(scale q k) + mask) v to a subgraph, as products of matrices."""
    (b, t, n, h), (_, s, kv, _), (_, _, _, width) = shapes[:3]

    def ints(*numbers: int) -> int:
        return int(g.constant("c", np.array(numbers, np.int32)))

    def node(op: str, inputs: list[int], shape: Sequence[int], **options: Any) -> int:
        return int(g.node(op, inputs, out=("t", tuple(shape)), options=options))

    def times(x: int, factor: float, shape: Sequence[int]) -> int:
        return node("MUL", [x, g.constant("f", np.array(factor, np.float32))], shape)

    order, plain = ints(0, 2, 1, 3), {"adj_x": False, "asymmetric_quantize_inputs": False}
    q, k, v = (
        node("TRANSPOSE", [x, order], (b, heads, count, depth))
        for x, heads, count, depth in zip(tensors, (n, kv, kv), (t, s, s), (h, h, width), strict=False)
    )
    rows = node("RESHAPE", [times(q, scale, (b, n, t, h)), ints(b, kv, n // kv * t, h)], (b, kv, n // kv * t, h))
    scores = node("BATCH_MATMUL", [rows, k], (b, kv, n // kv * t, s), adj_y=True, **plain)
    scores = node("RESHAPE", [scores, ints(b, n, t, s)], (b, n, t, s))
    if cap:
        scores = times(node("TANH", [times(scores, 1 / cap, (b, n, t, s))], (b, n, t, s)), cap, (b, n, t, s))
    if len(tensors) > 3:
        scores = node("ADD", [scores, tensors[3]], (b, n, t, s))
    shares = node("SOFTMAX", [scores], (b, n, t, s), beta=1.0)
    shares = node("RESHAPE", [shares, ints(b, kv, n // kv * t, s)], (b, kv, n // kv * t, s))
    y = node("BATCH_MATMUL", [shares, v], (b, kv, n // kv * t, width), adj_y=False, **plain)
    y = node("RESHAPE", [y, ints(b, n, t, width)], (b, n, t, width))
    return [node("TRANSPOSE", [y, order], (b, t, n, width))]


def attention(
    rng: np.random.Generator,
    tokens: int,
    keys: int,
    heads: int,
    kv_heads: int,
    depth: int,
    *,
    batches: int = 1,
    width: int | None = None,
    mask: Sequence[int] | None = None,
    attributes: Mapping[str, Any] | None = None,
    scale: float | None = None,
    cap: float = 0.0,
    version: int = 1,
) -> OneComposite:
    """A composite of these sizes; `mask` is the shape of one, `scale` and `cap` are what the decomposition has."""
    width = depth if width is None else width
    shapes = [(batches, tokens, heads, depth), (batches, keys, kv_heads, depth), (batches, keys, kv_heads, width)]
    arrays = [values(rng, "f32", shape, spread=1.0) for shape in shapes]
    if mask is not None:
        arrays.append(np.where(rng.random(mask) < 0.3, -1e4, rng.normal(size=mask)).astype(np.float32))
    scale = 1 / np.sqrt(depth) if scale is None else scale
    return OneComposite(
        SDPA,
        arrays,
        [((batches, tokens, heads, width), TensorType.FLOAT32)],
        lambda g, tensors: decomposed(g, tensors, shapes, scale, cap),
        attributes,
        version=version,
    )
