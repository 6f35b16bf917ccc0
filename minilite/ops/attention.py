"""odml.scaled_dot_product_attention: softmax(scale q k^T + mask) v, by heads that share groups of keys and values."""

from __future__ import annotations

import numpy as np

from minilite.format.flexbuffer import scalars
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "odml.scaled_dot_product_attention",
    rounding={"": "in float64; kernels sum in float32, in the order of a level's lanes"},
    options=scalars,
)
def attention(node: OpNode, q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    """q (batch, queries, heads, depth); k, v (batch, keys, groups, depth); mask (batch, heads, queries, keys) or 1."""
    options = node.options or {}
    scale = float(options.get("scale", 1 / np.sqrt(q.shape[3])))
    shared = q.shape[2] // k.shape[2]
    keys, values = (np.repeat(x.astype(np.float64), shared, axis=2) for x in (k, v))
    scores = np.einsum("bqhd,bkhd->bhqk", q.astype(np.float64) * scale, keys)
    if "logit_cap" in options:
        scores = options["logit_cap"] * np.tanh(scores / options["logit_cap"])
    if mask is not None:
        scores = scores + mask
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(axis=3, keepdims=True))
    weights /= weights.sum(axis=3, keepdims=True)
    return np.asarray(np.einsum("bhqk,bkhd->bqhd", weights, values), np.float32)
