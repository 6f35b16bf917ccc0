"""odml.scaled_dot_product_attention: softmax(cap(scale q k) + mask) v, per head."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "odml.scaled_dot_product_attention",
    rounding={
        "": (
            "q is scaled and rounded; scores within 8 eps of the sum of |q k|, SOFTMAX's rule, and 8 eps of the sum of "
            "|p v|; the decomposition may round elsewhere"
        ),
    },
)
def scaled_dot_product_attention(node: OpNode, q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    """Heads of q (batches, tokens, heads, depth) that follow each other share a head of k and v (batches, keys, kv
    heads, depth)."""
    batches, tokens, heads, depth = q.shape
    cap = float(node.options.get("logit_cap", 0.0))
    scale = np.float32(node.options.get("scale", 1.0 / np.sqrt(np.float32(depth))))
    rows = (q * scale).astype(np.float64).reshape(batches, tokens, k.shape[2], -1, depth)
    scores = np.einsum("btgih,bsgh->bgits", rows, k.astype(np.float64)).reshape(batches, heads, tokens, -1)
    if cap:
        scores = cap * np.tanh(scores / cap)
    if mask is not None:
        scores = scores + mask
    if not scores.shape[-1]:
        return np.zeros((*q.shape[:3], v.shape[-1]), np.float32)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares = (shares / shares.sum(-1, keepdims=True)).reshape(batches, k.shape[2], -1, *scores.shape[2:])
    y = np.einsum("bgits,bsgh->btgih", shares, v.astype(np.float64))
    return np.asarray(y.reshape(*q.shape[:3], -1), np.float32)
