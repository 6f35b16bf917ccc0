"""Models of one odml.scaled_dot_product_attention, with a decomposition in builtin operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flatbuffers import flexbuffers
from support.composite import OneComposite
from support.node import values

from asv_bench.benchmarks import composites
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

NAME = "odml.scaled_dot_product_attention"


def composite(
    queries: Sequence[int],
    keys: Sequence[int],
    mask: Sequence[int] | None = None,
    attributes: Mapping[str, Any] | None = None,
    *,
    name: str = NAME,
    scale: float | None = None,
) -> bytes:
    """A node on q (batch, queries, heads, depth), k and v (batch, keys, groups, depth) and a mask. Its decomposition
    multiplies by `scale`, the attribute of that name if not said otherwise, and knows no other attribute."""
    options: dict[str, Any] = {"name": name, "decomposition_subgraph_index": 1}
    if attributes is not None:
        options["composite_attributes"] = bytes(flexbuffers.Dumps(dict(attributes)))
    shapes = {"q": tuple(queries), "k": tuple(keys), "v": tuple(keys)} | ({} if mask is None else {"mask": tuple(mask)})
    builder = ModelBuilder()
    main, body = builder.subgraph("main"), builder.subgraph("decomposition")
    operands = [main.input(name, shape) for name, shape in shapes.items()]
    main.output(main.node("STABLEHLO_COMPOSITE", operands, out=("y", tuple(queries)), options=options))
    inputs = dict(zip(shapes, [body.input(name, shape) for name, shape in shapes.items()], strict=True))
    if scale is None:
        scale = (attributes or {}).get("scale", 1 / np.sqrt(queries[3]))
    body.output(_decomposition(body, inputs, shapes, scale))
    return builder.build()


def _decomposition(g: Any, inputs: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], scale: float) -> int:
    """Heads of a group become rows of it: (batch, groups, heads of a group * queries, depth)."""
    batch, queries, heads, depth = shapes["q"]
    keys, groups = shapes["k"][1:3]
    shared = heads // groups
    order = g.constant("order", np.array([0, 2, 1, 3], np.int32))

    def by_heads(which: str) -> int:
        b, rows, n, d = shapes[which]
        found: int = g.node("TRANSPOSE", [inputs[which], order], out=(f"{which}_by_heads", (b, n, rows, d)))
        return found

    def reshaped(x: int, name: str, shape: tuple[int, ...]) -> int:
        wanted = g.constant(f"{name}_shape", np.array(shape, np.int32))
        found: int = g.node("RESHAPE", [x, wanted], out=(name, shape), options={"new_shape": shape})
        return found

    rows = (batch, groups, shared * queries)
    q = reshaped(by_heads("q"), "rows", (*rows, depth))
    scaled = g.node("MUL", [q, g.constant("scale", np.float32(scale))], out=("scaled", (*rows, depth)))
    k, v = by_heads("k"), by_heads("v")
    scores = g.node("BATCH_MATMUL", [scaled, k], out=("scores", (*rows, keys)), options={"adj_y": True})
    if "mask" in inputs:
        apart = reshaped(scores, "by_query", (batch, heads, queries, keys))
        masked = g.node("ADD", [apart, inputs["mask"]], out=("masked", (batch, heads, queries, keys)))
        scores = reshaped(masked, "as_rows", (*rows, keys))
    weights = g.node("SOFTMAX", [scores], out=("weights", (*rows, keys)), options={"beta": 1.0})
    mixed = g.node("BATCH_MATMUL", [weights, v], out=("mixed", (*rows, depth)))
    apart = reshaped(mixed, "mixed_by_heads", (batch, heads, queries, depth))
    found: int = g.node("TRANSPOSE", [apart, order], out=("y", (batch, queries, heads, depth)))
    return found


def one_attention(
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
) -> OneComposite:
    """A composite of these sizes; `mask` is the shape of one, `scale` and `cap` are what the decomposition has."""
    width = depth if width is None else width
    shapes = [(batches, tokens, heads, depth), (batches, keys, kv_heads, depth), (batches, keys, kv_heads, width)]
    arrays = [values(rng, "f32", shape, spread=1.0) for shape in shapes]
    if mask is not None:
        arrays.append(np.where(rng.random(mask) < 0.3, -1e4, rng.normal(size=mask)).astype(np.float32))
    scale = 1 / np.sqrt(depth) if scale is None else scale
    return OneComposite(
        NAME,
        arrays,
        [((batches, tokens, heads, width), TensorType.FLOAT32)],
        lambda g, tensors: [composites.attention(g, tensors, shapes, scale, cap)],
        attributes,
    )
